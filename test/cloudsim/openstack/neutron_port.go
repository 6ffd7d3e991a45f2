package openstack

import (
	"net/http"
	"slices"
)

// ports are the ports of the API (neutron-lib: api/definitions/port.py and those of
// its extensions). A PUT changes only what the provider and the contract change.
var ports = &resource{
	single: "port", plural: "ports", sort: "Port",
	attributes: []attribute{
		nameAttribute, readOnly("status"),
		readOnly("network_id"), readOnly("mac_address"), readOnly("device_id"), readOnly("device_owner"), readOnly("binding:vnic_type"),
		{name: "fixed_ips", list: true},
		{name: "extra_dhcp_opts", list: true},
		{name: "admin_state_up", put: true},
		{name: "security_groups", check: isUUIDsOrNull, put: true, list: true},
		{name: "allowed_address_pairs", put: true, list: true},
		{name: "port_security_enabled", put: true},
		{name: "binding:host_id", admin: true},
		{name: "binding:profile", admin: true, list: true},
		{name: "binding:vif_type", admin: true, list: true},
		{name: "binding:vif_details", admin: true, list: true},
		{name: "trunk_details", list: true},
	},
}

func (p *port) document(s *neutronState) object {
	ips := []object{}
	for _, f := range p.fixedIPs {
		ips = append(ips, object{"subnet_id": f.subnetID, "ip_address": f.ip.String()})
	}
	pairs := []object{}
	for _, pair := range p.pairs {
		pairs = append(pairs, object{"ip_address": pair.ip, "mac_address": pair.mac})
	}
	vif := "unbound"
	if p.host != "" {
		vif = "ovs"
	}
	doc := p.standard.document().merge(object{
		"network_id": p.networkID, "mac_address": p.mac, "admin_state_up": !p.down, "status": p.status,
		"device_id": p.deviceID, "device_owner": p.owner, "fixed_ips": ips, "security_groups": append([]string{}, p.groups...),
		"allowed_address_pairs": pairs, "port_security_enabled": !p.insecure, "extra_dhcp_opts": []object{},
		"binding:vnic_type": p.vnicType, "binding:host_id": p.host, "binding:profile": object{},
		"binding:vif_type": vif, "binding:vif_details": object{},
	})
	if t := s.trunkOf(p.id); t != nil {
		doc["trunk_details"] = t.details(s)
	}

	return doc
}

// SetPortsOfOthers sets whether the owner of a network may read the ports of others in
// it, such as those that an administrator made for a server: by default it does and
// may delete but not change them (neutron: conf/policies/port.py, rule
// admin_owner_or_network_owner). Otherwise lists do not have them and they are 404,
// which is what releases Wallaby to Zed do with enforce_new_defaults; the response to
// a GET then has the port in spite of its status (tried with Zed).
func (c *Cloud) SetPortsOfOthers(visible bool) {
	c.inspect(func() {
		for _, r := range c.regions {
			r.neutron.private = !visible
		}
	})
}

// canReadPort reports whether the caller may look at a port.
func (k *call) canReadPort(p *port) bool {
	return k.caller.canRead(p.projectID) || (!k.region.neutron.private && k.ownsNetwork(p))
}

func (k *call) ownsNetwork(p *port) bool {
	return k.region.neutron.networks.get(p.networkID).projectID == k.caller.projectID
}

func (k *call) port(id string) (*port, error) {
	p := k.region.neutron.ports.get(id)
	switch {
	case p == nil || (!k.canReadPort(p) && !k.ownsNetwork(p)):
		return nil, missing("Port", id)
	case !k.canReadPort(p):
		return nil, k.service.missing
	}

	return p, nil
}

// listPorts makes rows only of the ports that have one of the wanted projects and devices:
// an administrator can read tens of thousands.
func listPorts(k *call) (response, error) {
	state := k.region.neutron
	rows := []object{}
	projects, devices := k.query["project_id"], k.query["device_id"]
	for _, p := range state.ports.where(k.canReadPort) {
		if len(projects) > 0 && !slices.Contains(projects, p.projectID) || len(devices) > 0 && !slices.Contains(devices, p.deviceID) {
			continue
		}
		rows = append(rows, p.document(state))
	}

	return ports.list(k, rows)
}

func showPort(k *call) (response, error) {
	id := k.path("id")
	if p := k.region.neutron.ports.get(id); p != nil && !k.canReadPort(p) && k.ownsNetwork(p) {
		result, err := ports.show(k, p.document(k.region.neutron))
		result.status = http.StatusNotFound

		return result, err
	}
	p, err := k.port(id)
	if err != nil {
		return response{}, err
	}

	return ports.show(k, p.document(k.region.neutron))
}

// protectedOwners are the device owners of ports that belong to routers and
// floating IPs, and are deleted with those (neutron: db/l3_db.py,
// prevent_l3_port_deletion). Those of load balancers are none of them.
var protectedOwners = []string{
	ownerInterface, ownerGateway, ownerFloatingIP,
}

// Device owners (neutron-lib: constants.py).
const (
	ownerInterface  = "network:router_interface"
	ownerGateway    = "network:router_gateway"
	ownerFloatingIP = "network:floatingip"
	ownerSubport    = "trunk:subport"
)

func deletePort(k *call) (response, error) {
	p, err := k.port(k.path("id"))
	if err != nil {
		return response{}, err
	}
	state := k.region.neutron
	if err := k.revise(p.revision); err != nil {
		return response{}, err
	}
	if slices.Contains(protectedOwners, p.owner) {
		return response{}, conflict("ServicePortInUse",
			"Port %s cannot be deleted directly via the port API: has device owner %s.", p.id, p.owner)
	}
	if t := state.trunkOf(p.id); t != nil {
		return response{}, conflict("PortInUseAsTrunkParent", "Port %s is currently a parent port for trunk %s.", p.id, t.id)
	}
	if t := state.trunkWith(p.id); t != nil {
		return response{}, conflict("PortInUseAsSubPort", "Port %s is currently a subport for trunk %s.", p.id, t.id)
	}
	k.cloud.removePort(k.region, p)

	return response{status: http.StatusNoContent}, nil
}

// removePort removes a port with its addresses and the associations of its floating
// IPs, which stay (neutron: db/l3_db.py, disassociate_floatingips).
func (c *Cloud) removePort(r *region, p *port) {
	state := r.neutron
	for _, f := range state.floatingIPs.all() {
		if f.portID == p.id {
			f.disassociate()
			f.touch(c.now())
		}
	}
	state.release(p)
	state.clearDevice(p)
	state.ports.remove(p.id)
	c.portsChanged(r, p.deviceID)
}

// newMAC returns a MAC address that no other port has (neutron: conf/common.py,
// base_mac).
func (c *Cloud) newMAC() string {
	const odd = 0x9e3779 // so that different numbers have different products
	n := c.ids.Next("mac") * odd
	hex := "0123456789abcdef"
	mac := []byte("fa:16:3e")
	for shift := 20; shift >= 0; shift -= 4 {
		if shift%8 == 4 {
			mac = append(mac, ':')
		}
		mac = append(mac, hex[n>>shift&15])
	}

	return string(mac)
}
