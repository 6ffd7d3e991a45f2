package openstack

// networks are the networks of the API (neutron-lib: api/definitions/network.py).
var networks = &resource{
	single: "network", plural: "networks", sort: "Network",
	attributes: []attribute{
		nameAttribute, readOnly("status"),
		{name: "subnets", list: true},
		{name: "admin_state_up", post: true, put: true},
		{name: "shared", post: true, put: true},
		{name: "router:external", post: true, put: true},
		{name: "is_default", post: true, put: true},
		{name: "port_security_enabled", post: true, put: true},
		{name: "mtu", post: true, put: true},
		{name: "availability_zones", list: true},
		{name: "availability_zone_hints", list: true, post: true},
		hidden("provider:network_type"), hidden("provider:physical_network"), hidden("provider:segmentation_id"),
	},
}

func (n *network) document(s *neutronState) object {
	subnets := []string{}
	for _, in := range s.subnetsOf(n.id) {
		subnets = append(subnets, in.id)
	}
	doc := n.standard.document().merge(object{
		"admin_state_up": !n.down, "status": "ACTIVE", "shared": n.shared, "router:external": n.external, "mtu": n.mtu,
		"port_security_enabled": !n.noPortSecurity, "subnets": subnets, "availability_zones": []string{},
		"availability_zone_hints": []string{}, "ipv4_address_scope": nil, "ipv6_address_scope": nil,
		"provider:network_type": n.kind, "provider:physical_network": orNil(n.physical), "provider:segmentation_id": nil,
	})
	if n.segment != 0 {
		doc["provider:segmentation_id"] = n.segment
	}
	if n.external {
		doc["is_default"] = n.isDefault
	}

	return doc
}

// network returns the network that the path names, when the caller may see it.
func (k *call) network(id string) (*network, error) {
	if n := k.region.neutron.visibleNetwork(id, k.caller.projectID, k.caller.admin()); n != nil {
		return n, nil
	}

	return nil, missing("Network", id)
}

func listNetworks(k *call) (response, error) {
	state := k.region.neutron
	rows := []object{}
	for _, n := range state.networks.all() {
		if state.visibleNetwork(n.id, k.caller.projectID, k.caller.admin()) != nil {
			rows = append(rows, n.document(state))
		}
	}

	return networks.list(k, rows)
}

func showNetwork(k *call) (response, error) {
	n, err := k.network(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return networks.show(k, n.document(k.region.neutron))
}

// forbid refuses attributes that only administrators may set.
func (k *call) forbid(rule string, a attributes, names []string) error {
	if k.caller.admin() {
		return nil
	}
	var given []string
	for _, name := range names {
		if a.has(name) {
			given = append(given, name)
		}
	}
	if len(given) > 0 {
		return notAllowed(rule, given...)
	}

	return nil
}
