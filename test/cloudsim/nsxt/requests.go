package nsxt

import (
	"net/http"
	"net/url"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Request is a call as it was received over the wire.
type Request struct {
	// Op is the name in the interceptor's log.
	Op string
	// Method is that of HTTP.
	Method string
	// Path is the whole path, with the prefix.
	Path string
	// Query holds the parameters.
	Query url.Values
	// User is who the request says that it is from: the name of an account or principal,
	// "token", or the address of the client.
	User string
	// Header is the request's header.
	Header http.Header
	// Body is the body as it was sent.
	Body []byte
}

func (k *call) logged() Request {
	return Request{
		Op: k.op.name, Method: k.request.Method, Path: k.request.URL.Path, Query: k.request.URL.Query(),
		User: k.user, Header: k.request.Header.Clone(), Body: k.body,
	}
}

// Requests returns the latest calls of an operation, of all with [simserver.Any], oldest
// first. They are for reading only.
func (c *Cloud) Requests(op string) []Request {
	return c.requests.Select(func(r Request) bool { return op == simserver.Any || r.Op == op })
}
