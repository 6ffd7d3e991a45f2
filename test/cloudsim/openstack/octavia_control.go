package openstack

import (
	"slices"
	"time"
)

// SetLoadBalancerStatus sets the provisioning status of a load balancer: ERROR, or a
// pending one that lasts forever, as after the end of a worker, until this is called
// with ACTIVE. What it serves stays.
func (c *Cloud) SetLoadBalancerStatus(id, status string) {
	c.inspect(func() {
		_, lb := c.lbOf(id)
		lb.status, lb.due = status, false
		lb.change++ // a change under way does not end this
	})
}

// SetProvisioningStatus sets the provisioning status of a part of a load balancer. A
// pool in ERROR is repaired by a change of the pool, see [Cloud.FailPool].
func (c *Cloud) SetProvisioningStatus(id, status string) {
	c.inspect(func() {
		o := c.partOf(id)
		o.status, o.stuck = status, false
	})
}

// SetOperatingStatus sets the operating status of a load balancer or of a part of one,
// which nothing else changes. Members in ERROR get no traffic.
func (c *Cloud) SetOperatingStatus(id, status string) {
	c.inspect(func() { c.partOf(id).operating = status })
}

// partOf returns a load balancer or a part of one. It panics when there is none.
func (c *Cloud) partOf(id string) *lbObject {
	for _, r := range c.regions {
		s := r.octavia
		for _, t := range []*table[lbObject]{&s.loadBalancers, &s.listeners, &s.pools, &s.members, &s.monitors, &s.policies} {
			if o := t.get(id); o != nil {
				return o
			}
		}
	}
	panic("openstack: no object of a load balancer " + id)
}

// HoldPending keeps a load balancer pending when a change has reached its end, until
// hold is false; an empty ID means all load balancers of all regions.
func (c *Cloud) HoldPending(id string, hold bool) {
	c.inspect(func() {
		for _, r := range c.regions {
			if id == "" {
				r.octavia.rules.held = hold
			}
			for _, lb := range r.octavia.loadBalancers.all() {
				if lb.id == id {
					lb.held = hold
				}
				c.lbFinish(r, lb)
			}
		}
	})
}

// FailChanges has the next n changes of a load balancer fail at their end: what they
// are about is in ERROR then. The load balancer itself is, when they are about it.
func (c *Cloud) FailChanges(id string, n int) {
	c.inspect(func() { _, lb := c.lbOf(id); lb.fails = n })
}

// FailCreations has the next n creations of load balancers in a region fail at their
// end. An empty region is the first one.
func (c *Cloud) FailCreations(region string, n int) {
	c.inspect(func() { c.region(region).octavia.rules.failing = n })
}

// FailPool puts a pool into ERROR while its load balancer is ACTIVE. A change of the
// pool itself repairs it, unless it is for good.
func (c *Cloud) FailPool(id string, forGood bool) {
	c.inspect(func() {
		p := c.partOf(id)
		p.status, p.broken = lbError, forGood
	})
}

// StartFailover makes an ACTIVE load balancer PENDING_UPDATE for a while, as when the
// health manager of Octavia replaces its virtual machine. It serves all the time.
func (c *Cloud) StartFailover(id string, duration time.Duration) {
	c.inspect(func() {
		r, lb := c.lbOf(id)
		lb.status = lbPendingUpdate
		c.lbSchedule(r, lb, duration)
	})
}

// DeleteLoadBalancer removes a load balancer at once, with its port, as an operator
// or another client would.
func (c *Cloud) DeleteLoadBalancer(id string) {
	c.inspect(func() {
		r, lb := c.lbOf(id)
		delete(r.octavia.initial, id)
		c.lbRemove(r, lb)
	})
}

// SetKeepDeleted has deleted load balancers stay with the status DELETED, as old and
// foreign implementations of the API do.
func (c *Cloud) SetKeepDeleted(keep bool) {
	c.eachOctavia(func(s *octaviaState) { s.rules.keepDeleted = keep })
}

// SetStuckParts has the parts of load balancers that are created as a whole stay
// PENDING_CREATE until they are changed themselves, while the load balancer is ACTIVE,
// as with Octavia 11.0.0 of Zed without a job board: a pool takes a PUT, and refuses
// changes of its members before.
func (c *Cloud) SetStuckParts(stuck bool) {
	c.eachOctavia(func(s *octaviaState) { s.rules.stuck = stuck })
}

// SetVersionsUnordered lists the versions of the API in the order of their texts, 2.10
// before 2.9, so that the last one is not the current one. Clients find the latest by
// its status, or by comparing numbers.
func (c *Cloud) SetVersionsUnordered(unordered bool) {
	c.eachOctavia(func(s *octaviaState) { s.rules.unordered = unordered })
}

// SetProviders sets the providers that are enabled, the default one first.
func (c *Cloud) SetProviders(names ...string) {
	c.eachOctavia(func(s *octaviaState) { s.rules.providers = slices.Clone(names) })
}

// SetBrokenProviders sets providers that are enabled and cannot be loaded: 501.
func (c *Cloud) SetBrokenProviders(names ...string) {
	c.eachOctavia(func(s *octaviaState) { s.rules.broken = slices.Clone(names) })
}

// VIPRules are what a deployment does not allow for virtual IP addresses (octavia:
// common/config.py, allow_vip_port_id and others, valid_vip_networks).
type VIPRules struct {
	// NoPort, NoNetwork and NoSubnet refuse vip_port_id, vip_network_id, vip_subnet_id.
	NoPort, NoNetwork, NoSubnet bool
	// Networks are the IDs of the only networks that are allowed; nil for all.
	Networks []string
}

// SetVIPRules sets what is not allowed from now on.
func (c *Cloud) SetVIPRules(rules VIPRules) {
	c.eachOctavia(func(s *octaviaState) {
		s.rules.noVIPBy, s.rules.vipNetworks = nil, slices.Clone(rules.Networks)
		for key, no := range map[string]bool{"vip_port_id": rules.NoPort, "vip_network_id": rules.NoNetwork, "vip_subnet_id": rules.NoSubnet} {
			if no {
				s.rules.noVIPBy = append(s.rules.noVIPBy, key)
			}
		}
		slices.Sort(s.rules.noVIPBy)
	})
}
