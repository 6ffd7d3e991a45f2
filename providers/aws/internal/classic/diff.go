package classic

import (
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Diff plans how to change the observed to the wanted load balancer. A nil
// Model means that none is wanted, a nil LoadBalancer that none exists. A load
// balancer with our name that is not ours is a conflict.
//
// The order is: the settings that a load balancer is created with (subnets,
// security groups, listeners, tags), then those that are set afterwards
// (policies, attributes, health check, instances). Listeners, and the steps
// that depend on them, are isolated from each other.
func Diff(m *Model, lb *LoadBalancer) change.Plan {
	if err := lb.NotOwned(); err != nil {
		return change.Plan{change.Abort(err)}
	}
	switch {
	case m == nil && lb == nil:
		return nil
	case m == nil:
		return change.Plan{deleteLoadBalancer(lb.Name)}
	case lb == nil:
		return m.settings(change.Plan{createLoadBalancer(m)}, m.afterCreate(), m.made())
	}
	steps, _ := m.move(lb)
	if len(m.SecurityGroups) > 0 && !change.SameGroups(m.SecurityGroups, lb.SecurityGroups) {
		steps = append(steps, applySecurityGroups(m.Name, m.SecurityGroups, lb.SecurityGroups).Dispensable())
	}
	listeners := m.listeners(lb)
	steps = append(steps, listeners.steps...)
	if missing := m.Cluster.Missing(m.Tags, lb.Tags); len(missing) > 0 {
		steps = append(steps, addTags(m.Name, missing).Isolate())
	}
	changed := *lb
	changed.Listeners = listeners.there

	return m.settings(steps, &changed, listeners.made)
}

// afterCreate is the state of a load balancer after the creating call. Its
// health check always differs from the wanted one.
func (m *Model) afterCreate() *LoadBalancer {
	lb := &LoadBalancer{Name: m.Name, Attributes: defaultAttributes()}
	for _, listener := range m.Listeners {
		listener.Policies = nil
		lb.Listeners = append(lb.Listeners, listener)
	}

	return lb
}

// move plans to change subnets. AWS accepts one in each zone and rejects
// detaching the last one: the old one is detached first, unless no other one
// would remain. In that case the plan begins with new zones; if there are none,
// the change is not possible.
func (m *Model) move(lb *LoadBalancer) (steps change.Plan, possible bool) {
	if len(m.Subnets) == 0 {
		return nil, true
	}
	added := lists.Filter(m.Subnets, func(subnet Subnet) bool { return !slices.Contains(lb.Subnets, subnet.ID) })
	occupied, free := lists.Split(added, func(subnet Subnet) bool { return slices.Contains(lb.Zones, subnet.Zone) })
	removed := lists.Without(lb.Subnets, subnetIDs(m.Subnets))
	first, rest := subnetIDs(free), subnetIDs(occupied)
	if len(removed) < len(lb.Subnets) {
		first, rest = nil, subnetIDs(added)
	} else if len(removed) > 0 && len(first) == 0 {
		return nil, false
	}
	if len(first) > 0 {
		steps = append(steps, attachSubnets(m.Name, first).Dispensable())
	}
	if len(removed) > 0 {
		steps = append(steps, detachSubnets(m.Name, removed).Dispensable())
	}
	if len(rest) > 0 {
		step := attachSubnets(m.Name, rest)
		step.Removes = len(occupied) > 0 && len(removed) > 0 // a zone must be freed first
		steps = append(steps, step.Dispensable())
	}

	return steps, true
}
