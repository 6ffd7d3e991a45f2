package openstack

import (
	"net/http"
	"net/netip"
	"slices"
)

// floatingIPs are the floating IPs of the API (neutron-lib:
// api/definitions/l3.py).
var floatingIPs = &resource{
	single: "floatingip", plural: "floatingips", sort: "Floating IP",
	attributes: []attribute{
		readOnly("status"), readOnly("router_id"),
		{name: "port_details", list: true},
		{name: "floating_network_id", check: isUUID, post: true, need: true},
		{name: "floating_ip_address", check: isIP, post: true},
		{name: "subnet_id", check: isUUIDOrNull, post: true},
		{name: "port_id", check: isUUIDOrNull, post: true, put: true},
		{name: "fixed_ip_address", check: isIP, post: true, put: true},
	},
}

func (f *floatingIP) document(s *neutronState) object {
	doc := f.standard.document().merge(object{
		"floating_network_id": f.networkID, "floating_ip_address": f.address.String(), "router_id": orNil(f.routerID),
		"port_id": orNil(f.portID), "fixed_ip_address": nil, "status": f.status, "port_details": nil,
	})
	delete(doc, "name")
	if f.fixed.IsValid() {
		doc["fixed_ip_address"] = f.fixed.String()
	}
	if p := s.ports.get(f.portID); p != nil {
		doc["port_details"] = object{
			"name": p.name, "network_id": p.networkID, "mac_address": p.mac, "admin_state_up": !p.down, "status": p.status,
			"device_id": p.deviceID, "device_owner": p.owner,
		}
	}

	return doc
}

// disassociate removes the association with a port.
func (f *floatingIP) disassociate() {
	f.portID, f.routerID, f.fixed, f.status = "", "", netip.Addr{}, "DOWN"
}

func (k *call) floatingIP(id string) (*floatingIP, error) {
	f := k.region.neutron.floatingIPs.get(id)
	if f == nil || !k.caller.canRead(f.projectID) {
		return nil, missing("Floating IP", id)
	}

	return f, nil
}

func listFloatingIPs(k *call) (response, error) {
	rows := []object{}
	for _, f := range k.region.neutron.floatingIPs.all() {
		if k.caller.canRead(f.projectID) {
			rows = append(rows, f.document(k.region.neutron))
		}
	}

	return floatingIPs.list(k, rows)
}

func showFloatingIP(k *call) (response, error) {
	f, err := k.floatingIP(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return floatingIPs.show(k, f.document(k.region.neutron))
}

// createFloatingIP allocates an address and associates it, or does neither (neutron:
// db/l3_db.py, _create_floatingip). Which errors come first is as tried with Zed.
func createFloatingIP(k *call) (response, error) {
	return floatingIPs.create(k, func(a attributes) (object, error) {
		if err := k.forbid("create_floatingip", a, []string{"floating_ip_address"}); err != nil {
			return nil, err
		}
		state, project := k.region.neutron, k.owner(a)
		used := len(state.floatingIPs.where(func(f *floatingIP) bool { return f.projectID == project }))
		if exceeds(k.cloud.quotasOf(project).FloatingIPs, used, 1) {
			return nil, overQuota("floatingip")
		}
		in, err := k.externalNetwork(a.text("floating_network_id"))
		if err != nil {
			return nil, err
		}
		f := &floatingIP{standard: k.cloud.newStandard("floating IP", "", project), networkID: in.id, status: "DOWN"}
		f.revision, f.description = 0, a.text("description")
		ip, _ := netip.ParseAddr(a.text("floating_ip_address"))
		if err := k.cloud.holdAddress(k.region, f, a.text("subnet_id"), ip); err != nil {
			return nil, err
		}
		if err := k.associate(f, a); err != nil {
			k.cloud.removePort(k.region, state.ports.get(f.holder))

			return nil, err
		}
		state.floatingIPs.put(f.id, f)
		k.cloud.floatingIPChanged(k.region, f, "")

		return floatingIPs.visible(k, f.document(state)), nil
	})
}

// externalNetwork returns the network that a floating IP is to be from.
func (k *call) externalNetwork(id string) (*network, error) {
	in, err := k.network(id)
	if err != nil {
		return nil, err
	}
	if !in.external {
		return nil, badFloatingIP("Network " + in.id + " is not a valid external network")
	}
	v4 := func(n *subnet) bool { return n.cidr.Addr().Is4() }
	if slices.ContainsFunc(k.region.neutron.subnetsOf(in.id), v4) {
		return in, nil
	}
	if k.cloud.opts.Profile == Bare { // neutron-lib: exceptions, ExternalIpAddressExhausted
		return nil, fail(http.StatusBadRequest, "ExternalIpAddressExhausted", "Unable to find any IP address on external network %s.", in.id)
	}

	return nil, badFloatingIP("Network " + in.id + " does not contain any IPv4 subnet")
}

func badFloatingIP(text string) *apiError {
	return fail(http.StatusBadRequest, "BadRequest", "Bad floatingip request: %s.", text)
}

// holdAddress gives a floating IP its address, which a port without project holds
// in the external network. Addresses are IPv4.
func (c *Cloud) holdAddress(r *region, f *floatingIP, subnetID string, ip netip.Addr) error {
	state := r.neutron
	p := &port{
		standard: c.newStandard("port", "", ""), networkID: f.networkID, mac: c.newMAC(), status: "N/A", insecure: true,
		vnicType: "normal", owner: ownerFloatingIP,
	}
	p.service = true
	v4 := slices.DeleteFunc(state.subnetsOf(f.networkID), func(n *subnet) bool { return n.cidr.Addr().Is6() })
	var ips []fixedIP
	var err error
	switch {
	case subnetID != "" || ip.IsValid():
		ips, err = state.wantedAddresses(p, state.subnetsOf(f.networkID), []wantedIP{{subnetID, ip}})
	default:
		ips, err = state.anyAddresses(p, v4)
	}
	if err != nil {
		return err
	}
	if len(ips) == 0 {
		return noAddress(f.networkID)
	}
	p.fixedIPs = state.lease(p, ips)
	state.ports.put(p.id, p)
	state.setDevice(p, f.id, p.owner)
	f.address, f.subnetID, f.holder = ips[0].ip, ips[0].subnetID, p.id

	return nil
}

// associate associates a floating IP as a request asks (neutron: db/l3_db.py,
// _get_assoc_data and _check_and_get_fip_assoc).
func (k *call) associate(f *floatingIP, a attributes) error {
	id := a.text("port_id")
	fixed, _ := netip.ParseAddr(a.text("fixed_ip_address"))
	if id == "" {
		if fixed.IsValid() {
			return badFloatingIP("fixed_ip_address cannot be specified without a port_id")
		}
		f.disassociate()

		return nil
	}
	p, err := k.port(id)
	if err != nil {
		return err
	}
	ip, subnetID, err := p.fixedIPFor(fixed)
	if err != nil {
		return err
	}
	router := k.region.neutron.routerBetween(subnetID, f.networkID)
	if router == nil {
		return fail(http.StatusNotFound, "ExternalGatewayForFloatingIPNotFound",
			"External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s with a Floating IP.", f.networkID, subnetID, p.id)
	}
	for _, other := range k.region.neutron.floatingIPs.all() {
		if other.id != f.id && other.portID == p.id && other.fixed == ip && other.networkID == f.networkID {
			return conflict("FloatingIPPortAlreadyAssociated", "Cannot associate floating IP %s (%s) with port %s using fixed IP %s, "+
				"as that fixed IP already has a floating IP on external network %s.", f.address, f.id, p.id, ip, f.networkID)
		}
	}
	f.portID, f.fixed, f.routerID, f.status = p.id, ip, router.id, "ACTIVE"

	return nil
}

// fixedIPFor returns which address of a port a floating IP is for. One that was not
// named is the only IPv4 one (neutron: db/l3_db.py, _internal_fip_assoc_data).
func (p *port) fixedIPFor(wanted netip.Addr) (netip.Addr, string, error) {
	if wanted.IsValid() {
		for _, have := range p.fixedIPs {
			if have.ip == wanted {
				return have.ip, have.subnetID, nil
			}
		}

		return wanted, "", badFloatingIP("Port " + p.id + " does not have fixed ip " + wanted.String())
	}
	v4 := slices.DeleteFunc(slices.Clone(p.fixedIPs), func(have fixedIP) bool { return have.ip.Is6() })
	switch len(v4) {
	case 0:
		return wanted, "", badFloatingIP("Cannot add floating IP to port " + p.id + " that has no fixed IPv4 addresses")
	case 1:
		return v4[0].ip, v4[0].subnetID, nil
	}

	return wanted, "", badFloatingIP("Port " + p.id + " has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP")
}

// routerBetween returns a router with an interface in a subnet and its gateway in an
// external network, nil when there is none. Who owns it does not matter.
func (s *neutronState) routerBetween(subnetID, networkID string) *router {
	return first(s.routers.where(func(t *router) bool {
		return t.external == networkID && slices.ContainsFunc(t.interfaces, func(id string) bool {
			return slices.ContainsFunc(s.ports.get(id).fixedIPs, func(f fixedIP) bool { return f.subnetID == subnetID })
		})
	}))
}

// updateFloatingIP associates a floating IP with a port. Without a port it is
// disassociated, also when nothing at all is sent, but it stays when other
// attributes alone are sent (as tried with Zed).
func updateFloatingIP(k *call) (response, error) {
	f, err := k.floatingIP(k.path("id"))
	if err != nil {
		return response{}, err
	}
	a, err := floatingIPs.change(k)
	if err != nil {
		return response{}, err
	}
	if err := k.revise(f.revision); err != nil {
		return response{}, err
	}
	before := *f
	if a.has("port_id") || a.has("fixed_ip_address") || len(a) == 0 {
		if err := k.associate(f, a); err != nil {
			*f = before

			return response{}, err
		}
	}
	a.setText("description", &f.description)
	f.touch(k.now())
	k.cloud.floatingIPChanged(k.region, f, before.portID)

	return floatingIPs.show(k, f.document(k.region.neutron))
}

func deleteFloatingIP(k *call) (response, error) {
	f, err := k.floatingIP(k.path("id"))
	if err != nil {
		return response{}, err
	}
	if err := k.revise(f.revision); err != nil {
		return response{}, err
	}
	k.cloud.removeFloatingIP(k.region, f)

	return response{status: http.StatusNoContent}, nil
}

func (c *Cloud) removeFloatingIP(r *region, f *floatingIP) {
	r.neutron.floatingIPs.remove(f.id)
	c.removePort(r, r.neutron.ports.get(f.holder))
	c.floatingIPChanged(r, f, f.portID)
}

// floatingIPChanged tells Nova that the addresses of the servers have changed that
// a floating IP is or was for.
func (c *Cloud) floatingIPChanged(r *region, f *floatingIP, before string) {
	for _, id := range sorted([]string{f.portID, before}) {
		if p := r.neutron.ports.get(id); p != nil {
			c.portsChanged(r, p.deviceID)
		}
	}
}
