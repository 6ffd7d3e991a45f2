package aws

import (
	"net/http"
	"net/url"
)

// Request is a call as it was received over the wire.
type Request struct {
	// Op is the name in the interceptor's log.
	Op string
	// Form holds the parameters, Action and Version included.
	Form url.Values
	// Path is the path of a call of the metadata service.
	Path string
	// Header is the request's header.
	Header http.Header
	// AccessKeyID, SigningRegion and SigningName are what the signature names.
	AccessKeyID, SigningRegion, SigningName string
}

func newRequest(r *http.Request, service *api, form url.Values) Request {
	s, _ := parseSignature(r.Header.Get("Authorization"))

	return Request{
		Op: service.prefix + form.Get("Action"), Form: form, Header: r.Header,
		AccessKeyID: s.key, SigningRegion: s.region, SigningName: s.service,
	}
}

// Requests returns the latest calls of an operation, oldest first. They are for
// reading only.
func (c *Cloud) Requests(op string) []Request {
	return c.requests.Select(func(r Request) bool { return r.Op == op })
}
