package aws

import (
	"maps"
	"slices"
	"strings"
)

// Classic returns the classic load balancer of that name, and whether there is
// one. The copy is the caller's.
func (c *Cloud) Classic(name string) (balancer ClassicLoadBalancer, found bool) {
	c.inspect(func() {
		if b := c.balancers.classics[name]; b != nil {
			balancer, found = b.clone(), true
		}
	})

	return balancer, found
}

// Network returns the network load balancer of that name, and whether there is
// one. The copy is the caller's.
func (c *Cloud) Network(name string) (balancer NetworkLoadBalancer, found bool) {
	c.inspect(func() {
		if n := c.networkByName(name); n != nil {
			balancer, found = c.network(n), true
		}
	})

	return balancer, found
}

// TargetGroups returns all target groups by name, those that no listener
// forwards to included.
func (c *Cloud) TargetGroups() []TargetGroup {
	var groups []TargetGroup
	c.inspect(func() {
		for _, g := range c.balancers.groups {
			groups = append(groups, c.targetGroup(g))
		}
	})
	slices.SortFunc(groups, func(a, b TargetGroup) int { return strings.Compare(a.Name, b.Name) })

	return groups
}

// LoadBalancers returns the names of all load balancers, sorted: classic ones
// and network ones.
func (c *Cloud) LoadBalancers() (classic, network []string) {
	c.inspect(func() {
		classic = slices.Sorted(maps.Keys(c.balancers.classics))
		for _, n := range c.balancers.networks {
			network = append(network, n.name)
		}
	})
	slices.Sort(network)

	return classic, network
}

func (c *Cloud) network(n *network) NetworkLoadBalancer {
	out := NetworkLoadBalancer{
		Name: n.name, ARN: n.arn, DNSName: n.dns, Scheme: n.scheme, VPC: n.vpc, State: c.stateOf(n),
		Mappings: slices.Clone(n.mappings), SecurityGroups: slices.Clone(n.groups),
		Attributes: maps.Clone(n.attributes), Tags: maps.Clone(n.tags),
	}
	groups := make(map[string]*targetGroup)
	for _, l := range c.listenersOf(n.arn) {
		g := c.balancers.groups[l.group]
		groups[g.name] = g
		l = l.clone()
		out.Listeners = append(out.Listeners, NetworkListener{
			ARN: l.arn, Port: l.port, Protocol: l.protocol, TargetGroup: g.name,
			Certificates: l.certificates, Policy: l.policy, ALPN: l.alpn, Tags: l.tags,
		})
	}
	for _, g := range sortedValues(groups) {
		out.TargetGroups = append(out.TargetGroups, c.targetGroup(g))
	}

	return out
}

func (c *Cloud) targetGroup(g *targetGroup) TargetGroup {
	c.purge(g)
	out := TargetGroup{
		Name: g.name, ARN: g.arn, VPC: g.vpc, Protocol: g.protocol, Port: g.port, TargetType: g.targetType,
		HealthCheck: g.check, Attributes: maps.Clone(g.attributes), Tags: maps.Clone(g.tags),
	}
	for _, t := range slices.SortedFunc(maps.Keys(g.targets), byPort) {
		if g.targets[t].draining {
			out.Draining = append(out.Draining, t)
		} else {
			out.Targets = append(out.Targets, t)
		}
	}

	return out
}
