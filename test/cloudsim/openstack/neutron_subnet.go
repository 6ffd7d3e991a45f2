package openstack

import (
	"net/http"
	"net/netip"
)

// subnets are the subnets of the API (neutron-lib: api/definitions/subnet.py).
var subnets = &resource{
	single: "subnet", plural: "subnets", sort: "Subnet",
	attributes: []attribute{
		nameAttribute,
		{name: "network_id", check: isUUID, post: true, need: true},
		{name: "ip_version", post: true, need: true},
		{name: "cidr", check: isText, post: true},
		{name: "gateway_ip", check: isIP, post: true, put: true},
		{name: "allocation_pools", post: true, put: true, list: true},
		{name: "enable_dhcp", post: true, put: true},
		{name: "ipv6_ra_mode", post: true},
		{name: "ipv6_address_mode", post: true},
		{name: "dns_nameservers", post: true, put: true, list: true},
		{name: "host_routes", post: true, put: true, list: true},
		{name: "service_types", post: true, put: true, list: true},
		{name: "subnetpool_id", check: isUUIDOrNull, post: true},
	},
}

func (n *subnet) document() object {
	pools := []object{}
	for _, pool := range n.pools {
		pools = append(pools, object{"start": pool.first.String(), "end": pool.last.String()})
	}
	version := 4
	if n.cidr.Addr().Is6() {
		version = 6
	}
	doc := n.standard.document().merge(object{
		"network_id": n.networkID, "ip_version": version, "cidr": n.cidr.String(), "gateway_ip": nil, "allocation_pools": pools,
		"enable_dhcp": !n.noDHCP, "ipv6_ra_mode": orNil(n.raMode), "ipv6_address_mode": orNil(n.mode), "subnetpool_id": nil,
		"dns_nameservers": append([]string{}, n.dns...), "host_routes": append([]object{}, n.hostRoutes...), "service_types": []string{},
	})
	if n.gateway.IsValid() {
		doc["gateway_ip"] = n.gateway.String()
	}

	return doc
}

// subnet returns the subnet with an ID, when the caller may see it: subnets of
// external networks are not visible to those who do not own them (neutron:
// conf/policies/subnet.py, get_subnet).
func (k *call) subnet(id string) (*subnet, error) {
	if n := k.region.neutron.visibleSubnet(id, k.caller.projectID, k.caller.admin()); n != nil {
		return n, nil
	}

	return nil, missing("Subnet", id)
}

func listSubnets(k *call) (response, error) {
	state := k.region.neutron
	rows := []object{}
	for _, n := range state.subnets.all() {
		if state.visibleSubnet(n.id, k.caller.projectID, k.caller.admin()) != nil {
			rows = append(rows, n.document())
		}
	}

	return subnets.list(k, rows)
}

func showSubnet(k *call) (response, error) {
	n, err := k.subnet(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return subnets.show(k, n.document())
}

func createSubnet(k *call) (response, error) {
	return subnets.create(k, func(a attributes) (object, error) {
		in, err := k.network(a.text("network_id"))
		if err != nil {
			return nil, err
		}
		project := k.owner(a)
		if !k.caller.canRead(in.projectID) && !in.shared {
			return nil, fail(http.StatusForbidden, "HTTPForbidden", "Tenant %s not allowed to create subnet on this network", k.caller.projectID)
		}
		state := k.region.neutron
		used := len(state.subnets.where(func(n *subnet) bool { return n.projectID == project }))
		if exceeds(k.cloud.quotasOf(project).Subnets, used, 1) {
			return nil, overQuota("subnet")
		}
		n := &subnet{standard: k.cloud.newStandard("subnet", a.text("name"), project), networkID: in.id}
		n.revision = 0
		if err := n.setPrefix(state, a); err != nil {
			return nil, err
		}
		if err := n.apply(a); err != nil {
			return nil, err
		}
		state.subnets.put(n.id, n)
		in.touch(k.now())

		return subnets.visible(k, n.document()), nil
	})
}

// setPrefix sets the prefix and the modes of a new subnet, and the defaults that
// follow from them: the gateway is the first host address, or the first address of
// all with IPv6 (neutron: ipam/utils.py, generate_gateway_ip; tried with Zed).
func (n *subnet) setPrefix(s *neutronState, a attributes) error {
	text := a.text("cidr")
	if text == "" {
		return fail(http.StatusBadRequest, "BadRequest", "Bad subnets request: a subnetpool must be specified in the absence of a cidr.")
	}
	cidr, err := netip.ParsePrefix(text)
	if err != nil {
		return invalidInput("%s is not in a CIDR format", text)
	}
	version := python(a["ip_version"])
	if (version == "6") != cidr.Addr().Is6() {
		return invalidInput("cidr '%s' does not match the ip_version '%s'", text, version)
	}
	for _, other := range s.subnetsOf(n.networkID) {
		if other.cidr.Overlaps(cidr) {
			return invalidInput("Requested subnet with cidr: %s for network: %s overlaps with another subnet", text, n.networkID)
		}
	}
	n.cidr = cidr.Masked()
	n.raMode, n.mode = a.text("ipv6_ra_mode"), a.text("ipv6_address_mode")
	n.gateway = n.cidr.Addr()
	if n.gateway.Is4() {
		n.gateway = n.gateway.Next()
	}
	if a.has("gateway_ip") {
		n.gateway, _ = netip.ParseAddr(a.text("gateway_ip"))
	}
	n.pools = standardPools(n.cidr, n.gateway)

	return nil
}

// apply sets what may change.
func (n *subnet) apply(a attributes) error {
	gateway := n.gateway
	if a.has("gateway_ip") {
		gateway, _ = netip.ParseAddr(a.text("gateway_ip"))
	}
	pools, err := n.wantedPools(a)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		if pool.contains(gateway) {
			return conflict("GatewayConflictWithAllocationPools", "Gateway ip %s conflicts with allocation pool %s-%s.",
				gateway, pool.first, pool.last)
		}
	}
	n.gateway, n.pools = gateway, pools
	a.setText("name", &n.name)
	a.setText("description", &n.description)
	n.noDHCP = !a.truth("enable_dhcp", !n.noDHCP)
	readNew(a, "dns_nameservers", &n.dns)
	readNew(a, "host_routes", &n.hostRoutes)

	return nil
}

func (n *subnet) wantedPools(a attributes) ([]addressRange, error) {
	var wanted []struct{ Start, End netip.Addr }
	if !a.has("allocation_pools") || a.null("allocation_pools") {
		return n.pools, nil
	}
	if err := a.read("allocation_pools", &wanted); err != nil {
		return nil, badRequest("Invalid input for allocation_pools. Reason: Invalid data format for IP pool: '%s'.", python(a["allocation_pools"]))
	}
	pools := []addressRange{}
	for _, pool := range wanted {
		if !n.cidr.Contains(pool.Start) || !n.cidr.Contains(pool.End) {
			return nil, fail(http.StatusBadRequest, "OutOfBoundsAllocationPool", "The allocation pool %s-%s spans beyond the subnet cidr %s.", pool.Start, pool.End, n.cidr)
		}
		if pool.End.Less(pool.Start) {
			return nil, fail(http.StatusBadRequest, "InvalidAllocationPool", "The allocation pool {'start': '%s', 'end': '%s'} is not valid.", pool.Start, pool.End)
		}
		pools = append(pools, addressRange{pool.Start, pool.End})
	}

	return pools, nil
}

// ownSubnet returns the subnet that the path names, when the caller may change it.
func (k *call) ownSubnet(rule string) (*subnet, error) {
	n, err := k.subnet(k.path("id"))
	if err != nil {
		return nil, err
	}
	if !k.caller.canRead(n.projectID) && !k.caller.canRead(k.region.neutron.networks.get(n.networkID).projectID) {
		return nil, notAllowed(rule)
	}

	return n, k.revise(n.revision)
}

func updateSubnet(k *call) (response, error) {
	n, err := k.ownSubnet("update_subnet")
	if err != nil {
		return response{}, err
	}
	a, err := subnets.change(k)
	if err != nil {
		return response{}, err
	}
	if err := n.apply(a); err != nil {
		return response{}, err
	}
	n.touch(k.now())

	return subnets.show(k, n.document())
}

func deleteSubnet(k *call) (response, error) {
	n, err := k.ownSubnet("delete_subnet")
	if err != nil {
		return response{}, err
	}
	state := k.region.neutron
	if state.inUse(n.id) {
		return response{}, conflict("SubnetInUse",
			"Unable to complete operation on subnet %s: One or more ports have an IP allocation from this subnet.", n.id)
	}
	state.subnets.remove(n.id)

	return response{status: http.StatusNoContent}, nil
}
