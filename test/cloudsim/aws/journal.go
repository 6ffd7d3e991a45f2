package aws

import (
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// journalLimit bounds the memory of a journal.
const journalLimit = 4096

// Request is a call as it came over the wire.
type Request struct {
	// Op is the name in the gate's log.
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

// journal keeps the latest requests.
type journal struct {
	mu       sync.Mutex
	requests []Request
}

func (j *journal) add(r Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.requests) == journalLimit {
		j.requests = slices.Delete(j.requests, 0, journalLimit/2)
	}
	j.requests = append(j.requests, r)
}

// Requests returns the latest calls of an operation, oldest first. They are for
// reading only.
func (c *Cloud) Requests(op string) []Request {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	var requests []Request
	for _, r := range c.journal.requests {
		if r.Op == op {
			requests = append(requests, r)
		}
	}
	return requests
}
