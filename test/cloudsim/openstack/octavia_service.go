package openstack

import (
	"net/http"
	"slices"
)

// octaviaService is Octavia v2.
func (c *Cloud) octaviaService() *service {
	s := &service{
		name: "octavia", kind: "load-balancer", path: "/load-balancer", version: "/v2.0",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: octaviaVersions, open: true},
			{method: "GET", path: "/v2.0/lbaas/loadbalancers", op: "ListLoadBalancers", handle: lbList(lbLoadBalancers)},
			{method: "POST", path: "/v2.0/lbaas/loadbalancers", op: "CreateLoadBalancer", handle: createLoadBalancer},
			{method: "GET", path: "/v2.0/lbaas/loadbalancers/{id}", op: "ShowLoadBalancer", handle: lbShow(lbLoadBalancers), poll: true},
			{method: "PUT", path: "/v2.0/lbaas/loadbalancers/{id}", op: "UpdateLoadBalancer", handle: updateLoadBalancer},
			{method: "DELETE", path: "/v2.0/lbaas/loadbalancers/{id}", op: "DeleteLoadBalancer", handle: deleteLoadBalancer},
			{method: "PUT", path: "/v2.0/lbaas/loadbalancers/{id}/failover", op: "FailoverLoadBalancer", handle: failoverLoadBalancer},
			{method: "GET", path: "/v2.0/lbaas/loadbalancers/{id}/status", op: "ShowLoadBalancerStatus", handle: showLoadBalancerStatus},
			{method: "GET", path: "/v2.0/lbaas/loadbalancers/{id}/statuses", op: "ShowLoadBalancerStatuses", handle: showLoadBalancerStatus},
			{method: "GET", path: "/v2.0/lbaas/loadbalancers/{id}/stats", op: "ShowLoadBalancerStats", handle: showStatistics(lbLoadBalancers)},
			{method: "GET", path: "/v2.0/lbaas/listeners/{id}/stats", op: "ShowListenerStats", handle: showStatistics(lbListeners)},
			{method: "GET", path: "/v2.0/lbaas/pools/{pool}/members", op: "ListMembers", handle: listMembers},
			{method: "POST", path: "/v2.0/lbaas/pools/{pool}/members", op: "CreateMember", handle: createMember},
			{method: "PUT", path: "/v2.0/lbaas/pools/{pool}/members", op: "UpdateMembers", handle: updateMembers},
			{method: "GET", path: "/v2.0/lbaas/pools/{pool}/members/{id}", op: "ShowMember", handle: showMember},
			{method: "PUT", path: "/v2.0/lbaas/pools/{pool}/members/{id}", op: "UpdateMember", handle: updateMember},
			{method: "DELETE", path: "/v2.0/lbaas/pools/{pool}/members/{id}", op: "DeleteMember", handle: deleteMember},
			{method: "GET", path: "/v2.0/lbaas/quotas/{project}", op: "ShowQuota", handle: showLBQuota},
			{method: "GET", path: "/v2.0/lbaas/quotas/{project}/default", op: "ShowDefaultQuota", handle: showLBQuota},
			{method: "PUT", path: "/v2.0/lbaas/quotas/{project}", op: "UpdateQuota", handle: updateLBQuota},
			{method: "GET", path: "/v2.0/lbaas/providers", op: "ListProviders", handle: listLBProviders},
		},
		rewrite:     octaviaPath,
		begin:       c.octaviaBegin,
		render:      renderOctavia,
		denied:      func(*call) *apiError { return lbForbidden() },
		unversioned: noVersion(),
		missing: &apiError{
			status: http.StatusNotFound, raw: []byte(`{"code": 404, "title": "Not Found", "description": ""}`),
		},
		notAllowed: &apiError{
			status: http.StatusMethodNotAllowed, raw: []byte(`{"code": 405, "title": "Method Not Allowed", "description": ""}`),
		},
	}
	s.routes = append(s.routes, octaviaPartRoutes()...)
	if c.opts.Profile != Bare || c.opts.OctaviaMinor >= sinceFlavors {
		s.routes = append(
			s.routes,
			route{method: "GET", path: "/v2.0/lbaas/flavors", op: "ListFlavors", handle: listLBFlavors},
			route{method: "GET", path: "/v2.0/lbaas/availabilityzones", op: "ListAvailabilityZones", handle: listLBZones},
		)
	}
	for i := range s.routes { // policies are looked at after the object, see lbGetForWrite
		s.routes[i].reader = true
	}

	return s
}

// octaviaPartRoutes are the routes of the parts of a load balancer that have the same
// operations; what no client calls is nil.
func octaviaPartRoutes() []route {
	var routes []route
	for _, r := range []struct {
		op                     string
		sort                   *lbSort
		create, update, remove handler
	}{
		{"Listener", lbListeners, createListener, updateListener, deleteListener},
		{"Pool", lbPools, createPool, updatePool, deletePool},
		{"HealthMonitor", lbMonitors, createMonitor, updateMonitor, deleteMonitor},
		{"L7Policy", lbPolicies, createPolicy, nil, nil},
	} {
		all := "/v2.0/lbaas/" + r.sort.plural
		routes = append(
			routes,
			route{method: "GET", path: all, op: "List" + r.op + "s", handle: lbList(r.sort)},
			route{method: "POST", path: all, op: "Create" + r.op, handle: r.create},
			route{method: "GET", path: all + "/{id}", op: "Show" + r.op, handle: lbShow(r.sort)},
			route{method: "PUT", path: all + "/{id}", op: "Update" + r.op, handle: r.update},
			route{method: "DELETE", path: all + "/{id}", op: "Delete" + r.op, handle: r.remove},
		)
	}

	return slices.DeleteFunc(routes, func(r route) bool { return r.handle == nil })
}
