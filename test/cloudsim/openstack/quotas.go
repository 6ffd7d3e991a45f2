package openstack

import (
	"cmp"
	"maps"
)

// Quotas bound the resources of each project. Zero fields are the defaults of the
// services, -1 is no bound.
type Quotas struct {
	// Of Neutron (neutron: conf/quota.py): networks 100, subnets 100, ports 500,
	// routers 10, floating IPs 50, security groups 10, their rules 100.
	Networks, Subnets, Ports, Routers, FloatingIPs, SecurityGroups, SecurityGroupRules int
	// Routes bounds the extra routes of a router; default 30 (neutron:
	// conf/extensions/extraroute.py, max_routes).
	Routes int
	// AddressPairs bounds the allowed address pairs of a port; default 10
	// (neutron: conf/extensions/allowedaddresspairs.py).
	AddressPairs int
	// Of Octavia, which has no bounds by default (octavia: common/config.py,
	// default_load_balancer_quota and others).
	LoadBalancers, Listeners, Pools, Members, HealthMonitors int
}

func (q Quotas) complete() Quotas {
	return Quotas{
		Networks: cmp.Or(q.Networks, 100), Subnets: cmp.Or(q.Subnets, 100), Ports: cmp.Or(q.Ports, 500),
		Routers: cmp.Or(q.Routers, 10), FloatingIPs: cmp.Or(q.FloatingIPs, 50),
		SecurityGroups: cmp.Or(q.SecurityGroups, 10), SecurityGroupRules: cmp.Or(q.SecurityGroupRules, 100),
		Routes: cmp.Or(q.Routes, 30), AddressPairs: cmp.Or(q.AddressPairs, 10),
		LoadBalancers: cmp.Or(q.LoadBalancers, -1), Listeners: cmp.Or(q.Listeners, -1), Pools: cmp.Or(q.Pools, -1),
		Members: cmp.Or(q.Members, -1), HealthMonitors: cmp.Or(q.HealthMonitors, -1),
	}
}

// SetQuotas bounds the resources of a project, given by its name, from now on; an
// empty name means every project without bounds of its own.
func (c *Cloud) SetQuotas(project string, quotas Quotas) {
	c.inspect(func() {
		k := c.keystone
		k.quotas = maps.Clone(k.quotas)
		if project == "" {
			k.quotas[""] = quotas.complete()

			return
		}
		k.quotas[k.project(project).id] = quotas.complete()
	})
}

// quotasOf returns the bounds of a project. The caller holds mu.
func (c *Cloud) quotasOf(projectID string) Quotas {
	if q, ok := c.keystone.quotas[projectID]; ok {
		return q
	}

	return c.keystone.quotas[""]
}

// exceeds reports whether adding some to what there is exceeds a quota.
func exceeds(quota, used, added int) bool { return quota >= 0 && used+added > quota }
