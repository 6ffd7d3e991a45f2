package classic

import (
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Diff plans what turns the observed into the wanted load balancer. A nil Model
// wants none, a nil LoadBalancer is none. A load balancer with our name that is
// not ours is refused.
//
// In this order: what a new load balancer is made with (subnets, security groups,
// listeners, tags), then what comes after that (policies, attributes, health
// check, instances).
func Diff(m *Model, lb *LoadBalancer) change.Plan {
	if err := lb.Refusal(); err != nil {
		return change.Plan{change.Refuse(err)}
	}
	switch {
	case m == nil && lb == nil:
		return nil
	case m == nil:
		return change.Plan{deleteLoadBalancer(lb.Name)}
	case lb == nil:
		return m.settings(change.Plan{createLoadBalancer(m)}, m.born())
	}
	steps, _ := m.move(lb)
	if len(m.SecurityGroups) > 0 && !change.SameGroups(m.SecurityGroups, lb.SecurityGroups) {
		steps = append(steps, applySecurityGroups(m.Name, m.SecurityGroups, lb.SecurityGroups))
	}
	steps, listeners := m.listeners(steps, lb)
	if missing := m.Cluster.Missing(m.Tags, lb.Tags); len(missing) > 0 {
		steps = append(steps, addTags(m.Name, missing))
	}
	changed := *lb
	changed.Listeners = listeners
	return m.settings(steps, &changed)
}

// born is what the creating call leaves to be set. Its health check is never
// what is wanted.
func (m *Model) born() *LoadBalancer {
	lb := &LoadBalancer{Name: m.Name, Attributes: defaultAttributes()}
	for _, listener := range m.Listeners {
		listener.Policies = nil
		lb.Listeners = append(lb.Listeners, listener)
	}
	return lb
}

// move plans to change subnets. AWS takes one in each zone and refuses to leave
// the last one: what goes makes room for what comes, unless nothing would be left
// between. Then it begins with zones that are new; if there are none, it is not
// possible.
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
		steps = append(steps, attachSubnets(m.Name, first))
	}
	if len(removed) > 0 {
		steps = append(steps, detachSubnets(m.Name, removed))
	}
	if len(rest) > 0 {
		step := attachSubnets(m.Name, rest)
		step.Removes = occupied && len(removed) > 0
		steps = append(steps, step)
	}
	return steps, true
}

// listeners plans to delete those that are not wanted as they are, then to create
// what is missing. It gives those that are there then.
func (m *Model) listeners(steps change.Plan, lb *LoadBalancer) (change.Plan, []Listener) {
	byPort := func(list []Listener) map[int32]Listener {
		ports := map[int32]Listener{}
		for _, listener := range list {
			ports[listener.Port] = listener
		}
		return ports
	}
	have := byPort(lb.Listeners)
	set := plan.Diff(byPort(m.Listeners), have, Listener.same)
	var stale []int32
	var missing []Listener
	for _, pair := range set.Change {
		stale, missing = append(stale, pair.Key), append(missing, pair.Desired)
	}
	for _, entry := range set.Delete {
		stale = append(stale, entry.Key)
	}
	for _, entry := range set.Create {
		missing = append(missing, entry.Value)
	}
	if len(stale) > 0 {
		steps = append(steps, deleteListeners(m.Name, plan.Sorted(stale)))
	}
	if len(missing) > 0 {
		step := createListeners(m.Name, missing)
		step.Removes = len(set.Change) > 0 // AWS refuses a second listener on a port
		steps = append(steps, step)
	}
	for _, port := range stale {
		delete(have, port)
	}
	for _, listener := range missing {
		listener.Policies = nil
		have[listener.Port] = listener
	}
	return steps, slices.Collect(maps.Values(have))
}
