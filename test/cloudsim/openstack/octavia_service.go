package openstack

import "net/http"

// octaviaService is Octavia v2.
func (c *Cloud) octaviaService() *service {
	return &service{
		name: "octavia", kind: "load-balancer", path: "/load-balancer", version: "/v2.0",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: octaviaVersions, open: true},
		},
		render: renderOctavia,
		denied: func(*call) *apiError {
			return disallowed("Policy does not allow this request to be performed.")
		},
		missing: fail(http.StatusNotFound, "", "The resource could not be found."),
	}
}

// octaviaVersions responds with all versions (octavia: api/root_controller.py).
func octaviaVersions(k *call) (response, error) {
	return reply(http.StatusOK, object{"versions": []object{{
		"id": "v2.0", "status": "CURRENT", "links": []link{{"self", k.base() + "/v2"}},
	}}})
}
