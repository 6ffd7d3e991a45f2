package openstack

import (
	"net/http"
	"net/url"
)

// Request is a call as it was received over the wire.
type Request struct {
	// Op is the name in the interceptor's log.
	Op string
	// Region and Interface are those of the endpoint that was called.
	Region, Interface string
	// Method is that of HTTP.
	Method string
	// Path is the path below that of the service: /v2.0/ports.
	Path string
	// Query holds the parameters, which may occur several times.
	Query url.Values
	// Header is the request's header.
	Header http.Header
	// Body is the body as it was sent.
	Body []byte
}

func (c *Cloud) newRequest(k *call) Request {
	return Request{
		Op: k.op(), Region: k.target.region, Interface: k.target.iface, Method: k.request.Method,
		Path: k.target.rest, Query: cloneQuery(k.query), Header: k.request.Header.Clone(), Body: k.body,
	}
}

// Requests returns the latest calls of an operation, oldest first. They are for
// reading only.
func (c *Cloud) Requests(op string) []Request {
	return c.requests.Select(func(r Request) bool { return r.Op == op })
}
