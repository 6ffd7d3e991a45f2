package targets

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Annotations for every provider.
const (
	// AnnotationMaxTargets is how many Nodes are behind the load balancer of a Service with
	// externalTrafficPolicy Cluster. They are spread over the zones, at least three in each; up to twice
	// as many stay if they are there already.
	//
	// Type: number or all
	// Default: max-targets of the cloud-config, or else all in a cluster of up to 250 Nodes and 100 in a larger one
	// Applies to: all load balancers
	AnnotationMaxTargets annotation.Name = "multicloud-ccm.io/max-targets"
)

const all = "all"

const (
	// largeCluster is how many Nodes a cluster has at most whose load balancers have all of them by
	// default. A load balancer with a part of them keeps one until there are less than
	// smallCluster.
	largeCluster = 250
	smallCluster = 200
	// defaultMax is how many Nodes are behind a load balancer of a larger cluster by default.
	defaultMax = 100
	// fewest is how many Nodes of each zone are chosen, if it has as many: a zone of a load balancer
	// without any would not serve.
	fewest = 3
	// newAge is how long a Node is new.
	newAge = 15 * time.Minute
	// notReadyAge is for how long a Node is not ready that does not count as serving.
	notReadyAge = time.Minute
	// settledAge is how long a load balancer keeps what it has more than it needs: after a take-over,
	// the former controller manager can continue with it.
	settledAge = time.Hour
)

// Subset chooses Nodes for one operation on the load balancer of a Service. Nil chooses all.
type Subset struct {
	local bool
	// most is how many Nodes are chosen, 0 for all of them. It is nil if that depends on their number.
	most  *int
	nodes map[string]node
	// settled means that what is too much may go.
	settled bool
}

// node is what a choice depends on.
type node struct {
	name, zone string
	rank       uint64
	// isNew means that it has joined lately: it may not be a target yet.
	isNew bool
	// down means that it is not ready for some time.
	down bool
}

// New returns what chooses the Nodes for a Service, by its annotation if that is valid. Configured is [LoadBalancer] max-targets, nil if
// it is not set. Since is when this process has first synced its load balancer.
func New(svc *v1.Service, nodes []*v1.Node, configured *int32, since, now time.Time) (*Subset, error) {
	s := &Subset{
		local:   svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal,
		nodes:   make(map[string]node, len(nodes)),
		settled: now.Sub(since) >= settledAge,
	}
	if configured != nil {
		s.most = new(int(*configured))
	}
	for _, n := range nodes {
		key := cmp.Or(n.Spec.ProviderID, n.Name)
		s.nodes[n.Name] = node{
			name: n.Name, zone: n.Labels[v1.LabelTopologyZone], rank: xxhash.Sum64String(string(svc.UID) + "/" + key),
			isNew: now.Sub(n.CreationTimestamp.Time) < newAge, down: isDown(n, now),
		}
	}
	reader := annotation.NewReader(svc)
	if value := reader.String(AnnotationMaxTargets); value != nil {
		most, err := strconv.ParseUint(*value, 10, 31)
		if *value == all || err == nil && most > 0 {
			s.most = new(int(most)) //nolint:gosec // 31 bits
		} else {
			reader.Reject(AnnotationMaxTargets, `a number above zero, or "all"`)
		}
	}

	return s, reader.Err()
}

// isDown reports whether a Node is not ready for some time.
func isDown(n *v1.Node, now time.Time) bool {
	for _, c := range n.Status.Conditions {
		if c.Type == v1.NodeReady {
			return c.Status != v1.ConditionTrue && now.Sub(c.LastTransitionTime.Time) > notReadyAge
		}
	}

	return false
}

// Limit is what a cloud permits a load balancer to have.
type Limit struct {
	// Total and PerZone are numbers of Nodes, 0 without a limit. They do not apply where all Nodes
	// are requested: then the cloud itself refuses what is too much, which can be raised.
	Total, PerZone int
	// Zones are those that the load balancer has, nil if all Nodes can serve. In others none are chosen, unless
	// all of them are.
	Zones []string
}

// Choose returns the names of the chosen ones among Nodes that can be targets. Serves reports whether a
// Node is a target now.
//
//	a Node of a zone                                 is chosen
//	any, if the zone needs all                       yes
//	serves                                           yes
//	serves, and the zone has more than twice what    a quarter of those that are too many goes, the
//	it needs for an hour                             last ones first
//	serves not, and less than three quarters of      as many as are missing, the first ones that are
//	what the zone needs serve                        ready before others
//	serves not and is ready, and more than half of   as many as are missing of what the zone needs
//	those that serve are not ready
//	serves not                                       no
func (s *Subset) Choose(names []string, serves func(name string) bool, limit Limit) sets.Set[string] {
	if s == nil || s.local || s.most != nil && *s.most == 0 {
		return sets.New(names...)
	}
	nodes := lists.Map(names, func(name string) node { return s.nodes[name] })
	size, zones := s.size(nodes, serves, limit), map[string][]node{}
	inZones := lists.Filter(nodes, func(n node) bool { return slices.Contains(limit.Zones, n.zone) })
	if size < len(nodes) && len(inZones) > 0 {
		nodes = inZones
	}
	for _, n := range nodes {
		zones[n.zone] = append(zones[n.zone], n)
	}
	chosen := sets.New[string]()
	for _, zone := range zones {
		share := max((size*len(zone)+len(nodes)-1)/len(nodes), fewest)
		if limit.PerZone > 0 {
			share = min(share, limit.PerZone)
		}
		if limit.Total > 0 {
			share = min(share, max(limit.Total*len(zone)/len(nodes), 1))
		}
		for _, n := range choose(zone, share, serves, s.settled) {
			chosen.Insert(n.name)
		}
	}

	return chosen
}

// size returns how many Nodes are wanted.
func (s *Subset) size(nodes []node, serves func(string) bool, limit Limit) int {
	size := len(nodes)
	switch {
	case s.most != nil:
		size = *s.most
	case size > largeCluster:
		size = defaultMax
	case size >= smallCluster:
		// One that has all of them lacks those that have just joined, and few others.
		serving, others := lists.Split(nodes, func(n node) bool { return serves(n.name) })
		others = lists.Filter(others, func(n node) bool { return !n.isNew })
		if len(serving) > 0 && 10*len(others) > size {
			size = defaultMax
		}
	}
	if limit.Total > 0 {
		size = min(size, limit.Total)
	}

	return size
}

// choose returns the chosen Nodes of a zone, which needs a number of them.
func choose(zone []node, share int, serves func(string) bool, settled bool) []node {
	if share >= len(zone) {
		return zone
	}
	slices.SortFunc(zone, func(a, b node) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name)) })
	serving, others := lists.Split(zone, func(n node) bool { return serves(n.name) })
	isDown := func(n node) bool { return n.down }
	down, ready := lists.Split(serving, isDown)
	downOthers, readyOthers := lists.Split(others, isDown)
	missing := share - len(serving)
	switch excess := len(serving) - 2*share; {
	case len(down) > len(ready) && len(readyOthers) > 0:
		missing, others = share-len(ready), readyOthers
	case excess > 0 && settled:
		return serving[:len(serving)-(excess+3)/4]
	case 4*len(serving) >= 3*share && len(serving) >= fewest:
		return serving
	default:
		others = slices.Concat(readyOthers, downOthers)
	}

	return append(serving, others[:max(min(missing, len(others)), 0)]...)
}
