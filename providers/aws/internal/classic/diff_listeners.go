package classic

import (
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// listenerPlan is the plan for the listeners.
type listenerPlan struct {
	steps change.Plan
	// there are the listeners after the steps.
	there []Listener
	made  made
}

// made are the front ports of listeners that are created in a run. The value
// reports whether another listener must be deleted first.
type made map[int32]bool

// made returns the ports of a new load balancer.
func (m *Model) made() made {
	ports := made{}
	for _, listener := range m.Listeners {
		ports[listener.Port] = false
	}

	return ports
}

// listeners plans to make the listeners the wanted ones. AWS accepts one for each
// front port, of which only the certificate can be changed:
//
//	another certificate       set in place
//	another protocol or port  deleted and created in one step, which restores the
//	of the instances          old one if the new one is rejected
//	new                       created
//	not wanted                deleted, after all others are there, or before if they are in the way
func (m *Model) listeners(lb *LoadBalancer) listenerPlan {
	have, wanted := byPort(lb.Listeners), byPort(m.Listeners)
	out := listenerPlan{made: made{}}
	var swaps []swap
	var stale, missing []Listener
	for _, port := range slices.Sorted(maps.Keys(wanted)) {
		next := wanted[port]
		seen, exists := have[port]
		if exists && next.same(seen) {
			continue
		}
		next.Policies = nil
		switch {
		case !exists:
			missing = append(missing, next)
			out.made[port] = false
		case seen.differsInCertificate(next):
			next.Policies = seen.Policies
			out.steps = append(out.steps, setCertificate(m.Name, seen, next, lb.BackendPolicies).Isolate())
		default:
			swaps = append(swaps, swap{name: m.Name, old: []Listener{seen}, new: []Listener{next}})
			out.made[port] = true
		}
		have[port] = next
	}
	for _, port := range slices.Sorted(maps.Keys(have)) {
		if _, kept := wanted[port]; !kept {
			stale = append(stale, have[port])
			delete(have, port)
		}
	}
	for _, s := range merge(swaps) {
		s.backend = lb.BackendPolicies
		out.steps = append(out.steps, s.step().Removal().Isolate())
	}
	out.steps = append(out.steps, m.replaceListeners(missing, stale)...)
	out.there = slices.Collect(maps.Values(have))

	return out
}

func byPort(list []Listener) map[int32]Listener {
	ports := map[int32]Listener{}
	for _, listener := range list {
		ports[listener.Port] = listener
	}

	return ports
}

// replaceListeners plans to create the listeners that are missing, and to delete those that are
// stale, which come first if AWS has accepted no others beside them.
func (m *Model) replaceListeners(missing, stale []Listener) change.Plan {
	var creation, deletion change.Plan
	if len(missing) > 0 {
		creation = change.Plan{createListeners(m.Name, missing).Isolate()}
	}
	if len(stale) > 0 {
		deletion = change.Plan{deleteListeners(m.Name, ports(stale)).Dispensable()}
	}
	if m.Full {
		return append(deletion, creation...)
	}

	return append(creation, deletion...)
}

// ports returns the front ports of listeners, sorted.
func ports(listeners []Listener) []int32 {
	return plan.Sorted(lists.Map(listeners, func(listener Listener) int32 { return listener.Port }))
}

// merge combines swaps that cannot be applied one after the other.
func merge(swaps []swap) []swap {
	for i, one := range swaps {
		for j, other := range swaps {
			if i == j || !slices.ContainsFunc(one.new, func(l Listener) bool { return slices.ContainsFunc(other.old, l.excludes) }) {
				continue
			}
			one.old, one.new = slices.Concat(one.old, other.old), slices.Concat(one.new, other.new)
			rest := slices.Clone(swaps)
			rest[i] = one

			return merge(slices.Delete(rest, j, j+1))
		}
	}

	return swaps
}

// excludes reports whether two listeners exclude each other: AWS requires that
// all listeners that send to the same instance port agree on whether they
// encrypt, see
// https://docs.aws.amazon.com/elasticloadbalancing/2012-06-01/APIReference/API_Listener.html
func (l Listener) excludes(o Listener) bool {
	return l.InstancePort == o.InstancePort && encrypted(l.InstanceProtocol) != encrypted(o.InstanceProtocol)
}

func encrypted(protocol string) bool { return protocol == protocolHTTPS || protocol == protocolSSL }

// differsInCertificate reports whether two TLS listeners differ only in their
// certificate.
func (l Listener) differsInCertificate(o Listener) bool {
	if l.Certificate == "" || o.Certificate == "" {
		return false
	}
	l.Certificate = o.Certificate

	return l.same(o)
}
