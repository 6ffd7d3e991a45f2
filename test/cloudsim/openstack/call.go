package openstack

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// call is an API call as a handler gets it.
type call struct {
	cloud   *Cloud
	service *service
	route   *route
	target  target
	request *http.Request // its path is that below [service.path]
	query   url.Values
	body    []byte
	host    string
	id      string
	version string // the microversion of Nova that was requested
	minor   int    // its second number

	// caller is who calls, nil when the route is open.
	caller *caller
	// region is the state of the region that is called. A read may get an older
	// one, see [StaleReads]: handlers use no other way to the state.
	region *region
}

// op is the name of the operation: "nova.ListServers".
func (k *call) op() string { return k.service.name + "." + k.route.op }

// path returns a value of the route's path: that of {id}.
func (k *call) path(name string) string { return k.request.PathValue(name) }

// now is the time of the cloud.
func (k *call) now() time.Time { return k.cloud.now() }

// base returns the URL of the service as the client called it, without a slash at
// its end. Links in responses start with it.
func (k *call) base() string {
	return "http://" + k.host + k.target.prefix
}

// url returns the URL that was called, without its query.
func (k *call) url() string { return k.base() + k.target.rest }

// decode reads the body as JSON. Unknown keys are ignored, as handlers of
// services with a schema check them with [attributes].
func (k *call) decode(into any) error {
	if err := json.Unmarshal(k.body, into); err != nil {
		return k.malformed(err)
	}

	return nil
}

// object returns the attributes of the object below a key of the body:
// {"port": {...}}.
func (k *call) object(key string) (attributes, error) {
	var body map[string]json.RawMessage
	if err := k.decode(&body); err != nil {
		return nil, err
	}
	var a attributes
	if err := json.Unmarshal(body[key], &a); err != nil {
		return nil, k.malformed(err)
	}

	return a, nil
}

func (k *call) malformed(err error) error {
	return &apiError{
		status: http.StatusBadRequest, kind: "HTTPBadRequest",
		message: "The server could not comply with the request since it is either malformed or otherwise incorrect: " + err.Error(),
	}
}

// attributes are those of an object in a request, as they were sent: one that is
// null is there, one that was not sent is not.
type attributes map[string]json.RawMessage

// has reports whether an attribute was sent, be it as null.
func (a attributes) has(key string) bool {
	_, ok := a[key]

	return ok
}

// null reports whether an attribute was sent as null.
func (a attributes) null(key string) bool { return string(a[key]) == "null" }

// read reads an attribute. It leaves what into points to as it is when the
// attribute was not sent, and sets it to the zero value when it is null. Use a
// pointer to a pointer to tell null from zero. The error has no service's shape.
func (a attributes) read(key string, into any) error {
	value, ok := a[key]
	if !ok {
		return nil
	}

	return json.Unmarshal(value, into)
}

// unknown returns the attributes that are none of the known ones, sorted.
func (a attributes) unknown(known ...string) []string {
	var found []string
	for key := range a {
		if !slices.Contains(known, key) {
			found = append(found, key)
		}
	}
	slices.Sort(found)

	return found
}

// response is what a handler returns.
type response struct {
	status int
	body   any // encoded as JSON; nil for none
	header http.Header
	takes  time.Duration // see [RowTimes]
}

// reply returns a response with a status and a body, nil for none.
func reply(status int, body any) (response, error) { return response{status: status, body: body}, nil }

// found returns the response 200 with one object or list below a key, and the
// links of a list, unless they are nil, below key_links.
func found(key string, value any, links ...link) (response, error) {
	body := map[string]any{key: value}
	if links != nil {
		body[key+"_links"] = links
	}

	return reply(http.StatusOK, body)
}

// object is the JSON of an object in a response.
type object map[string]any

// only returns objects with the given fields alone, all of them when there are
// none: the query fields=id&fields=name of Neutron and Octavia.
func only(objects []object, fields []string) []object {
	if len(fields) == 0 {
		return objects
	}
	cut := make([]object, len(objects))
	for i, o := range objects {
		cut[i] = object{}
		for _, field := range fields {
			if value, ok := o[field]; ok {
				cut[i][field] = value
			}
		}
	}

	return cut
}
