package aws

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// traffic is traffic to one port that must be allowed.
type traffic struct {
	protocol string // tcp or udp
	port     int32
	purpose  string
}

// BlockedTraffic returns the traffic that the security groups block on its way
// through the load balancers of a name: from clients to the load balancer, from
// the load balancer or through it to the registered instances, and its health
// checks. Clients are CIDRs; without any it is enough that some client is
// allowed. The result is empty when no traffic is blocked, sorted, and without
// IDs.
func (c *Cloud) BlockedTraffic(name string, clients ...string) (missing []string) {
	prefixes := make([]netip.Prefix, 0, len(clients))
	for _, client := range clients {
		prefixes = append(prefixes, must(netip.ParsePrefix(client)))
	}
	c.inspect(func() {
		if b := c.balancers.classics[name]; b != nil {
			missing = append(missing, c.classicBlocked(b, prefixes)...)
		}
		if n := c.networkByName(name); n != nil {
			missing = append(missing, c.networkBlocked(n, prefixes)...)
		}
	})
	slices.Sort(missing)

	return slices.Compact(missing)
}

func (t traffic) blocked(at, from string) string {
	return fmt.Sprintf("%s: %s %s %d from %s", at, t.purpose, t.protocol, t.port, from)
}

// classicBlocked: clients connect to the load balancer, and it to the instances.
func (c *Cloud) classicBlocked(b *classicBalancer, clients []netip.Prefix) []string {
	var missing []string
	var wanted []traffic
	for _, l := range b.Listeners {
		missing = append(missing, c.blockedClients(b.SecurityGroups, nil, clients, traffic{"tcp", l.Port, "traffic"}, "load balancer")...)
		wanted = append(wanted, traffic{"tcp", l.InstancePort, "traffic"})
	}
	if port, err := probePort(b.HealthCheck.Target); err == nil {
		wanted = append(wanted, traffic{"tcp", port, "health check"})
	}
	for _, id := range b.Instances {
		for _, t := range wanted {
			missing = append(missing, c.blockedBalancer(id, b.user, b.SecurityGroups, t)...)
		}
	}

	return missing
}

// networkBlocked: health checks come from the load balancer, and so does traffic
// when the target group does not preserve the address of the client.
func (c *Cloud) networkBlocked(n *network, clients []netip.Prefix) []string {
	var missing []string
	for _, l := range c.listenersOf(n.arn) {
		g := c.balancers.groups[l.group]
		protocols := transport(l.protocol)
		for _, protocol := range protocols {
			if n.grouped {
				missing = append(missing, c.blockedClients(n.groups, nil, clients, traffic{protocol, l.port, "traffic"}, "load balancer")...)
			}
		}
		for target, r := range g.targets {
			if r.draining {
				continue
			}
			probe := traffic{"tcp", target.Port, "health check"}
			if g.check.Port != "traffic-port" {
				_, _ = fmt.Sscan(g.check.Port, &probe.port) // checked when it was set
			}
			missing = append(missing, c.blockedBalancer(target.ID, n.arn, n.groups, probe)...)
			for _, protocol := range protocols {
				t := traffic{protocol, target.Port, "traffic"}
				if g.attributes["preserve_client_ip.enabled"] == "false" {
					missing = append(missing, c.blockedBalancer(target.ID, n.arn, n.groups, t)...)
				} else {
					missing = append(missing, c.blockedClients(c.nodeGroups(target.ID), n.groups, clients, t, c.label(target.ID))...)
				}
			}
		}
	}

	return missing
}

// transport returns the protocols of rules that allow a listener's traffic.
func transport(listener string) []string {
	switch listener {
	case "UDP":
		return []string{"udp"}
	case "TCP_UDP":
		return []string{"tcp", "udp"}
	}

	return []string{"tcp"}
}

func (c *Cloud) nodeGroups(id string) []string {
	if i := c.instance(id); i != nil {
		return c.groupsOf(i)
	}

	return nil
}

// blockedClients returns the clients that the groups block. Rules that name one
// of the groups via allow all traffic through these.
func (c *Cloud) blockedClients(groups, via []string, clients []netip.Prefix, t traffic, at string) []string {
	if len(clients) == 0 {
		if c.allowed(groups, t, func(r *rule) bool { return r.kind != fromGroup || r.names(via) }) {
			return nil
		}

		return []string{t.blocked(at, "any client")}
	}
	var missing []string
	for _, client := range clients {
		if !c.allowed(groups, t, func(r *rule) bool { return r.covers(client) || r.names(via) }) {
			missing = append(missing, t.blocked(at, client.String()))
		}
	}

	return missing
}

// blockedBalancer returns the traffic from the network interfaces of a load
// balancer that the groups of an instance block.
func (c *Cloud) blockedBalancer(id, user string, via []string, t traffic) []string {
	groups := c.nodeGroups(id)
	for _, eni := range c.interfacesFor(user) {
		from := netip.PrefixFrom(eni.addrs[0], eni.addrs[0].BitLen())
		if !c.allowed(groups, t, func(r *rule) bool { return r.covers(from) || r.names(via) }) {
			return []string{t.blocked(c.label(id), "load balancer")}
		}
	}

	return nil
}

// allowed reports whether a rule of the groups allows the traffic of a source.
func (c *Cloud) allowed(groups []string, t traffic, source func(*rule) bool) bool {
	for _, id := range groups {
		g := c.group(id)
		if g != nil && slices.ContainsFunc(g.rules, func(r *rule) bool { return r.opens(t) && source(r) }) {
			return true
		}
	}

	return false
}

func (r *rule) opens(t traffic) bool {
	if r.protocol == "-1" {
		return true
	}

	return strings.EqualFold(r.protocol, t.protocol) && r.from <= t.port && t.port <= r.to
}

// covers reports whether all of a source's addresses are in the rule's range.
func (r *rule) covers(source netip.Prefix) bool {
	if r.kind != fromIPv4 && r.kind != fromIPv6 {
		return false
	}
	own, err := netip.ParsePrefix(r.source)

	return err == nil && own.Bits() <= source.Bits() && own.Contains(source.Addr())
}

func (r *rule) names(groups []string) bool {
	return r.kind == fromGroup && slices.Contains(groups, r.source)
}
