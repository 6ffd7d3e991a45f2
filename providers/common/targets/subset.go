package targets

import (
	"maps"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

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
	service *v1.Service
	nodes   []*v1.Node
	now     time.Time
	// most is how many Nodes are wanted, 0 for all of them. It is nil if that depends on their number.
	most *int
	// settled means that what is too much may go.
	settled bool
	count   Count
	// reached means that a limit is reached.
	reached bool
}

// Count is how many Nodes a load balancer has.
type Count struct {
	// Wanted is without a limit, and Quota the limit, 0 without one.
	Wanted, Chosen, Quota int
}

// New returns what chooses the Nodes for a Service, by its annotation if that is valid. Configured is [LoadBalancer] max-targets, nil if
// it is not set. Since is when this process has first synced its load balancer.
func New(svc *v1.Service, nodes []*v1.Node, configured *int32, since, now time.Time) (*Subset, error) {
	s := &Subset{service: svc, nodes: nodes, now: now, settled: now.Sub(since) >= settledAge}
	if configured != nil {
		s.most = new(int(*configured))
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
	if svc.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
		s.most = new(0)
	}

	return s, reader.Err()
}

// Limit is what a cloud permits a load balancer to have.
type Limit struct {
	// Total and PerZone are numbers of Nodes, 0 without a limit. Where all Nodes are wanted, they apply only once
	// they are reached: they can have been raised.
	Total, PerZone int
	// Reached means that the cloud has refused more. Registered is how many Nodes the load balancer has then, on
	// average of its ports, which can be more.
	Reached    bool
	Registered int
	// Zones are those that the load balancer has, nil if all Nodes can serve. In others none are chosen, unless
	// all of them are.
	Zones []string
}

// quota returns how many Nodes the limit permits, 0 for any number.
func (l Limit) quota() int {
	inZones := l.PerZone * len(l.Zones)
	if l.Total == 0 || inZones == 0 {
		return max(l.Total+inZones, l.Registered)
	}

	return max(min(l.Total, inZones), l.Registered)
}

// fit returns how many of the Nodes of a zone the limit permits, where there are others in other zones: what it has, and its
// part of what is free.
func (l Limit) fit(zone, all []node) int {
	registered := l.Registered * serving(zone) / max(serving(all), 1)
	fit := len(zone)
	if l.PerZone > 0 {
		fit = min(fit, max(l.PerZone, registered))
	}
	if l.Total > 0 {
		fit = min(fit, max(registered+max(l.Total-l.Registered, 0)*len(zone)/len(all), 1))
	}

	return fit
}

func serving(nodes []node) int { return len(lists.Filter(nodes, node.isTarget)) }

// Choose returns the chosen ones of candidates, which are Nodes that can be targets, and the others. Serves reports
// whether one is a target now.
//
//	a Node of a zone                                 is chosen
//	any, if the zone needs all                       yes
//	any, if the limit is reached                     as below, but no more than fit, ready ones first, of these
//	                                                 those that serve
//	serves                                           yes
//	serves, and the zone has more than twice what    a quarter of those that are too many goes, those that
//	it needs for an hour                             are not ready and the last ones first
//	serves not, and less than three quarters of      as many as are missing, the first ones that are
//	what the zone needs serve                        ready before others
//	serves not and is ready, and more than half of   as many as are missing of what the zone needs
//	those that serve are not ready
//	serves not                                       no
func Choose[T any](s *Subset, candidates []T, name func(T) string, serves func(T) bool, limit Limit) (chosen, others []T) {
	if s == nil {
		return candidates, nil
	}
	s.reached = limit.Reached
	if s.wantsAll(len(candidates)) && !limit.Reached {
		s.note(Count{len(candidates), len(candidates), limit.quota()})

		return candidates, nil
	}
	byName := make(map[string]*v1.Node, len(s.nodes))
	for _, n := range s.nodes {
		byName[n.Name] = n
	}
	nodes := make([]node, len(candidates))
	for i, c := range candidates {
		n := byName[name(c)]
		if n == nil {
			n = &v1.Node{}
		}
		nodes[i] = node{Node: n, index: i, zone: n.Labels[v1.LabelTopologyZone], serves: serves(c)}
	}
	isChosen := make([]bool, len(candidates))
	size := s.size(nodes)
	for _, n := range s.choose(nodes, size, limit) {
		isChosen[n.index] = true
	}
	for i, c := range candidates {
		if isChosen[i] {
			chosen = append(chosen, c)
		} else {
			others = append(others, c)
		}
	}
	s.note(Count{size, len(chosen), limit.quota()})

	return chosen, others
}

// Excess returns how many Nodes are wanted and were not chosen because a limit is reached.
func (s *Subset) Excess() int {
	if s == nil || !s.reached {
		return 0
	}

	return max(s.count.Wanted-s.count.Chosen, 0)
}

// Count returns how many Nodes were chosen, of the IP family with most, and the zero value before.
func (s *Subset) Count() Count {
	if s == nil {
		return Count{}
	}

	return s.count
}

func (s *Subset) note(c Count) {
	if c.Wanted >= s.count.Wanted {
		s.count = c
	}
}

// wantsAll reports whether all of a number of Nodes are wanted, whichever they are.
func (s *Subset) wantsAll(count int) bool {
	if s.most == nil {
		return count < smallCluster
	}

	return *s.most == 0 || *s.most >= count
}

// size returns how many Nodes are wanted.
func (s *Subset) size(nodes []node) int {
	switch {
	case s.wantsAll(len(nodes)):
		return len(nodes)
	case s.most != nil:
		return *s.most
	case len(nodes) > largeCluster:
		return defaultMax
	}
	// One that has all of them lacks those that have just joined, and few others.
	serving, others := lists.Split(nodes, node.isTarget)
	others = lists.Filter(others, func(n node) bool { return s.now.Sub(n.CreationTimestamp.Time) >= newAge })
	if len(serving) > 0 && 10*len(others) > len(nodes) {
		return defaultMax
	}

	return len(nodes)
}

// choose returns the chosen Nodes, of which a number is wanted.
func (s *Subset) choose(nodes []node, size int, limit Limit) (chosen []node) {
	if size == len(nodes) && !limit.Reached {
		return nodes
	}
	zones := map[string][]node{}
	for _, n := range nodes {
		zones[n.zone] = append(zones[n.zone], n)
	}
	if slices.ContainsFunc(limit.Zones, func(zone string) bool { return zones[zone] != nil }) {
		for name, zone := range zones {
			if slices.Contains(limit.Zones, name) {
				continue
			}
			if !s.settled && !limit.Reached {
				chosen = append(chosen, lists.Filter(zone, node.isTarget)...)
			}
			delete(zones, name)
		}
	}
	inZones := slices.Concat(slices.Collect(maps.Values(zones))...)
	for _, zone := range zones {
		share, fit := max((size*len(zone)+len(inZones)-1)/len(inZones), fewest), limit.fit(zone, inZones)
		if !limit.Reached {
			share = min(share, fit)
		}
		inZone := s.chooseIn(zone, share)
		if len(inZone) > fit && limit.Reached {
			inZone = s.sorted(inZone)[:fit]
		}
		chosen = append(chosen, inZone...)
	}

	return chosen
}

// chooseIn returns the chosen Nodes of a zone, which needs a number of them.
func (s *Subset) chooseIn(zone []node, share int) []node {
	if share >= len(zone) {
		return zone
	}
	serving := lists.Filter(zone, node.isTarget)
	ready, missing := len(lists.Filter(serving, s.isReady)), share-len(serving)
	isFree := func(n node) bool { return !n.serves }
	isReadyAndFree := func(n node) bool { return !n.serves && s.isReady(n) }
	switch excess := len(serving) - 2*share; {
	case 2*ready < len(serving) && slices.ContainsFunc(zone, isReadyAndFree):
		missing, isFree = share-ready, isReadyAndFree
	case excess > 0 && s.settled:
		return s.sorted(serving)[:len(serving)-(excess+3)/4]
	case 4*len(serving) >= 3*share && len(serving) >= fewest:
		return serving
	}
	free := s.sorted(lists.Filter(zone, isFree))

	return append(serving, free[:max(min(missing, len(free)), 0)]...)
}
