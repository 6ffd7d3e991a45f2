package aws

import (
	"fmt"
	"slices"
	"strings"
)

// balancerLeaks lists all load balancers, listeners and target groups.
func (c *Cloud) balancerLeaks() []string {
	var found []string
	for name, b := range c.balancers.classics {
		found = append(found, "load-balancer classic "+name)
		for _, l := range b.Listeners {
			found = append(found, fmt.Sprintf("listener classic %s %s %d", name, l.Protocol, l.Port))
		}
	}
	for _, n := range c.balancers.networks {
		found = append(found, "load-balancer network "+n.name)
	}
	for _, l := range c.balancers.listeners {
		found = append(found, fmt.Sprintf("listener network %s %s %d", c.balancers.networks[l.balancer].name, l.protocol, l.port))
	}
	for _, g := range c.balancers.groups {
		found = append(found, "target-group "+g.name)
	}
	slices.Sort(found)

	return found
}

// Dump returns the state of everything that belongs to load balancing as sorted
// lines, with names instead of IDs, so that two runs can be compared.
func (c *Cloud) Dump() string {
	var lines []string
	c.inspect(func() {
		for _, b := range c.balancers.classics {
			lines = append(lines, c.dumpClassic(b)...)
		}
		for _, n := range c.balancers.networks {
			lines = append(lines, c.dumpNetwork(n)...)
		}
		for _, g := range c.balancers.groups {
			lines = append(lines, c.dumpTargetGroup(g)...)
		}
		lines = append(lines, c.dumpGroups()...)
	})
	slices.Sort(lines)

	return strings.Join(append(lines, ""), "\n")
}

// lines collects the lines about one resource.
type lines struct {
	about string
	all   []string
}

func (l *lines) add(format string, args ...any) {
	l.all = append(l.all, l.about+": "+fmt.Sprintf(format, args...))
}

func (l *lines) tags(tags map[string]string) {
	for key, value := range tags {
		l.add("tag %s=%s", key, value)
	}
}

func (c *Cloud) dumpClassic(b *classicBalancer) []string {
	out := lines{about: "load-balancer classic " + b.Name}
	out.add("%s", b.Scheme)
	out.add("subnets %s", c.labels(b.Subnets))
	out.add("security groups %s", c.labels(b.SecurityGroups))
	for _, l := range b.Listeners {
		out.add("listener %s %d -> %s %d certificate %q policies %v", l.Protocol, l.Port, l.InstanceProtocol, l.InstancePort, l.Certificate, l.Policies)
	}
	out.add("health check %+v", b.HealthCheck)
	out.add("attributes %+v", b.Attributes)
	for _, id := range b.Instances {
		out.add("instance %s", c.label(id))
	}
	for name, policy := range b.Policies {
		out.add("policy %s %s %v", name, policy.Type, policy.Attributes)
	}
	for port, names := range b.BackendPolicies {
		out.add("backend %d policies %v", port, names)
	}
	out.tags(b.Tags)

	return out.all
}

func (c *Cloud) dumpNetwork(n *network) []string {
	out := lines{about: "load-balancer network " + n.name}
	out.add("%s", n.scheme)
	for _, m := range n.mappings {
		out.add("subnet %s allocation %q address %q", c.label(m.Subnet), c.label(m.Allocation), m.PrivateIPv4)
	}
	out.add("security groups %s", c.labels(n.groups))
	byDefault := defaultNetworkAttributes(n.scheme)
	for key, value := range n.attributes {
		if value != byDefault[key] {
			out.add("attribute %s=%s", key, value)
		}
	}
	for _, l := range c.listenersOf(n.arn) {
		out.add("listener %s %d -> %s certificates %q policy %q", l.protocol, l.port, c.balancers.groups[l.group].name, l.certificates, l.policy)
		for key, value := range l.tags {
			out.add("listener %s %d tag %s=%s", l.protocol, l.port, key, value)
		}
	}
	out.tags(n.tags)

	return out.all
}

func (c *Cloud) dumpTargetGroup(g *targetGroup) []string {
	out := lines{about: "target-group " + g.name}
	out.add("%s %d", g.protocol, g.port)
	out.add("health check %+v", g.check)
	byDefault := defaultGroupAttributes(g.protocol)
	for key, value := range g.attributes {
		if value != byDefault[key] {
			out.add("attribute %s=%s", key, value)
		}
	}
	for t, r := range g.targets {
		if !r.draining {
			out.add("target %s %d", c.label(t.ID), t.Port)
		}
	}
	out.tags(g.tags)

	return out.all
}

// dumpGroups returns the security groups with their rules, as load balancers
// and the nodes behind them have them.
func (c *Cloud) dumpGroups() []string {
	var all []string
	for _, g := range c.ec2.groups.all() {
		out := lines{about: "security-group " + c.label(g.id)}
		out.add("%s", g.description)
		for _, r := range g.rules {
			out.add("rule %s %d-%d from %s (%s)", r.protocol, r.from, r.to, c.label(r.source), r.description)
		}
		out.tags(g.tags)
		all = append(all, out.all...)
	}

	return all
}

// label returns the name of what has the ID, or the ID.
func (c *Cloud) label(id string) string {
	if g := c.group(id); g != nil {
		return g.name
	}
	if a := c.allocation(id); a != nil {
		return a.publicIP.String()
	}
	var tags map[string]string
	if i := c.instance(id); i != nil {
		tags = i.tags
	} else if s := c.subnet(id); s != nil {
		tags = s.tags
	}
	if name := tags["Name"]; name != "" {
		return name
	}

	return id
}

func (c *Cloud) labels(ids []string) string {
	names := make([]string, 0, len(ids))
	for _, id := range ids {
		names = append(names, c.label(id))
	}
	slices.Sort(names)

	return strings.Join(names, ", ")
}
