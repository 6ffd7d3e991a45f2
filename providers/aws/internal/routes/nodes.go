package routes

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
)

// nodeOn returns the name of the Node on an instance. If there are several,
// which is unexpected, it returns the one with the route's destination, or the
// first by name.
func nodeOn(nodes *nodeindex.Index, instanceID string, cidr netip.Prefix) string {
	if instanceID == "" {
		return ""
	}
	on := nodes.Find(instanceID)
	if len(on) == 0 {
		return ""
	}
	slices.SortFunc(on, func(a, b *v1.Node) int {
		if mine, other := hasPods(a, cidr), hasPods(b, cidr); mine != other {
			return map[bool]int{true: -1, false: 1}[mine]
		}

		return cmp.Compare(a.Name, b.Name)
	})

	return on[0].Name
}

// hasPods reports whether the pods of a Node have addresses of this range.
func hasPods(node *v1.Node, cidr netip.Prefix) bool {
	return slices.ContainsFunc(node.Spec.PodCIDRs, func(text string) bool {
		mine, err := netip.ParsePrefix(text)

		return err == nil && mine.Masked() == cidr
	})
}

// namesWithoutID returns, by instance ID, the names of Nodes that have pods and
// no provider ID yet. Only EC2 can return their instance; it is queried if one
// of the target instances of routes may be theirs.
func (r *Routes) namesWithoutID(ctx context.Context, nodes *nodeindex.Index, ids []string) (map[string]string, error) {
	waiting := withoutID(nodes)
	unknown := lists.Filter(ids, func(id string) bool { return id != "" && len(nodes.Find(id)) == 0 })
	if len(waiting) == 0 || len(unknown) == 0 {
		return nil, nil
	}
	found, err := r.config.Inventory.Get(ctx, unknown)
	if err != nil {
		return nil, err
	}
	names := make(map[string]string, len(found))
	for id, i := range found {
		name := i.PrivateDNSName
		if id == r.config.SelfID {
			name = r.config.SelfName
		}
		if waiting.Has(name) {
			names[id] = name
		}
	}

	return names, nil
}

// withoutID returns the names of Nodes that have pods and no provider ID yet.
func withoutID(nodes *nodeindex.Index) sets.Set[string] {
	names := sets.New[string]()
	for _, node := range nodes.List() {
		if node.Spec.ProviderID == "" && len(node.Spec.PodCIDRs) > 0 {
			names.Insert(node.Name)
		}
	}

	return names
}
