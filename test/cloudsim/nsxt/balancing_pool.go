package nsxt

import (
	"net/netip"
	"slices"
)

// checkMonitor refuses a UDP monitor that sends or expects nothing ([SDK] LBUdpMonitorProfile).
func checkMonitor(_ *Cloud, o *object) error {
	if o.fields.text("resource_type") == "LBUdpMonitorProfile" && (o.fields.text("send") == "" || o.fields.text("receive") == "") {
		return invalid("send and receive are required")
	}

	return nil
}

// checkPool refuses members of two families ([docs] NSX-T 3.2, server pools), a group beside
// members ([SDK] LBPoolMemberGroup), and more than one active monitor.
func checkPool(c *Cloud, o *object) error {
	switch {
	case len(o.fields.texts("active_monitor_paths")) > 1 && !c.spec.SeveralMonitors:
		return invalid("only one active monitor can be configured")
	case len(o.fields.objects("members")) > 0 && o.fields.object("member_group") != nil:
		return invalid("members and member_group exclude each other")
	case !slices.Contains([]string{"", "LBSnatAutoMap", "LBSnatIpPool", "LBSnatDisabled"}, o.fields.object("snat_translation").text("type")):
		return invalid("snat_translation has an unknown type") // [SDK]
	}
	for _, member := range o.fields.objects("members") {
		if _, err := netip.ParseAddr(member.text("ip_address")); err != nil {
			return invalid("members: %v", err)
		}
	}

	return c.refuse(c.wrongPool(o))
}

func poolProblem(c *Cloud, o *object) *Alarm { return c.realized(c.wrongPool(o)) }

// wrongPool returns what is wrong with the family or the number of members, "" for nothing.
func (c *Cloud) wrongPool(o *object) string {
	if len(families(o)) > 1 {
		return "members have different families"
	}
	for _, v := range c.others("LBVirtualServer", o) {
		if v.fields.text("pool_path") != o.path {
			continue
		}
		if wrong := c.wrongVirtualServer(v, o); wrong != "" {
			return wrong
		}
	}

	return ""
}

// families returns whether members are IPv4, for each family that they have.
func families(pool *object) map[bool]bool {
	found := map[bool]bool{}
	for _, member := range pool.fields.objects("members") {
		if ip, err := netip.ParseAddr(member.text("ip_address")); err == nil {
			found[ip.Is4()] = true
		}
	}

	return found
}
