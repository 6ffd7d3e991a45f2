package openstack

import (
	"net/http"
	"slices"
	"strings"
)

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

// adminNetwork are the attributes that users must not set.
var adminNetwork = []string{
	"shared", "router:external", "is_default", "provider:network_type", "provider:physical_network", "provider:segmentation_id",
}

func createNetwork(k *call) (response, error) {
	return networks.create(k, func(a attributes) (object, error) {
		if err := k.forbid("create_network", a, adminNetwork); err != nil {
			return nil, err
		}
		state, project := k.region.neutron, k.owner(a)
		used := len(state.networks.where(func(n *network) bool { return n.projectID == project }))
		if exceeds(k.cloud.quotasOf(project).Networks, used, 1) {
			return nil, overQuota("network")
		}
		n := &network{standard: k.cloud.newStandard("network", "", project), mtu: 1450, kind: "vxlan"}
		n.segment = 100 + state.networks.len()
		n.apply(a)
		state.networks.put(n.id, n)

		return networks.visible(k, n.document(state)), nil
	})
}

func (n *network) apply(a attributes) {
	a.setText("name", &n.name)
	a.setText("description", &n.description)
	a.setText("provider:network_type", &n.kind)
	a.setText("provider:physical_network", &n.physical)
	_ = a.read("mtu", &n.mtu)
	_ = a.read("provider:segmentation_id", &n.segment)
	n.down = !a.truth("admin_state_up", !n.down)
	n.shared = a.truth("shared", n.shared)
	n.external = a.truth("router:external", n.external)
	n.isDefault = a.truth("is_default", n.isDefault)
	n.noPortSecurity = !a.truth("port_security_enabled", !n.noPortSecurity)
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

func updateNetwork(k *call) (response, error) {
	n, err := k.ownNetwork("update_network")
	if err != nil {
		return response{}, err
	}
	a, err := networks.change(k)
	if err != nil {
		return response{}, err
	}
	if err := k.forbid("update_network", a, adminNetwork); err != nil {
		return response{}, err
	}
	if err := k.revise(n.revision); err != nil {
		return response{}, err
	}
	n.apply(a)
	n.touch(k.now())

	return networks.show(k, n.document(k.region.neutron))
}

// ownNetwork returns the network that the path names, when the caller may change it.
func (k *call) ownNetwork(rule string) (*network, error) {
	n, err := k.network(k.path("id"))
	if err != nil {
		return nil, err
	}
	if !k.caller.canRead(n.projectID) {
		return nil, notAllowed(rule)
	}

	return n, nil
}

// deleteNetwork deletes a network without ports, and its subnets with it.
func deleteNetwork(k *call) (response, error) {
	n, err := k.ownNetwork("delete_network")
	if err != nil {
		return response{}, err
	}
	state := k.region.neutron
	if err := k.revise(n.revision); err != nil {
		return response{}, err
	}
	if used := byID(state.portsIn(n.id), func(p *port) string { return p.id }); len(used) > 0 {
		return response{}, conflict("NetworkInUse",
			"Unable to complete operation on network %s. There are one or more ports still in use on the network, id for these ports is: %s.",
			n.id, idList(used))
	}
	for _, in := range state.subnetsOf(n.id) {
		state.subnets.remove(in.id)
	}
	state.networks.remove(n.id)

	return response{status: http.StatusNoContent}, nil
}

func idList(ports []*port) string {
	ids := make([]string, len(ports))
	for i, p := range ports {
		ids[i] = p.id
	}

	return strings.Join(ids, ",")
}

// inUse reports whether ports have addresses in a subnet.
func (s *neutronState) inUse(subnetID string) bool {
	return slices.ContainsFunc(s.ports.all(), func(p *port) bool {
		return slices.ContainsFunc(p.fixedIPs, func(f fixedIP) bool { return f.subnetID == subnetID })
	})
}
