package nsxt

import (
	"net/netip"
	"strings"
)

// checkStaticRoute refuses a route without a network or without next hops of its family.
func checkStaticRoute(_ *Cloud, o *object) error {
	network, err := netip.ParsePrefix(o.fields.text("network"))
	if err != nil {
		return invalid("network: %v", err)
	}
	hops := o.fields.objects("next_hops")
	if len(hops) == 0 {
		return invalid("next_hops are missing")
	}
	for _, hop := range hops {
		address, err := netip.ParseAddr(hop.text("ip_address"))
		if err != nil && len(hop.texts("scope")) == 0 {
			return invalid("next_hops: %v", err)
		}
		if err == nil && address.Is4() != network.Addr().Is4() {
			return invalid("next hop %s and network %s have different families", address, network)
		}
	}

	return nil
}

// tier1 returns the specification of a gateway by its path.
func (c *Cloud) tier1(path string) (Tier1, bool) {
	for _, t := range c.spec.Tier1s {
		if id, ok := strings.CutPrefix(path, "/infra/tier-1s/"); ok && id == t.ID {
			return t, true
		}
	}

	return Tier1{}, false
}
