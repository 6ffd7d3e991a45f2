package openstack

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
