package openstack

import (
	"net/netip"
	"slices"
	"strings"
)

// Accepts reports whether the security groups of the port with an address let traffic in:
// a protocol of layer 4, such as TCP, to a port number, from a source. A port without port
// security lets everything in, and so does an address that no port has.
func (c *Cloud) Accepts(address, protocol string, number int, source netip.Addr) bool {
	all := true
	c.inspect(func() {
		at := netip.AddrPortFrom(netip.MustParseAddr(address), uint16(number)) //nolint:gosec // it is the number of a port
		for _, r := range c.regions {
			all = accepts(r, at, protocol, source, func(*port) bool { return true }) && all
		}
	})

	return all
}

// accepts is [Cloud.Accepts] for the ports of a region that count.
func accepts(r *region, at netip.AddrPort, protocol string, source netip.Addr, counts func(*port) bool) bool {
	for _, p := range r.neutron.ports.all() {
		has := slices.ContainsFunc(p.fixedIPs, func(f fixedIP) bool { return f.ip == at.Addr() })
		if !has || p.insecure || !counts(p) {
			continue
		}
		isLetIn := slices.ContainsFunc(p.groups, func(group string) bool {
			return slices.ContainsFunc(r.neutron.rulesOf(group), func(rule *securityRule) bool {
				return rule.accepts(strings.ToLower(protocol), int(at.Port()), source)
			})
		})
		if !isLetIn {
			return false
		}
	}

	return true
}

// accepts reports whether a rule lets traffic in. Sources in other security groups are not
// evaluated: no load balancer is in one that tests know.
func (r *securityRule) accepts(protocol string, number int, source netip.Addr) bool {
	if r.direction != "ingress" || r.remoteGroup != "" || r.protocol != "" && r.protocol != protocol {
		return false
	}
	if r.portMin != nil && number < *r.portMin || r.portMax != nil && number > *r.portMax {
		return false
	}
	if (r.ethertype == "IPv4") != source.Is4() {
		return false
	}
	prefix, err := netip.ParsePrefix(r.remotePrefix)

	return r.remotePrefix == "" || err == nil && prefix.Contains(source)
}
