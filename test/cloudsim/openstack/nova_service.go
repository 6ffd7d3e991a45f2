package openstack

import "net/http"

// novaService is Nova v2.1.
func (c *Cloud) novaService() *service {
	return &service{
		name: "nova", kind: "compute", path: "/compute", version: "/v2.1",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: novaVersions, open: true},
			{method: "GET", path: "/v2.1", op: "ShowVersion", handle: novaVersion, open: true},
		},
		render: renderNova,
		denied: func(k *call) *apiError {
			return disallowed("Policy doesn't allow os_compute_api:" + k.route.op + " to be performed.")
		},
		missing: fail(http.StatusNotFound, "", "The resource could not be found."),
	}
}

// novaVersions responds with all versions (nova: api/openstack/compute/versions.py).
func novaVersions(k *call) (response, error) {
	return reply(http.StatusOK, object{"versions": []object{k.novaDocument()}})
}

// novaVersion responds with the document of v2.1.
func novaVersion(k *call) (response, error) {
	return reply(http.StatusOK, object{"version": k.novaDocument()})
}

func (k *call) novaDocument() object {
	return object{
		"id": "v2.1", "status": "CURRENT", "version": k.cloud.opts.Microversion, "min_version": "2.1",
		"updated": "2013-07-23T11:33:21Z", "links": []link{{"self", k.base() + "/v2.1/"}},
	}
}
