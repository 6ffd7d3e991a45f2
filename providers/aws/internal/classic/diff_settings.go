package classic

import (
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// settings plans everything that comes after a load balancer has its listeners.
func (m *Model) settings(steps change.Plan, lb *LoadBalancer) change.Plan {
	steps = m.backendPolicies(steps, lb)
	if m.Attributes != lb.Attributes {
		steps = append(steps, modifyAttributes(m.Name, m.Attributes))
	}
	steps = m.listenerPolicies(steps, lb)
	if m.HealthCheck != lb.HealthCheck {
		steps = append(steps, configureHealthCheck(m.Name, m.HealthCheck))
	}
	if added := missing(m.Instances, lb.Instances); len(added) > 0 {
		steps = append(steps, registerInstances(m.Name, added))
	}
	if removed := missing(lb.Instances, m.Instances); len(removed) > 0 {
		steps = append(steps, deregisterInstances(m.Name, removed))
	}
	return steps
}

// backendPolicies plans to switch the PROXY protocol on or off where it is not
// as wanted, without regard to other policies, and to clear the policies of ports
// that nothing is sent to any more.
func (m *Model) backendPolicies(steps change.Plan, lb *LoadBalancer) change.Plan {
	var ports []int32
	for _, listener := range m.Listeners {
		ports = append(ports, listener.InstancePort)
	}
	ports = plan.Sorted(ports)
	created := slices.Contains(lb.Policies, proxyPolicy)
	for _, port := range ports {
		have := lb.BackendPolicies[port]
		if slices.Contains(have, proxyPolicy) == m.ProxyProtocol {
			continue
		}
		want := slices.DeleteFunc(slices.Clone(have), func(name string) bool { return name == proxyPolicy })
		if m.ProxyProtocol {
			want = append(want, proxyPolicy)
			if !created {
				created, steps = true, append(steps, createPolicy(m.Name, policyNamed(proxyPolicy)))
			}
		}
		steps = append(steps, onListener(setBackendPolicies(m.Name, port, want, have), steps))
	}
	for _, port := range slices.Sorted(maps.Keys(lb.BackendPolicies)) {
		if !slices.Contains(ports, port) {
			steps = append(steps, setBackendPolicies(m.Name, port, nil, lb.BackendPolicies[port]))
		}
	}
	return steps
}

// listenerPolicies plans to give listeners the policies that are asked for.
func (m *Model) listenerPolicies(steps change.Plan, lb *LoadBalancer) change.Plan {
	created := slices.Clone(lb.Policies)
	have := map[int32][]string{}
	for _, listener := range lb.Listeners {
		have[listener.Port] = listener.Policies
	}
	for _, listener := range m.Listeners {
		if listener.Policies == nil || slices.Equal(plan.Sorted(listener.Policies), plan.Sorted(have[listener.Port])) {
			continue
		}
		for _, name := range missing(listener.Policies, created) {
			created = append(created, name)
			steps = append(steps, createPolicy(m.Name, policyNamed(name)))
		}
		steps = append(steps, onListener(setListenerPolicies(m.Name, listener.Port, listener.Policies, have[listener.Port]), steps))
	}
	return steps
}

// onListener marks a step that needs a listener, if an earlier step creates
// listeners only after others are deleted.
func onListener(step change.Step, earlier change.Plan) change.Step {
	step.Removes = step.Removes || slices.ContainsFunc(earlier, func(other change.Step) bool {
		return other.Removes && other.Kind == createsListeners
	})
	return step
}

// missing are the items of want that are not in have.
func missing(want, have []string) []string {
	return slices.DeleteFunc(slices.Clone(want), func(item string) bool { return slices.Contains(have, item) })
}
