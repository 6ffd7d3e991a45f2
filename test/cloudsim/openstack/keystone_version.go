package openstack

import "net/http"

// keystoneVersions responds 300 with the versions (keystone: api/discovery.py).
func keystoneVersions(k *call) (response, error) {
	result, err := reply(http.StatusMultipleChoices, object{"versions": object{"values": []object{keystoneDocument(k)}}})
	result.header = http.Header{"Location": {k.base() + "/v3/"}}

	return result, err
}

// keystoneVersion responds with the document of v3.
func keystoneVersion(k *call) (response, error) {
	return reply(http.StatusOK, object{"version": keystoneDocument(k)})
}

// keystoneDocument is the version of Zed (keystone: version.py).
func keystoneDocument(k *call) object {
	return object{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links":       []link{{"self", k.base() + "/v3/"}},
		"media-types": []object{{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}},
	}
}
