package openstack

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// apiError is an error response, which each service renders in its own shape.
type apiError struct {
	status int
	// kind is the type of a Neutron error; the others derive theirs from status.
	kind    string
	message string
	detail  string
	header  http.Header
	raw     []byte // sent instead of a rendered body when not nil
}

// Error implements error.
func (e *apiError) Error() string { return strconv.Itoa(e.status) + " " + e.kind + ": " + e.message }

// fail returns an error response.
func fail(status int, kind, format string, args ...any) *apiError {
	return &apiError{status: status, kind: kind, message: fmt.Sprintf(format, args...)}
}

func asAPIError(err error) *apiError {
	if e, ok := errors.AsType[*apiError](err); ok {
		return e
	}

	return fail(http.StatusInternalServerError, "HTTPInternalServerError", "%v", err)
}

// novaFaults are the names of Nova's errors (nova: api/openstack/wsgi.py,
// Fault._fault_names).
var novaFaults = map[int]string{
	400: "badRequest", 401: "unauthorized", 403: "forbidden", 404: "itemNotFound",
	405: "badMethod", 409: "conflictingRequest", 413: "overLimit",
	415: "badMediaType", 429: "overLimit", 501: "notImplemented", 503: "serviceUnavailable",
}

// renderNova is the shape {"itemNotFound": {"code": 404, "message": "…"}}.
func renderNova(e *apiError) any {
	name := novaFaults[e.status]
	if name == "" {
		name = "computeFault"
	}

	return object{name: object{"code": e.status, "message": e.message}}
}

// renderNeutron is the shape {"NeutronError": {"type": …, "message": …,
// "detail": …}} (neutron: api/v2/resource.py, the faults of which are rendered by
// api/api_common.py).
func renderNeutron(e *apiError) any {
	return object{"NeutronError": object{"type": e.kind, "message": e.message, "detail": e.detail}}
}

// renderOctavia is the shape of wsme (octavia: the services are pecan and wsme;
// wsme: wsme/api.py, format_exception).
func renderOctavia(e *apiError) any {
	code := "Client"
	if e.status >= 500 {
		code = "Server"
	}

	return object{"faultcode": code, "faultstring": e.message, "debuginfo": nil}
}

// renderKeystone is the shape {"error": {"code": …, "title": …, "message": …}}
// (keystone: server/flask/application.py).
func renderKeystone(e *apiError) any {
	return object{"error": object{"code": e.status, "title": http.StatusText(e.status), "message": e.message}}
}

// unauthorized is the response of every service but Keystone to a token that is
// absent, expired or revoked. It comes from a middleware in front of them and has
// the same shape for all (keystonemiddleware: auth_token).
func unauthorized(keystone string) *apiError {
	return &apiError{
		status: http.StatusUnauthorized, kind: "Unauthorized",
		header: http.Header{"Www-Authenticate": {`Keystone uri="` + keystone + `"`}},
		raw:    []byte(`{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`),
	}
}

// respond is the effect that responds with an error in the shape of the called
// service.
func respond(problem func(*call) *apiError) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		k := callOf(r)
		if k == nil {
			http.Error(w, "fault", http.StatusInternalServerError)

			return
		}
		k.writeError(w, problem(k))
	}
}

// Error is the effect that responds with an error in the shape of the called
// service; nothing is applied. Kind is the type of a Neutron error, and ignored by
// the other services.
func Error(status int, kind, message string) simserver.Fault {
	return respond(func(*call) *apiError { return &apiError{status: status, kind: kind, message: message} })
}

// Denied is the effect that responds as the called service does when the caller's
// role does not allow the call.
func Denied() simserver.Fault {
	return respond(func(k *call) *apiError { return k.service.denied(k) })
}

// Unauthorized is the effect that responds as every service does when it does not
// accept the token.
func Unauthorized() simserver.Fault {
	return respond(func(k *call) *apiError { return unauthorized(k.cloud.keystoneURL(k.host)) })
}

// DirectoryAway is the effect on logins of an LDAP or AD directory behind Keystone that does not
// respond: 401, as for a wrong password, whatever its reason is (keystone:
// identity/backends/ldap/core.py, authenticate,
// https://opendev.org/openstack/keystone/src/branch/master/keystone/identity/backends/ldap/core.py).
func DirectoryAway() simserver.Fault { return respond(func(*call) *apiError { return refused() }) }

// Without is another effect on calls that lack a parameter in their query, such as
// [Proxy] with 504 on lists that have no name: a gateway that does not wait for the list of all load
// balancers (https://github.com/SAP-cloud-infrastructure/elektra/issues/741). Others pass.
func Without(parameter string, outside simserver.Fault) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if r.URL.Query().Has(parameter) {
			apply.ServeHTTP(w, r)

			return
		}
		outside(w, r, apply)
	}
}

// Throttled is the effect of a proxy that limits the rate of calls: status 429
// with Retry-After, which is seconds or a date, and left out when empty.
func Throttled(retryAfter string) simserver.Fault {
	return Proxy(http.StatusTooManyRequests, retryAfter)
}

// Proxy is the effect that responds with the HTML page of a proxy, which is no
// response of the service: 502, 503, 504, or a 404 that is about the path.
// RetryAfter is left out when empty. To apply a call whose response the proxy
// does not wait for, use [ProxyAfter].
func Proxy(status int, retryAfter string) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Cache-Control", "no-cache")
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.WriteHeader(status)
		text := strconv.Itoa(status) + " " + http.StatusText(status)
		_, _ = fmt.Fprintf(w, "<html><body><h1>%s</h1>\nThe server didn't respond in time.\n</body></html>\n", text)
	}
}

// ProxyAfter is [Proxy] for a call that is applied nevertheless.
func ProxyAfter(status int) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		apply.ServeHTTP(discard{header: make(http.Header)}, r)
		Proxy(status, "")(w, r, apply)
	}
}

// discard drops a response.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}

// MaxInFlight is the effect that passes at most n calls on at a time, each in the
// way of inside, and has the effect outside on all others. A nil inside passes
// calls on at once.
func MaxInFlight(n int, inside, outside simserver.Fault) simserver.Fault {
	var flying atomic.Int64

	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		defer flying.Add(-1)
		if flying.Add(1) > int64(n) {
			outside(w, r, apply)

			return
		}
		if inside == nil {
			apply.ServeHTTP(w, r)

			return
		}
		inside(w, r, apply)
	}
}

// noVersion is the response of Neutron and Octavia to a path with a version that they
// do not have (pecan: middleware/errordocument.py and core.py).
func noVersion() *apiError {
	return &apiError{status: http.StatusNotFound, raw: []byte(`{"code": 404, "title": "Not Found", "description": null}`)}
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quoted returns texts in the form of a list of Python, as messages have them.
func quoted(texts []string) string { return "'" + strings.Join(texts, "', '") + "'" }
