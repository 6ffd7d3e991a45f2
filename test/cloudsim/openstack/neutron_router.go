package openstack

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// routers are the routers of the API (neutron-lib: api/definitions/l3.py and those
// of its extensions).
var routers = &resource{
	single: "router", plural: "routers", sort: "Router",
	attributes: []attribute{
		text("name"), readOnly("status"),
		{name: "admin_state_up", post: true, put: true},
		{name: "external_gateway_info", post: true, put: true, list: true},
		{name: "routes", check: isRoutes, put: true, list: true},
		{name: "availability_zones", list: true},
		{name: "availability_zone_hints", post: true, list: true},
		{name: "flavor_id", post: true},
		hidden("distributed"), hidden("ha"),
	},
}

func (t *router) document(s *neutronState) object {
	routes := []object{}
	for _, route := range t.routes {
		routes = append(routes, object{"destination": route.destination, "nexthop": route.nexthop})
	}
	doc := t.standard.document().merge(object{
		"admin_state_up": !t.down, "status": "ACTIVE", "external_gateway_info": nil, "routes": routes, "flavor_id": nil,
		"availability_zones": []string{}, "availability_zone_hints": []string{}, "distributed": false, "ha": false,
	})
	if t.external != "" {
		ips := []object{}
		for _, f := range s.ports.get(t.portID).fixedIPs {
			ips = append(ips, object{"subnet_id": f.subnetID, "ip_address": f.ip.String()})
		}
		doc["external_gateway_info"] = object{"network_id": t.external, "external_fixed_ips": ips, "enable_snat": !t.noSNAT}
	}

	return doc
}

func (k *call) router(id string) (*router, error) {
	t := k.region.neutron.routers.get(id)
	if t == nil || !k.caller.sees(t.projectID) {
		return nil, missing("Router", id)
	}

	return t, nil
}

func listRouters(k *call) (response, error) {
	rows := []object{}
	for _, t := range k.region.neutron.routers.all() {
		if k.caller.sees(t.projectID) {
			rows = append(rows, t.document(k.region.neutron))
		}
	}

	return routers.list(k, rows)
}

func showRouter(k *call) (response, error) {
	t, err := k.router(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return routers.show(k, t.document(k.region.neutron))
}

func createRouter(k *call) (response, error) {
	return routers.create(k, func(a attributes) (object, error) {
		state, project := k.region.neutron, k.owner(a)
		used := len(state.routers.where(func(t *router) bool { return t.projectID == project }))
		if exceeds(k.cloud.quotasOf(project).Routers, used, 1) {
			return nil, overQuota("router")
		}
		t := &router{standard: k.cloud.newStandard("router", a.text("name"), project)}
		t.description, t.down = a.text("description"), !a.truth("admin_state_up", true)
		if err := k.setGateway("create_router", t, a); err != nil {
			return nil, err
		}
		state.routers.put(t.id, t)

		return routers.visible(k, t.document(state)), nil
	})
}

func updateRouter(k *call) (response, error) {
	t, err := k.router(k.path("id"))
	if err != nil {
		return response{}, err
	}
	a, err := routers.change(k)
	if err != nil {
		return response{}, err
	}
	if err := k.revise(t.revision); err != nil {
		return response{}, err
	}
	state := k.region.neutron
	routes := t.routes
	if a.has("routes") {
		routes = parseRoutes(a["routes"])
		if err := k.checkRoutes(t, routes); err != nil {
			return response{}, err
		}
	}
	if err := k.setGateway("update_router", t, a); err != nil {
		return response{}, err
	}
	t.routes = routes
	a.setText("name", &t.name)
	a.setText("description", &t.description)
	t.down = !a.truth("admin_state_up", !t.down)
	t.touch(k.now())

	return routers.show(k, t.document(state))
}

// gatewayInfo is external_gateway_info in a request.
type gatewayInfo struct {
	NetworkID string `json:"network_id"`
	SNAT      *bool  `json:"enable_snat"`
	FixedIPs  []struct {
		SubnetID string `json:"subnet_id"`
		IP       string `json:"ip_address"`
	} `json:"external_fixed_ips"`
}

// setGateway sets the external network of a router, or removes it by null or {}
// (neutron: db/l3_db.py, _update_router_gw_info).
func (k *call) setGateway(rule string, t *router, a attributes) error {
	if !a.has("external_gateway_info") {
		return nil
	}
	var info gatewayInfo
	if err := a.read("external_gateway_info", &info); err != nil {
		return badRequest("Invalid input for external_gateway_info. Reason: '%s' is not a dictionary.", python(a["external_gateway_info"]))
	}
	if err := k.allowGateway(rule, &info); err != nil {
		return err
	}
	if info.NetworkID == t.external && info.NetworkID != "" && info.FixedIPs == nil {
		if info.SNAT != nil {
			t.noSNAT = !*info.SNAT
		}

		return nil
	}
	if t.external != "" {
		if err := k.clearGateway(t); err != nil {
			return err
		}
	}
	if info.NetworkID == "" {
		return nil
	}
	in, err := k.network(info.NetworkID)
	if err != nil {
		return err
	}
	if !in.external {
		return fail(http.StatusBadRequest, "BadRequest", "Bad router request: Network %s is not an external network.", in.id)
	}
	var wanted []wantedIP
	for _, f := range info.FixedIPs {
		ip, _ := netip.ParseAddr(f.IP)
		wanted = append(wanted, wantedIP{f.SubnetID, ip})
	}
	t.noSNAT = info.SNAT != nil && !*info.SNAT

	return k.cloud.addGateway(k.region, t, in, wanted)
}

// allowGateway refuses what only administrators may choose.
func (k *call) allowGateway(rule string, info *gatewayInfo) error {
	if k.caller.admin() {
		return nil
	}
	for _, given := range []struct {
		name string
		ok   bool
	}{{"enable_snat", info.SNAT == nil}, {"external_fixed_ips", info.FixedIPs == nil}} {
		if !given.ok {
			prefix := "rule:" + rule + ":external_gateway_info"

			return disallowed("(rule:" + rule + " and (" + prefix + " and (" + prefix + ":network_id and " + prefix + ":" + given.name +
				"))) is disallowed by policy")
		}
	}

	return nil
}

// addGateway gives a router a port in an external network, which belongs to no
// project.
func (c *Cloud) addGateway(r *region, t *router, in *network, wanted []wantedIP) error {
	p := &port{
		standard: c.newStandard("port", "", ""), networkID: in.id, mac: c.newMAC(), status: "DOWN", insecure: true,
		vnicType: "normal", owner: ownerGateway,
	}
	p.service = true
	ips, err := r.neutron.allocate(p, wanted)
	if err != nil {
		return err
	}
	p.fixedIPs = ips
	r.neutron.ports.put(p.id, p)
	r.neutron.setDevice(p, t.id, p.owner)
	t.external, t.portID = in.id, p.id

	return nil
}

func (k *call) clearGateway(t *router) error {
	state := k.region.neutron
	for _, f := range state.floatingIPs.all() {
		if f.routerID == t.id && f.networkID == t.external {
			return conflict("RouterExternalGatewayInUseByFloatingIp",
				"Gateway cannot be updated for router %s, since a gateway to external network %s is required by one or more floating IPs.", t.id, t.external)
		}
	}
	k.cloud.removePort(k.region, state.ports.get(t.portID))
	t.external, t.portID, t.noSNAT = "", "", false

	return nil
}

func deleteRouter(k *call) (response, error) {
	t, err := k.router(k.path("id"))
	if err != nil {
		return response{}, err
	}
	if err := k.revise(t.revision); err != nil {
		return response{}, err
	}
	if len(t.interfaces) > 0 {
		return response{}, conflict("RouterInUse", "Router %s has ports still attached: %s", t.id, strings.Join(t.interfaces, ", "))
	}
	if t.external != "" {
		if err := k.clearGateway(t); err != nil {
			return response{}, err
		}
	}
	k.region.neutron.routers.remove(t.id)

	return response{status: http.StatusNoContent}, nil
}

// interfaceRequest is the body of add_router_interface and its opposite.
type interfaceRequest struct {
	SubnetID string `json:"subnet_id"`
	PortID   string `json:"port_id"`
}

func addRouterInterface(k *call) (response, error) {
	t, err := k.router(k.path("id"))
	if err != nil {
		return response{}, err
	}
	var body interfaceRequest
	if json.Unmarshal(k.body, &body) != nil {
		return response{}, badRequest("Body contains invalid data")
	}
	var p *port
	switch {
	case body.SubnetID != "" && body.PortID != "":
		return response{}, badRouter("Cannot specify both subnet-id and port-id")
	case body.SubnetID != "":
		p, err = k.addSubnetInterface(t, body.SubnetID)
	case body.PortID != "":
		p, err = k.addPortInterface(t, body.PortID)
	default:
		return response{}, badRouter("Either subnet_id or port_id must be specified")
	}
	if err != nil {
		return response{}, err
	}
	t.touch(k.now())

	return reply(http.StatusOK, t.interfaceDocument(p))
}

func badRouter(text string) *apiError {
	return fail(http.StatusBadRequest, "BadRequest", "Bad router request: %s.", text)
}

func (t *router) interfaceDocument(p *port) object {
	ids := []string{}
	for _, f := range p.fixedIPs {
		ids = append(ids, f.subnetID)
	}

	return object{
		"id": t.id, "tenant_id": t.projectID, "port_id": p.id, "network_id": p.networkID, "subnet_id": ids[0], "subnet_ids": ids,
	}
}

// addSubnetInterface gives a router the gateway address of a subnet.
func (k *call) addSubnetInterface(t *router, subnetID string) (*port, error) {
	n, err := k.subnet(subnetID)
	if err != nil {
		return nil, err
	}
	if !n.gateway.IsValid() {
		return nil, badRouter("Subnet for router interface must have a gateway IP")
	}
	if err := k.region.neutron.freeForRouter(t, n); err != nil {
		return nil, err
	}

	return k.cloud.addInterface(k.region, t, n)
}

func (c *Cloud) addInterface(r *region, t *router, n *subnet) (*port, error) {
	p := &port{
		standard: c.newStandard("port", "", t.projectID), networkID: n.networkID, mac: c.newMAC(), status: "DOWN",
		insecure: true, vnicType: "normal", owner: ownerInterface,
	}
	p.service = true
	ips, err := r.neutron.allocate(p, []wantedIP{{n.id, n.gateway}})
	if err != nil {
		return nil, err
	}
	p.fixedIPs = ips
	r.neutron.ports.put(p.id, p)
	r.neutron.setDevice(p, t.id, p.owner)
	t.interfaces = append(slices.Clone(t.interfaces), p.id)

	return p, nil
}

// freeForRouter checks that a router has no address in a subnet, and none in
// another one that overlaps.
func (s *neutronState) freeForRouter(t *router, n *subnet) error {
	for _, id := range t.interfaces {
		for _, f := range s.ports.get(id).fixedIPs {
			other := s.subnets.get(f.subnetID)
			if other.id == n.id {
				return badRouter("Router already has a port on subnet " + n.id)
			}
			if other.cidr.Overlaps(n.cidr) {
				return badRouter("Cidr " + n.cidr.String() + " of subnet " + n.id + " overlaps with cidr " + other.cidr.String() + " of subnet " + other.id)
			}
		}
	}

	return nil
}

// addPortInterface makes a port of the project that of the router.
func (k *call) addPortInterface(t *router, portID string) (*port, error) {
	p, err := k.port(portID)
	if err != nil {
		return nil, err
	}
	if p.deviceID != "" {
		return nil, conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.",
			p.id, p.networkID, p.deviceID)
	}
	if len(p.fixedIPs) == 0 {
		return nil, badRouter("Router port must have at least one fixed IP")
	}
	for _, f := range p.fixedIPs {
		if err := k.region.neutron.freeForRouter(t, k.region.neutron.subnets.get(f.subnetID)); err != nil {
			return nil, err
		}
	}
	k.region.neutron.setDevice(p, t.id, ownerInterface)
	p.groups, p.pairs, p.insecure = nil, nil, true
	t.interfaces = append(slices.Clone(t.interfaces), p.id)

	return p, nil
}

func removeRouterInterface(k *call) (response, error) {
	t, err := k.router(k.path("id"))
	if err != nil {
		return response{}, err
	}
	var body interfaceRequest
	if json.Unmarshal(k.body, &body) != nil {
		return response{}, badRequest("Body contains invalid data")
	}
	p, err := k.interfaceOf(t, body)
	if err != nil {
		return response{}, err
	}
	if err := k.interfaceUnused(t, p); err != nil {
		return response{}, err
	}
	doc := t.interfaceDocument(p)
	t.interfaces = slices.DeleteFunc(slices.Clone(t.interfaces), func(id string) bool { return id == p.id })
	k.cloud.removePort(k.region, p)
	t.touch(k.now())

	return reply(http.StatusOK, doc)
}

func (k *call) interfaceOf(t *router, body interfaceRequest) (*port, error) {
	state := k.region.neutron
	for _, id := range t.interfaces {
		p := state.ports.get(id)
		inSubnet := slices.ContainsFunc(p.fixedIPs, func(f fixedIP) bool { return f.subnetID == body.SubnetID })
		if id == body.PortID || (body.PortID == "" && inSubnet) {
			return p, nil
		}
	}
	if body.PortID != "" {
		return nil, fail(http.StatusNotFound, "RouterInterfaceNotFound", "Router %s does not have an interface with id %s", t.id, body.PortID)
	}
	if _, err := k.subnet(body.SubnetID); err != nil {
		return nil, err
	}

	return nil, fail(http.StatusNotFound, "RouterInterfaceNotFoundForSubnet", "Router %s has no interface on subnet %s", t.id, body.SubnetID)
}

// interfaceUnused refuses to remove an interface that floating IPs or routes need
// (neutron: db/l3_db.py, _confirm_router_interface_not_in_use, and
// db/extraroute_db.py, which extends it).
func (k *call) interfaceUnused(t *router, p *port) error {
	state := k.region.neutron
	for _, in := range p.fixedIPs {
		n := state.subnets.get(in.subnetID)
		for _, f := range state.floatingIPs.all() {
			if f.routerID == t.id && f.fixed.IsValid() && n.cidr.Contains(f.fixed) {
				return conflict("RouterInterfaceInUseByFloatingIP",
					"Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more floating IPs.", n.id, t.id)
			}
		}
		for _, route := range t.routes {
			if n.cidr.Contains(netip.MustParseAddr(route.nexthop)) {
				return conflict("RouterInterfaceInUseByRoute",
					"Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more routes.", n.id, t.id)
			}
		}
	}

	return nil
}
