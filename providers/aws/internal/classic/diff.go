package classic

import (
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
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
	var added, removed, first []string
	occupied := false // a zone must be freed first
	wanted := map[string]bool{}
	for _, subnet := range m.Subnets {
		wanted[subnet.ID] = true
		if slices.Contains(lb.Subnets, subnet.ID) {
			continue
		}
		added = append(added, subnet.ID)
		if slices.Contains(lb.Zones, subnet.Zone) {
			occupied = true
		} else {
			first = append(first, subnet.ID)
		}
	}
	for _, id := range lb.Subnets {
		if !wanted[id] {
			removed = append(removed, id)
		}
	}
	if len(removed) < len(lb.Subnets) {
		first = nil
	} else if len(removed) > 0 && len(first) == 0 {
		return nil, false
	}
	rest := slices.DeleteFunc(added, func(id string) bool { return slices.Contains(first, id) })
	if len(first) > 0 {
		steps = append(steps, attachSubnets(m.Name, first).Dispensable())
	}
	if len(removed) > 0 {
		steps = append(steps, detachSubnets(m.Name, removed).Dispensable())
	}
	if len(rest) > 0 {
		step := attachSubnets(m.Name, rest)
		step.Removes = occupied && len(removed) > 0
		steps = append(steps, step.Dispensable())
	}

	return steps, true
}
