package targets

import (
	"cmp"
	"slices"

	"github.com/cespare/xxhash/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// node is a candidate.
type node struct {
	*v1.Node

	index  int
	zone   string
	serves bool
	// down and rank are set by sorted.
	down bool
	rank uint64
}

func (n node) isTarget() bool { return n.serves }

// isReady reports whether a Node is ready, or has not been for a short time only.
func (s *Subset) isReady(n node) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status == v1.ConditionTrue || s.now.Sub(c.LastTransitionTime.Time) <= notReadyAge
		}
	}

	return true
}

// sorted sorts Nodes in the order in which they are chosen, and returns them.
func (s *Subset) sorted(nodes []node) []node {
	prefix := string(s.service.UID) + "/"
	for i, n := range nodes {
		nodes[i].down = !s.isReady(n)
		nodes[i].rank = xxhash.Sum64String(prefix + cmp.Or(n.Spec.ProviderID, n.Name))
	}
	slices.SortFunc(nodes, func(a, b node) int {
		return cmp.Or(lists.TrueFirst(b.down, a.down), lists.TrueFirst(a.serves, b.serves), cmp.Compare(a.rank, b.rank), cmp.Compare(a.Name, b.Name))
	})

	return nodes
}
