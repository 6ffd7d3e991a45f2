package openstack

import "net/http"

// glanceService is as much of Glance v2 as the openstack command line needs to list
// servers: the one image that all of them have.
func (c *Cloud) glanceService() *service {
	missing := &apiError{
		status: http.StatusNotFound, header: http.Header{"Content-Type": {"text/html; charset=UTF-8"}},
		raw: []byte("<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1>No image found<br /><br /></body></html>"),
	}

	return &service{
		name: "glance", kind: "image", path: "/image", version: "/v2",
		routes: []route{
			{method: "GET", path: "/", op: "ListVersions", handle: glanceVersions, open: true},
			{method: "GET", path: "/v2/images", op: "ListImages", handle: listImages},
			{method: "GET", path: "/v2/images/{id}", op: "ShowImage", handle: func(k *call) (response, error) {
				if k.path("id") != ImageID {
					return response{}, missing
				}

				return reply(http.StatusOK, imageDocument())
			}},
		},
		render:  renderNova,
		denied:  func(*call) *apiError { return disallowed("You are not authorized to complete this action.") },
		missing: missing,
	}
}

func glanceVersions(k *call) (response, error) {
	return reply(http.StatusMultipleChoices, object{"versions": []object{{
		"id": "v2.15", "status": "CURRENT", "links": []link{{"self", k.base() + "/v2/"}},
	}}})
}

func listImages(*call) (response, error) {
	return reply(http.StatusOK, object{"images": []object{imageDocument()}, "first": "/v2/images", "schema": "/v2/schemas/images"})
}

func imageDocument() object {
	return object{
		"id": ImageID, "name": "node", "status": "active", "visibility": "public", "size": 1,
		"container_format": "bare", "disk_format": "raw", "min_disk": 0, "min_ram": 0, "tags": []string{},
		"self": "/v2/images/" + ImageID, "file": "/v2/images/" + ImageID + "/file", "schema": "/v2/schemas/image",
	}
}
