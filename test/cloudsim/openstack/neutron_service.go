package openstack

import (
	"net/http"
	"slices"
	"strings"
)

// neutronService is Neutron v2.0.
func (c *Cloud) neutronService() *service {
	s := &service{
		name: "neutron", kind: "network", path: "/network", version: "/v2.0",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: neutronVersions, open: true},
			{method: "GET", path: "/v2.0", op: "ListResources", handle: neutronResources},
			{method: "GET", path: "/v2.0/extensions", op: "ListExtensions", handle: listExtensions},
			{method: "GET", path: "/v2.0/extensions/{id}", op: "ShowExtension", handle: showExtension},
		},
		rewrite:     func(t *target) { t.rest = strings.TrimSuffix(t.rest, ".json") },
		render:      renderNeutron,
		denied:      deniedRoute,
		unversioned: noVersion(),
		missing:     fail(http.StatusNotFound, "HTTPNotFound", "The resource could not be found."),
		notAllowed: fail(http.StatusMethodNotAllowed, "HTTPMethodNotAllowed",
			"The server could not comply with the request since it is either malformed or otherwise incorrect."),
	}
	for _, r := range neutronRoutes {
		s.routes = append(s.routes, r.routes()...)
	}
	s.routes = append(s.routes, neutronActions()...)

	return s
}

// deniedRoute is the response to a caller whose role does not allow an operation.
// That about routes names all attributes of a router (as tried with Zed).
func deniedRoute(k *call) *apiError {
	rule := snake(strings.Replace(k.route.op, "IP", "ip", 1))
	if !strings.HasSuffix(rule, "_extraroutes") {
		return notAllowed(rule)
	}
	r := "rule:" + rule
	gateway := r + ":external_gateway_info"

	return disallowed("((((" + r + " and (" + gateway + " and (" + gateway + ":network_id and " + gateway + ":enable_snat and " +
		gateway + ":external_fixed_ips))) and " + r + ":ha) and " + r + ":flavor_id) and " + r + ":distributed) is disallowed by policy")
}

// neutronRoute is the operations on a sort of resource; what no client calls is nil.
type neutronRoute struct {
	path, op, extension                string // op is in the singular
	list, show, create, update, remove handler
}

var neutronRoutes = []neutronRoute{
	{"networks", "Network", "", listNetworks, showNetwork, nil, nil, nil},
	{"subnets", "Subnet", "", listSubnets, showSubnet, nil, nil, nil},
	{"ports", "Port", "", listPorts, showPort, nil, updatePort, deletePort},
	{"routers", "Router", "router", listRouters, showRouter, nil, updateRouter, deleteRouter},
	{"floatingips", "FloatingIP", "router", listFloatingIPs, showFloatingIP, createFloatingIP, updateFloatingIP, deleteFloatingIP},
	{"security-groups", "SecurityGroup", "security-group", listGroups, showGroup, createGroup, updateGroup, deleteGroup},
	{"security-group-rules", "SecurityGroupRule", "security-group", listRules, showRule, createRule, updateRule, deleteRule},
}

func (n *neutronRoute) routes() []route {
	all, one := "/v2.0/"+n.path, "/v2.0/"+n.path+"/{id}"
	routes := slices.DeleteFunc([]route{
		{method: "GET", path: all, op: "List" + n.op + "s", handle: n.list},
		{method: "GET", path: one, op: "Show" + n.op, handle: n.show},
		{method: "POST", path: all, op: "Create" + n.op, handle: n.create},
		{method: "PUT", path: one, op: "Update" + n.op, handle: n.update},
		{method: "DELETE", path: one, op: "Delete" + n.op, handle: n.remove},
	}, func(r route) bool { return r.handle == nil })
	if n.extension != "" {
		for i := range routes {
			routes[i].handle = needs(n.extension, routes[i].handle)
		}
	}

	return routes
}

// neutronActions are the other operations.
func neutronActions() []route {
	routes := []route{
		{method: "PUT", path: "/v2.0/routers/{id}/remove_router_interface", op: "RemoveRouterInterface", handle: removeRouterInterface},
		{method: "PUT", path: "/v2.0/routers/{id}/add_extraroutes", op: "AddExtraroutes", handle: needs("extraroute-atomic", addRoutes)},
		{method: "PUT", path: "/v2.0/routers/{id}/remove_extraroutes", op: "RemoveExtraroutes", handle: needs("extraroute-atomic", removeRoutes)},
		{method: "GET", path: "/v2.0/quotas/{project}", op: "ShowQuotas", handle: showQuotas},
		{method: "GET", path: "/v2.0/quotas/{project}/default", op: "ShowDefaultQuotas", handle: showQuotas},
		{method: "PUT", path: "/v2.0/quotas/{project}", op: "UpdateQuotas", handle: updateQuotas},
	}
	tags, tag := "/v2.0/{sort}/{id}/tags", "/v2.0/{sort}/{id}/tags/{tag}"
	for _, r := range []route{
		{method: "GET", path: tags, op: "ListTags", handle: listTags},
		{method: "GET", path: tag, op: "ShowTag", handle: showTag},
		{method: "PUT", path: tags, op: "ReplaceTags", handle: replaceTags},
		{method: "PUT", path: tag, op: "AddTag", handle: addTag},
		{method: "DELETE", path: tag, op: "DeleteTag", handle: deleteTag},
	} {
		r.reader, r.handle = true, needs("standard-attr-tag", r.handle)
		routes = append(routes, r)
	}

	return routes
}

// neutronVersions responds with the one version (neutron: pecan_wsgi/controllers/root.py).
func neutronVersions(k *call) (response, error) {
	return reply(http.StatusOK, object{"versions": []object{{
		"id": "v2.0", "status": "CURRENT", "links": []link{{"self", k.base() + "/v2.0/"}},
	}}})
}

// neutronResources responds with the collections of the API.
func neutronResources(k *call) (response, error) {
	rows := []object{}
	for _, r := range []*resource{networks, subnets, ports} {
		rows = append(rows, object{
			"name": r.single, "collection": r.plural, "links": []link{{"self", k.base() + "/v2.0/" + r.plural}},
		})
	}

	return found("resources", rows)
}
