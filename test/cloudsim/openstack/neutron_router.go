package openstack

import (
	"encoding/json"
	"net/http"
	"strings"
)

// routers are the routers of the API (neutron-lib: api/definitions/l3.py and those
// of its extensions).
var routers = &resource{
	single: "router", plural: "routers", sort: "Router",
	attributes: []attribute{
		nameAttribute, readOnly("status"),
		{name: "admin_state_up", put: true},
		{name: "external_gateway_info", check: isNoGateway, put: true, list: true},
		{name: "routes", check: isRoutes, put: true, list: true},
		{name: "availability_zones", list: true},
		{name: "availability_zone_hints", list: true},
		readOnly("flavor_id"),
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
		doc["external_gateway_info"] = object{"network_id": t.external, "external_fixed_ips": ips, "enable_snat": true}
	}

	return doc
}

func (k *call) router(id string) (*router, error) {
	t := k.region.neutron.routers.get(id)
	if t == nil || !k.caller.canRead(t.projectID) {
		return nil, missing("Router", id)
	}

	return t, nil
}

func listRouters(k *call) (response, error) {
	rows := []object{}
	for _, t := range k.region.neutron.routers.all() {
		if k.caller.canRead(t.projectID) {
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
	if a.has("external_gateway_info") && t.external != "" {
		if err := k.clearGateway(t); err != nil {
			return response{}, err
		}
	}
	t.routes = routes
	a.setText("name", &t.name)
	a.setText("description", &t.description)
	t.down = !a.truth("admin_state_up", !t.down)
	t.touch(k.now())

	return routers.show(k, t.document(state))
}

// isNoGateway accepts what removes the gateway (neutron: db/l3_db.py,
// _update_router_gw_info). Nothing sets one by the API.
func isNoGateway(raw json.RawMessage) string {
	if text := string(raw); text != "null" && text != "{}" {
		return "'" + text + "' is not supported here."
	}

	return ""
}

// addGateway gives a router a port in an external network, which belongs to no
// project.
func (c *Cloud) addGateway(r *region, t *router, in *network) error {
	p := &port{
		standard: c.newStandard("port", "", ""), networkID: in.id, mac: c.newMAC(), status: "DOWN", insecure: true,
		vnicType: "normal", owner: ownerGateway,
	}
	p.service = true
	ips, err := r.neutron.allocate(p, nil)
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
	t.external, t.portID = "", ""

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
