package octavia

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// errNoLoadBalancer means that there is nothing to compare.
var errNoLoadBalancer = errors.New("the load balancer is not known")

// Findings are what a plan leaves as it is although the Service wants something else.
type Findings struct {
	// Warnings are for the user of the Service.
	Warnings []service.Warning
	// Gaps are what only a user or an administrator can end: the Service is to be synced
	// again later.
	Gaps []service.Gap
}

// Diff plans how to change the parts of a load balancer to the wanted ones. It is pure.
//
// The order is, port by port: the pool with its members and its health monitor, the
// listener, the pool that the listener no longer uses; then, if all ports succeeded,
// the listeners and pools of the Service that are not wanted.
//
// The steps of a port are isolated from those of the others. A listener on a wanted port
// that is not of the Service is an error of the port, for which nothing is written.
func Diff(o *Observed, d *Desired) (change.Plan, Findings) {
	if o == nil || o.LoadBalancer == nil {
		return change.Plan{change.Abort(errNoLoadBalancer)}, Findings{}
	}
	f := newDiffer(o, d)
	for i := range d.Ports {
		f.port(&d.Ports[i])
	}
	f.leftovers()

	return f.plan, f.findings
}

// PlainAdditions reports whether a plan does nothing but adding members, which may be
// planned with lists that are not fresh. It is false for an empty plan.
func PlainAdditions(p change.Plan) bool {
	other := func(step change.Step) bool { return step.Kind != kindAddMembers }

	return len(p) > 0 && !slices.ContainsFunc(p, other)
}

// LacksMonitorPorts reports whether a member is wanted with a port for health checks that is
// not known of it, so that a plan may miss a change.
func LacksMonitorPorts(o *Observed, d *Desired) bool {
	f := newDiffer(o, d)
	for _, p := range d.Ports {
		l := f.listeners[p.key()]
		if l == nil || o.Pools[l.DefaultPoolID] == nil {
			continue
		}
		partial := map[netip.AddrPort]bool{}
		for _, m := range o.Pools[l.DefaultPoolID].Members {
			partial[m.pair()] = m.Partial
		}
		if slices.ContainsFunc(p.Pool.Members, func(m DesiredMember) bool { return m.monitorPort() != 0 && partial[m.pair()] }) {
			return true
		}
	}

	return false
}

// differ holds the input of a plan, and the plan so far.
type differ struct {
	seen    *Observed
	desired *Desired
	// listeners are those on a port that a Service can want.
	listeners map[portKey]*client.Listener
	// users are how many listeners use a pool.
	users map[string]int
	// taken are the pools that a wanted port has, or that its steps delete.
	taken    map[string]bool
	targets  []*target
	plan     change.Plan
	findings Findings
}

func newDiffer(o *Observed, d *Desired) *differ {
	f := &differ{seen: o, desired: d, listeners: map[portKey]*client.Listener{}, users: map[string]int{}, taken: map[string]bool{}}
	for _, l := range o.Listeners {
		if transport := features.Transport(features.Protocol(l.Protocol)); transport != "" {
			f.listeners[portKey{transport, l.Port}] = l
		}
		if l.DefaultPoolID != "" {
			f.users[l.DefaultPoolID]++
		}
	}

	return f
}

func (f *differ) add(step change.Step) { f.plan = append(f.plan, step) }

// addIsolated plans a step that affects only one port.
func (f *differ) addIsolated(step change.Step) { f.add(step.Isolate()) }

// names returns the names of the Service in this load balancer.
func (f *differ) names() request.Names { return f.desired.Names.In(f.seen.LoadBalancer.Name) }

// owns reports whether a part of the load balancer is of the Service.
func (f *differ) owns(kind request.Part, name string, tags []string) bool {
	return certainty.IsOwnPart(f.names(), kind, name, tags, f.desired.Owner)
}

// ownsBelow is the same for a part below a listener or a pool of the Service.
func (f *differ) ownsBelow(kind request.Part, name string, tags []string) bool {
	return certainty.IsOwnPart(f.names(), kind, name, tags, true)
}

// port plans the steps of one port.
func (f *differ) port(p *Port) {
	t := &target{differ: f, port: p, loadBalancer: f.seen.LoadBalancer.ID}
	f.targets = append(f.targets, t)
	if t.listener = f.listeners[p.key()]; t.listener != nil && !f.owns(request.PartListener, t.listener.Name, t.listener.Tags) {
		f.addIsolated(change.Abort(occupied(p.key(), t.listener)))

		return
	}
	if err := t.attach(); err != nil {
		f.addIsolated(change.Abort(err))

		return
	}
	t.keepPolicies()
	t.choosePool()
	t.diffPool()
	t.diffListener()
	t.removePool()
}

// occupied is the error of a port that another Service or a user has.
func occupied(key portKey, l *client.Listener) error {
	owner := "a user"
	if tags := request.ServiceTags(l.Tags); len(tags) > 0 {
		owner = plan.Commas(tags)
	}

	return apierr.Mark(apierr.ErrConflict, fmt.Errorf("port %s: listener %s (%s) of the load balancer belongs to %s", key, l.Name, l.ID, owner))
}

// leftovers plans to delete the listeners of the Service that are not wanted, with their
// pools, and the pools of the Service that no listener uses.
func (f *differ) leftovers() {
	wanted := make(map[portKey]bool, len(f.desired.Ports))
	for _, p := range f.desired.Ports {
		wanted[p.key()] = true
	}
	for _, l := range f.seen.Listeners {
		key := portKey{features.Transport(features.Protocol(l.Protocol)), l.Port}
		if !wanted[key] && f.owns(request.PartListener, l.Name, l.Tags) {
			f.removeListener(l)
		}
	}
	f.removeUnused()
}

// removeListener plans to delete a listener, and its pool if no other listener uses it.
func (f *differ) removeListener(l *client.Listener) {
	f.add(deleteListener(f.seen.LoadBalancer.ID, l).Removal().Dispensable())
	p := f.seen.Pools[l.DefaultPoolID]
	if p == nil || f.taken[p.ID] {
		return
	}
	if f.users[p.ID]--; f.users[p.ID] == 0 && f.ownsBelow(request.PartPool, p.Name, p.Tags) {
		f.taken[p.ID] = true
		f.add(deletePool(f.seen.LoadBalancer.ID, p).Removal().Dispensable())
	}
}

// removeUnused plans to delete the pools of the Service that no listener uses.
func (f *differ) removeUnused() {
	for _, p := range f.spares() {
		f.add(deletePool(f.seen.LoadBalancer.ID, p).Removal().Dispensable())
	}
}

// spares returns the pools of the Service that neither a listener nor a wanted port uses,
// in the order of their names. Those in lists that many Services share are not read.
func (f *differ) spares() []*Pool {
	var unused []*Pool
	for _, p := range f.seen.Pools {
		if f.users[p.ID] == 0 && !f.taken[p.ID] && len(p.Listeners) == 0 && f.owns(request.PartPool, p.Name, p.Tags) {
			unused = append(unused, p)
		}
	}
	slices.SortFunc(unused, func(a, b *Pool) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })

	return unused
}
