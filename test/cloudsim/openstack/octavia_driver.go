package openstack

import (
	"net/http"
	"net/netip"
	"slices"
)

// The providers: amphora and octavia are two names of the driver with virtual
// machines, ovn is the one without.
const (
	providerAmphora = "amphora"
	providerOctavia = "octavia"
	providerOVN     = "ovn"
)

// providersOf returns the providers of a cloud, the default one first.
func (c *Cloud) providersOf(s *octaviaState) []string {
	switch {
	case s.rules.providers != nil:
		return s.rules.providers
	case c.opts.Profile == OVN:
		return []string{providerOVN}
	}

	return []string{providerAmphora, providerOctavia}
}

// lbProvider returns the provider of a new load balancer, after its flavor and zone
// have been checked. The flavor decides, and has to agree with the request (octavia:
// api/v2/controllers/load_balancer.py, _get_provider).
func (k *call) lbProvider(values object) (string, error) {
	state := k.region.octavia
	provider, _ := values["provider"].(string)
	if id, ok := values["flavor_id"].(string); ok {
		f := state.flavors.get(id)
		switch {
		case f == nil:
			return "", invalid("Invalid flavor_id.")
		case provider != "" && provider != f.Provider:
			return "", fail(http.StatusBadRequest, "", "Flavor '%s' is not compatible with provider '%s'", id, provider)
		}
		provider = f.Provider
	}
	if name, ok := values["availability_zone"].(string); ok {
		if state.zones.get(name) == nil {
			return "", invalid("Invalid availability zone.")
		}
	}
	enabled := k.cloud.providersOf(state)
	if provider == "" {
		provider = enabled[0]
	}
	switch {
	case !slices.Contains(enabled, provider):
		return "", fail(http.StatusBadRequest, "", "Provider '%s' is not enabled.", provider)
	case slices.Contains(state.rules.broken, provider):
		return "", fail(http.StatusNotImplemented, "", "Provider '%s' was not found.", provider)
	}

	return provider, nil
}

// driverLacks is the response to what a driver does not do: action is "a requested
// option" or "a requested action" (octavia: common/exceptions.py,
// ProviderUnsupportedOptionError).
func driverLacks(lb *lbObject, action, format string) *apiError {
	return fail(http.StatusNotImplemented, "", "Provider '%s' does not support %s: %s", lb.text("provider"), action, format)
}

func lacksOption(lb *lbObject, text string) error { return driverLacks(lb, "a requested option", text) }

// lbCheckZone refuses zones if the driver has none (octavia:
// api/v2/controllers/load_balancer.py, _validate_and_return_az_dict).
func (k *call) lbCheckZone(lb *lbObject) error {
	if lb.text("availability_zone") == "" || lb.text("provider") != providerOVN {
		return nil
	}
	k.region.octavia.remove(lb)

	return driverLacks(lb, "a requested action", "This provider does not support availability zones.")
}

// driverListener refuses listeners that the driver of OVN does not have: it has TCP, UDP
// and SCTP, and no allowed_cidrs; time-outs it ignores (ovn-octavia-provider:
// driver.py, _check_for_supported_protocols, _check_for_allowed_cidrs).
func driverListener(lb *lbObject, protocol string, values object) error {
	if lb.text("provider") != providerOVN {
		return nil
	}
	if !slices.Contains([]string{"TCP", "UDP", "SCTP"}, protocol) {
		return lacksOption(lb, "OVN provider does not support "+protocol+" protocol")
	}
	if list, _ := values["allowed_cidrs"].([]string); len(list) > 0 {
		return lacksOption(lb, "OVN provider does not support allowed_cidrs option")
	}

	return nil
}

// driverPool refuses algorithms, protocols and persistence that a driver has not. That
// with virtual machines does not look at the pools within a new load balancer
// (octavia: api/drivers/amphora_driver/v2/driver.py, AMPHORA_SUPPORTED_LB_ALGORITHMS;
// ovn-octavia-provider: driver.py, _check_for_supported_algorithms,
// _check_for_supported_session_persistence).
func driverPool(lb *lbObject, values object, within bool) error {
	algorithm, _ := values["lb_algorithm"].(string)
	if lb.text("provider") != providerOVN {
		if algorithm == "SOURCE_IP_PORT" && !within {
			return lacksOption(lb, "Amphora provider does not support SOURCE_IP_PORT algorithm.")
		}

		return nil
	}
	if algorithm != "" && algorithm != "SOURCE_IP_PORT" {
		return lacksOption(lb, "OVN provider does not support "+algorithm+" algorithm")
	}
	protocol, _ := values["protocol"].(string)
	if protocol != "" && !slices.Contains([]string{"TCP", "UDP", "SCTP"}, protocol) {
		return lacksOption(lb, "OVN provider does not support "+protocol+" protocol")
	}
	if persistence, ok := values["session_persistence"].(object); ok && persistence["type"] != "SOURCE_IP" {
		return lacksOption(lb, "OVN provider does not support "+pythonValue(persistence["type"], false)+" session persistence. Only SOURCE_IP type is supported")
	}

	return nil
}

// driverMonitor refuses monitors that a driver has not: OVN has TCP and UDP-CONNECT
// (ovn-octavia-provider: driver.py, _validate_hm_support).
func driverMonitor(lb *lbObject, kind string) error {
	if lb.text("provider") == providerOVN && kind != "TCP" && kind != "UDP-CONNECT" {
		return lacksOption(lb, "OVN provider does not support "+kind+" health monitor type. Supported types: UDP-CONNECT, TCP")
	}

	return nil
}

// driverMember refuses members that a driver has not (octavia:
// api/drivers/amphora_driver/v2/driver.py, _validate_members; ovn-octavia-provider:
// driver.py, _check_monitor_options, _ip_version_differs, member_create).
func (k *call) driverMember(p *lbObject, values object, within bool) error {
	lb := k.region.octavia.loadBalancers.get(p.lb)
	text, _ := values["address"].(string)
	if lb.text("provider") != providerOVN {
		packets := p.text("protocol") == "UDP" || p.text("protocol") == "SCTP"
		if packets && !within && text != "" && len(k.region.octavia.listenersOf(p)) > 0 && !lb.hasFamily(text) {
			return lacksOption(lb, "This provider doesn't support mixing IPv4 and IPv6 addresses for its VIP and members in "+
				p.text("protocol")+" load balancers.")
		}

		return nil
	}
	if values["monitor_address"] != nil || values["monitor_port"] != nil {
		return lacksOption(lb, "OVN provider does not support monitor options")
	}
	if text == "" {
		return nil
	}
	if !lb.hasFamily(text) {
		return lacksOption(lb, "OVN provider does not support mixing IPv4/IPv6 configuration within the same Load Balancer.")
	}
	in := k.region.neutron.subnets.get(lb.text("vip_subnet_id"))
	if values["subnet_id"] == nil && in != nil && !in.cidr.Contains(netip.MustParseAddr(text)) {
		return lacksOption(lb, "Subnet is required, or Loadbalancer should be created with a valid VIP Subnet, for Member creation with OVN Provider Driver")
	}

	return nil
}

// hasFamily reports whether a load balancer has a virtual IP address of the family of
// an address.
func (o *lbObject) hasFamily(text string) bool {
	is6 := netip.MustParseAddr(text).Is6()

	return slices.ContainsFunc(o.vips(), func(ip netip.Addr) bool { return ip.Is6() == is6 })
}
