package openstack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// maxBody bounds a request; thousands of members stay far below.
const maxBody = 16 << 20

// callKey is the context key of the *call of a request.
type callKey struct{}

// callOf returns the call that a request is, nil when it is for no service.
func callOf(r *http.Request) *call {
	c, _ := r.Context().Value(callKey{}).(*call)

	return c
}

// ServeHTTP serves the calls of clients: it names and counts them, applies the
// rules of the interceptor, and responds.
func (c *Cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)

		return
	}
	to, found := c.locate(r.URL.Path)
	if !found {
		c.interceptor.Serve(w, r, simserver.Call{Op: r.Method + " " + r.URL.Path}, http.NotFoundHandler())

		return
	}
	s := to.service
	if s.rewrite != nil {
		s.rewrite(&to)
	}
	k := &call{cloud: c, service: s, target: to, query: r.URL.Query(), body: body, host: r.Host}
	below := r.Clone(context.WithValue(r.Context(), callKey{}, k))
	below.URL.Path, below.URL.RawPath = to.rest, ""
	below.Body = io.NopCloser(bytes.NewReader(body))
	k.request = below
	handler, pattern := s.mux.Handler(below)
	if pattern == "" {
		c.serveMissing(w, k, handler)

		return
	}
	s.mux.ServeHTTP(w, below)
}

// serveMissing responds to a call that no route of its service has. Handler is
// what the multiplexer would respond with: 404 or 405.
func (c *Cloud) serveMissing(w http.ResponseWriter, k *call, handler http.Handler) {
	recorded := httptest.NewRecorder()
	handler.ServeHTTP(recorded, k.request)
	problem := k.service.missing
	if k.service.unversioned != nil && !strings.HasPrefix(k.target.rest, "/v2.0") {
		problem = k.service.unversioned
	}
	if recorded.Code == http.StatusMethodNotAllowed {
		problem = k.service.notAllowed
	}
	call := simserver.Call{Op: k.service.name + " " + k.request.Method + " " + k.request.URL.Path, Group: k.service.name}
	c.interceptor.Serve(w, k.request, call, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		k.writeError(w, c.missing(k, problem))
	}))
}

// missing returns the error for a call that no route has: that of its token when
// it is not valid, since services look at that first, and problem otherwise.
func (c *Cloud) missing(k *call, problem *apiError) *apiError {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.id = c.newID("request")
	if !k.service.global && c.keystone.caller(k.request.Header.Get("X-Auth-Token"), c.now()) == nil {
		return unauthorized(c.keystoneURL(k.host))
	}

	return problem
}

// serveRoute responds to a call of an operation.
func (c *Cloud) serveRoute(w http.ResponseWriter, r *http.Request, route *route) {
	k := callOf(r)
	k.request, k.route = r, route
	call := simserver.Call{Op: k.op(), Group: k.service.name, Poll: route.poll}
	c.requests.Add(c.newRequest(k))
	if k.service.begin != nil {
		defer k.service.begin(k)()
	}
	c.interceptor.Serve(w, r, call, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		result, err := c.run(k)
		if err != nil {
			k.writeError(w, asAPIError(err))

			return
		}
		simserver.Slow(result.takes)(w, k.request, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { k.write(w, result) }))
	}))
}

// run authorizes and executes a call. It returns the response with an encoded
// body, which nothing that happens later can change.
func (c *Cloud) run(k *call) (response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyDue()
	k.id = c.newID("request")
	if err := c.authorize(k); err != nil {
		return response{}, err
	}
	k.region = c.view(k)
	result, err := k.route.handle(k)
	c.look(k.op())
	if err != nil {
		return response{}, err
	}
	if result.body == nil {
		return result, nil
	}
	result.takes = c.rowTimes.of(result)
	encoded, err := json.Marshal(result.body)
	result.body = json.RawMessage(encoded)

	return result, err
}

// write sends a response.
func (k *call) write(w http.ResponseWriter, result response) {
	header := w.Header()
	k.commonHeader(header)
	maps.Copy(header, result.header)
	body, _ := result.body.(json.RawMessage)
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	if result.status != http.StatusNoContent {
		header.Set("Content-Length", strconv.Itoa(len(body)))
	}
	w.WriteHeader(result.status)
	_, _ = w.Write(body) // a client that is gone misses it
}

// writeError sends an error response in the shape of the service.
func (k *call) writeError(w http.ResponseWriter, problem *apiError) {
	header := w.Header()
	k.commonHeader(header)
	maps.Copy(header, problem.header)
	if problem.status == http.StatusUnauthorized && header.Get("Www-Authenticate") == "" {
		header.Set("Www-Authenticate", `Keystone uri="`+k.cloud.keystoneURL(k.host)+`"`)
	}
	if header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
		if problem.raw == nil && k.service.errorType != "" {
			header.Set("Content-Type", k.service.errorType)
		}
	}
	w.WriteHeader(problem.status)
	if problem.raw != nil {
		_, _ = w.Write(problem.raw)

		return
	}
	_ = json.NewEncoder(w).Encode(k.service.render(problem))
}

func (k *call) commonHeader(header http.Header) {
	if k.id != "" {
		header.Set("X-Openstack-Request-Id", "req-"+k.id)
	}
	if k.service.header != nil {
		k.service.header(k, header)
	}
}
