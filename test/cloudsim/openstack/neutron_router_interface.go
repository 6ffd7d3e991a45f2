package openstack

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
)

// interfaceRequest is the body of add_router_interface and its opposite.
type interfaceRequest struct {
	SubnetID string `json:"subnet_id"`
	PortID   string `json:"port_id"`
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

func (c *Cloud) addInterface(r *region, t *router, wanted wantedIP) error {
	n := r.neutron.subnets.get(wanted.subnetID)
	p := &port{
		standard: c.newStandard("port", "", t.projectID), networkID: n.networkID, mac: c.newMAC(), status: "DOWN",
		insecure: true, vnicType: "normal", owner: ownerInterface,
	}
	p.service = true
	ips, err := r.neutron.allocate(p, []wantedIP{wanted})
	if err != nil {
		return err
	}
	p.fixedIPs = ips
	r.neutron.ports.put(p.id, p)
	r.neutron.setDevice(p, t.id, p.owner)
	t.interfaces = append(slices.Clone(t.interfaces), p.id)

	return nil
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
