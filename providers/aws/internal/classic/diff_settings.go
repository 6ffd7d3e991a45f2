package classic

import (
	"context"
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// settings plans everything that follows once a load balancer has its
// listeners, some of which were created just before.
func (m *Model) settings(steps change.Plan, lb *LoadBalancer, made made) change.Plan {
	steps = append(steps, m.backendPolicies(lb, made)...)
	if m.Attributes != lb.Attributes {
		steps = append(steps, modifyAttributes(m.Name, m.Attributes).Isolate())
	}
	steps = append(steps, m.listenerPolicies(lb, made)...)
	if m.HealthCheck != lb.HealthCheck {
		steps = append(steps, configureHealthCheck(m.Name, m.HealthCheck).Isolate())
	}

	return append(steps, DiffInstances(request.Instances{Registered: m.Instances, Kept: m.Resting}, lb)...)
}

// DiffInstances plans only the instances of a load balancer.
func DiffInstances(list request.Instances, lb *LoadBalancer) change.Plan {
	var steps change.Plan
	added := lists.Without(list.Registered, lb.Instances)
	if len(added) > 0 {
		steps = append(steps, registerInstances(lb.Name, added, len(lb.Instances)).Isolate())
	}
	if removed := lists.Without(lists.Without(lb.Instances, list.Registered), list.Kept); len(removed) > 0 {
		steps = append(steps, deregisterInstances(lb.Name, removed, len(added) == len(list.Registered)).Dispensable())
	}

	return steps
}

// backendPolicies plans to switch the PROXY protocol on or off where it
// differs, without regard to other policies, and to clear the policies of ports
// that are no longer used.
func (m *Model) backendPolicies(lb *LoadBalancer, made made) change.Plan {
	var steps change.Plan
	created := slices.Contains(lb.Policies, proxyPolicy)
	users := m.byInstancePort()
	for _, port := range slices.Sorted(maps.Keys(users)) {
		have := lb.BackendPolicies[port]
		if slices.Contains(have, proxyPolicy) == m.ProxyProtocol {
			continue
		}
		var needs []plan.Ref
		want := slices.DeleteFunc(slices.Clone(have), func(name string) bool { return name == proxyPolicy })
		if m.ProxyProtocol {
			want = append(want, proxyPolicy)
			if !slices.Contains(lb.Policies, proxyPolicy) {
				needs = append(needs, plan.Ref{Key: policyKey(m.Name, proxyPolicy)})
			}
			if !created {
				created, steps = true, append(steps, createPolicy(m.Name, policyNamed(proxyPolicy)).Isolate())
			}
		}
		step := setBackendPolicies(m.Name, port, want, have).Isolate()
		for _, user := range users[port] {
			step, needs = made.onListener(step, m.Name, user, needs)
		}
		steps = append(steps, after(step, needs))
	}
	for _, port := range slices.Sorted(maps.Keys(lb.BackendPolicies)) {
		if len(users[port]) == 0 {
			steps = append(steps, setBackendPolicies(m.Name, port, nil, lb.BackendPolicies[port]).Dispensable())
		}
	}

	return steps
}

// byInstancePort returns the front ports by the instance ports that they send
// to.
func (m *Model) byInstancePort() map[int32][]int32 {
	users := map[int32][]int32{}
	for _, listener := range m.Listeners {
		users[listener.InstancePort] = append(users[listener.InstancePort], listener.Port)
	}

	return users
}

// listenerPolicies plans to set the requested policies on listeners.
func (m *Model) listenerPolicies(lb *LoadBalancer, made made) change.Plan {
	var steps change.Plan
	created := slices.Clone(lb.Policies)
	have := byPort(lb.Listeners)
	for _, listener := range m.Listeners {
		policies := have[listener.Port].Policies
		if listener.Policies == nil || slices.Equal(plan.Sorted(listener.Policies), plan.Sorted(policies)) {
			continue
		}
		missing := lists.Without(listener.Policies, lb.Policies)
		needs := lists.Map(missing, func(name string) plan.Ref { return plan.Ref{Key: policyKey(m.Name, name)} })
		for _, name := range lists.Without(listener.Policies, created) {
			created = append(created, name)
			steps = append(steps, createPolicy(m.Name, policyNamed(name)).Isolate())
		}
		step := setListenerPolicies(m.Name, listener.Port, listener.Policies, policies).Isolate()
		step, needs = made.onListener(step, m.Name, listener.Port, needs)
		steps = append(steps, after(step, needs))
	}

	return steps
}

// onListener returns a step that needs the listener on a front port, with its
// other needs.
func (p made) onListener(step change.Step, balancer string, port int32, needs []plan.Ref) (change.Step, []plan.Ref) {
	replaces, made := p[port]
	if !made {
		return step, needs
	}
	step.Removes = step.Removes || replaces

	return step, append(needs, plan.Ref{Key: listenerKey(balancer, port)})
}

// after returns a step that runs if earlier ones have stored all keys that it
// needs.
func after(step change.Step, needs []plan.Ref) change.Step {
	do := step.Do
	step.Do = func(ctx context.Context, env *change.Env) error {
		if _, err := env.Resolve(needs); err != nil {
			return err
		}

		return do(ctx, env)
	}

	return step
}
