package nsxt

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// checkVirtualServer refuses one without address, ports or profile ([SDK]), or with the port
// of another one.
func checkVirtualServer(c *Cloud, o *object) error {
	if _, err := netip.ParseAddr(o.fields.text("ip_address")); err != nil {
		return invalid("ip_address: %v", err)
	}
	if o.fields.text("application_profile_path") == "" {
		return invalid("application_profile_path is required")
	}
	ports := o.fields.texts("ports")
	if len(ports) == 0 {
		return invalid("ports are required")
	}
	for _, port := range ports {
		if _, _, err := portRange(port); err != nil {
			return invalid("ports: %v", err)
		}
	}
	for _, other := range c.others("LBVirtualServer", o) {
		if other != o && !c.spec.SharedPorts && c.overlap(o, other) {
			return invalid("the ports are those of %s", other.path)
		}
	}

	return c.refuse(c.wrongVirtualServer(o, o))
}

func virtualServerProblem(c *Cloud, o *object) *Alarm {
	if service := c.state.objects[o.fields.text("lb_service_path")]; service != nil {
		if alarm := c.alarmOf(service); alarm != nil {
			return alarm
		}
	}

	return c.realized(c.wrongVirtualServer(o, o))
}

// wrongVirtualServer returns what is wrong with the family of a virtual server or with the
// size of its service after a change, "" for nothing.
func (c *Cloud) wrongVirtualServer(o, changed *object) string {
	ip, err := netip.ParseAddr(o.fields.text("ip_address"))
	if pool := c.at(o.fields.text("pool_path"), changed); err == nil && pool != nil && families(pool)[!ip.Is4()] {
		return "virtual server and pool members have different families"
	}
	if service := c.state.objects[o.fields.text("lb_service_path")]; service != nil {
		return c.exceeded(service, changed)
	}

	return ""
}

// overlap reports whether two virtual servers of a service have an address, a protocol and a
// port in common.
func (c *Cloud) overlap(a, b *object) bool {
	for _, field := range []string{"lb_service_path", "ip_address"} {
		if a.fields.text(field) == "" || a.fields.text(field) != b.fields.text(field) {
			return false
		}
	}
	if c.protocol(a) != c.protocol(b) {
		return false
	}
	for _, one := range a.fields.texts("ports") {
		for _, other := range b.fields.texts("ports") {
			low, high, _ := portRange(one)     // checked before
			first, last, _ := portRange(other) // checked before
			if low <= last && first <= high {
				return true
			}
		}
	}

	return false
}

// protocol returns that of a virtual server, which its profile has.
func (c *Cloud) protocol(o *object) string {
	profile := c.state.objects[o.fields.text("application_profile_path")]
	if profile != nil && profile.fields.text("resource_type") == fastUDP {
		return "UDP"
	}

	return "TCP"
}

// portRange reads a port, or a range such as "80-90".
func portRange(text string) (first, last int, err error) {
	from, to, ok := strings.Cut(text, "-")
	first, err = strconv.Atoi(from)
	last = first
	if ok && err == nil {
		last, err = strconv.Atoi(to)
	}
	if err == nil && (first < 1 || last > 65535 || last < first) {
		err = fmt.Errorf("%s is no port", text)
	}

	return first, last, err
}
