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
	var accepts bool
	c.inspect(func() { accepts = c.accepts(address, protocol, number, source) })

	return accepts
}

func (c *Cloud) accepts(address, protocol string, number int, source netip.Addr) bool {
	accepts := true
	for _, r := range c.regions {
		for _, p := range r.neutron.ports.all() {
			has := slices.ContainsFunc(p.fixedIPs, func(f fixedIP) bool { return f.ip.String() == address })
			if !has || p.insecure {
				continue
			}
			accepts = slices.ContainsFunc(p.groups, func(group string) bool {
				return slices.ContainsFunc(r.neutron.rulesOf(group), func(rule *securityRule) bool {
					return rule.accepts(strings.ToLower(protocol), number, source)
				})
			})
		}
	}

	return accepts
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
