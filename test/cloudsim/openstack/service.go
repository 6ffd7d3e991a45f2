package openstack

import (
	"net/http"
	"strings"
)

// service is one API of the cloud: Keystone, Nova, Neutron or Octavia.
type service struct {
	// name is the group of its calls in the interceptor's log and the prefix of
	// their operations: "nova" and "nova.ListServers".
	name string
	// kind is the type in the service catalog: "compute".
	kind string
	// path is the first segment of its URLs: "/compute".
	path string
	// version is what versioned catalog URLs have below path: "/v2.1".
	version string
	// global is set when one instance serves all regions.
	global bool
	routes []route

	// rewrite maps the rest of a path to that of a route, for services that know
	// their resources by several names. Nil maps nothing.
	rewrite func(*target)
	// prepare runs before each handler that needs a token, and can refuse the call.
	prepare func(*call) error
	// begin runs when a call arrives, before the interceptor delays it, and returns
	// what runs at its end. It takes the lock itself. Nil does nothing.
	begin func(*call) func()
	// header adds to the header of every response, errors included. The call may
	// lack everything but the request.
	header func(*call, http.Header)
	// errorType is the content type of error responses; default application/json.
	errorType string
	// render returns the body of an error response.
	render func(*apiError) any
	// denied returns the error for a caller whose role does not allow a route.
	denied func(*call) *apiError
	// missing is the error for a path that no route has.
	missing *apiError
	// unversioned is the error for a path that begins with no version of the service;
	// by default missing.
	unversioned *apiError
	// notAllowed is the error for a path that has no route for the method; by
	// default missing.
	notAllowed *apiError

	byOp map[string]*route
	mux  *http.ServeMux
}

// route is an operation of a service.
type route struct {
	// method and path, below [service.path], are as in a pattern of
	// [http.ServeMux]: "GET", "/v2.0/ports/{id}".
	method, path string
	// op is the name of the operation without that of the service: "ShowPort".
	op string
	// handle does the work, with [Cloud.mu] held.
	handle handler
	// open is set when the call needs no token.
	open bool
	// safe is set when the call changes nothing although its method is not GET.
	safe bool
	// reader is set when the role reader suffices although the call writes.
	reader bool
	// poll is set when callers make the call while they wait for something.
	poll bool
}

// handler does the work of one operation and returns the response, or an
// *apiError that becomes the error response of the service.
type handler func(*call) (response, error)

// writes reports whether the operation may change state.
func (r *route) writes() bool {
	return !r.safe && r.method != http.MethodGet && r.method != http.MethodHead
}

// complete prepares a service for calls.
func (s *service) complete(c *Cloud) {
	if s.notAllowed == nil {
		s.notAllowed = s.missing
	}
	s.mux = http.NewServeMux()
	s.byOp = make(map[string]*route, len(s.routes))
	for i := range s.routes {
		r := &s.routes[i]
		s.byOp[s.name+"."+r.op] = r
		pattern := r.path
		if pattern == "/" {
			pattern = "/{$}"
		}
		s.mux.HandleFunc(r.method+" "+pattern, func(w http.ResponseWriter, request *http.Request) {
			c.serveRoute(w, request, r)
		})
	}
}

// target is what the path of a request leads to.
type target struct {
	service *service
	region  string
	iface   string
	prefix  string // of the path, that of the service included
	rest    string // of the path
	project string // "/" and its ID, when the path has one
	slash   bool   // the path ends in a slash
	legacy  bool   // the path has the version that Nova had before 2.1
}

// interfaces are those of the catalog and the prefixes of their paths.
var interfaces = []struct{ name, prefix string }{{"internal", "/internal"}, {"admin", "/admin"}, {"public", ""}}

// locate returns what a path leads to: an optional /internal or /admin, an
// optional region (not for the first one), and the service.
func (c *Cloud) locate(path string) (target, bool) {
	t := target{region: c.opts.Regions[0]}
	rest := path
	for _, i := range interfaces {
		if below, ok := cutSegment(rest, i.prefix); ok {
			t.iface, rest = i.name, below

			break
		}
	}
	for _, name := range c.opts.Regions[1:] {
		if below, ok := cutSegment(rest, "/"+name); ok {
			t.region, rest = name, below

			break
		}
	}
	for _, s := range c.services {
		if below, ok := cutSegment(rest, s.path); ok {
			t.service = s
			t.prefix = strings.TrimSuffix(path, below)
			t.rest, t.slash = "/"+strings.Trim(below, "/"), strings.HasSuffix(below, "/")

			return t, true
		}
	}

	return t, false
}

// cutSegment returns the path without a prefix that ends at a slash.
func cutSegment(path, prefix string) (string, bool) {
	below, ok := strings.CutPrefix(path, prefix)
	if !ok || (below != "" && below[0] != '/') {
		return path, false
	}

	return below, true
}
