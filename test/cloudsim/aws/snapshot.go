package aws

import (
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Snapshot is a state of the cloud, with everything that exists in it and what is
// about to happen. It stays as it is, and can be restored any number of times.
type Snapshot struct {
	ids       simstate.IDs
	schedule  simstate.Schedule[*Cloud]
	ec2       ec2State
	balancers balancers
}

// Snapshot copies the present state. Settings such as delays and quotas of load
// balancers are part of it; credentials, denied actions, throttling, the
// interceptor with its rules and its log are not.
func (c *Cloud) Snapshot() *Snapshot {
	var s *Snapshot
	c.inspect(func() {
		s = &Snapshot{
			ids: c.ids.Clone(), schedule: c.schedule.Clone(),
			ec2: c.ec2.clone(), balancers: c.balancers.clone(),
		}
	})

	return s
}

// Restore restores a state, of this cloud or of another one with the same
// options. What follows is the same each time, IDs of new resources included.
func (c *Cloud) Restore(s *Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids, c.schedule = s.ids.Clone(), s.schedule.Clone()
	c.ec2, c.balancers = s.ec2.clone(), s.balancers.clone()
}

func (s *ec2State) clone() ec2State {
	out := *s
	out.vpcs = cloneStore(s.vpcs, func(v *vpc) { v.tagged, v.cidrs = v.clone(), slices.Clone(v.cidrs) })
	out.subnets = cloneStore(s.subnets, func(s *subnet) {
		s.tagged, s.used = s.clone(), maps.Clone(s.used)
	})
	out.tables = cloneStore(s.tables, func(t *routeTable) {
		t.tagged, t.subnets, t.original = t.clone(), slices.Clone(t.subnets), slices.Clone(t.original)
		t.routes = simstate.CloneSlice(t.routes)
	})
	out.groups = cloneStore(s.groups, func(g *securityGroup) {
		g.tagged, g.rules, g.original = g.clone(), simstate.CloneSlice(g.rules), simstate.CloneSlice(g.original)
		g.earlier = slices.Clone(g.earlier)
	})
	out.instances = cloneStore(s.instances, func(i *instance) {
		i.tagged, i.interfaces, i.nodes = i.clone(), slices.Clone(i.interfaces), slices.Clone(i.nodes)
	})
	out.interfaces = cloneStore(s.interfaces, func(eni *networkInterface) {
		eni.tagged, eni.groups = eni.clone(), slices.Clone(eni.groups)
		eni.addrs, eni.addrs6 = slices.Clone(eni.addrs), slices.Clone(eni.addrs6)
		if eni.attachment != nil {
			eni.attachment = new(*eni.attachment)
		}
	})
	out.allocations = cloneStore(s.allocations, func(a *allocation) { a.tagged = a.clone() })
	out.lost = slices.Clone(s.lost)

	return out
}

func (b *balancers) clone() balancers {
	out := *b
	out.classics = simstate.CloneMap(b.classics, func(b *classicBalancer) {
		b.ClassicLoadBalancer, b.registered = b.clone(), maps.Clone(b.registered)
	})
	out.networks = simstate.CloneMap(b.networks, func(n *network) {
		n.mappings, n.groups = slices.Clone(n.mappings), slices.Clone(n.groups)
		n.attributes, n.tags = maps.Clone(n.attributes), maps.Clone(n.tags)
	})
	out.listeners = simstate.CloneMap(b.listeners, func(l *listener) { *l = *l.clone() })
	out.groups = simstate.CloneMap(b.groups, func(g *targetGroup) {
		g.attributes, g.tags = maps.Clone(g.attributes), maps.Clone(g.tags)
		g.targets = simstate.CloneMap(g.targets, func(*registration) {})
	})
	out.certificates = b.certificates.clone()
	if b.draining != nil {
		out.draining = new(*b.draining)
	}

	return out
}

func (t tagged) clone() tagged {
	return tagged{tags: maps.Clone(t.tags), given: maps.Clone(t.given)}
}

// cloneStore copies a store. Own makes the copy of a resource independent.
func cloneStore[T any](s store[*T], own func(*T)) store[*T] {
	return store[*T]{byID: simstate.CloneMap(s.byID, own), order: slices.Clone(s.order)}
}
