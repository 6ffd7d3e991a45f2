package openstack

import "net/http"

// neutronService is Neutron v2.0.
func (c *Cloud) neutronService() *service {
	return &service{
		name: "neutron", kind: "network", path: "/network", version: "/v2.0",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: neutronVersions, open: true},
		},
		render: renderNeutron,
		denied: func(k *call) *apiError {
			return disallowed("rule:" + k.route.op + " is disallowed by policy")
		},
		missing: fail(http.StatusNotFound, "HTTPNotFound", "The resource could not be found."),
	}
}

// neutronVersions responds with the one version (neutron: pecan_wsgi/controllers/root.py).
func neutronVersions(k *call) (response, error) {
	return reply(http.StatusOK, object{"versions": []object{{
		"id": "v2.0", "status": "CURRENT", "links": []link{{"self", k.base() + "/v2.0/"}},
	}}})
}
