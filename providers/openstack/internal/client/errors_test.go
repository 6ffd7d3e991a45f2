package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

const (
	objectID = "0a1b2c3d-0000-4000-8000-00000000000a"
	htmlPage = "<html><body><h1>404 Not Found</h1></body></html>"
)

// neutronError is the body of an error of Neutron:
// https://opendev.org/openstack/neutron/src/branch/master/neutron/api/api_common.py.
func neutronError(kind, message string) string {
	return fmt.Sprintf(`{"NeutronError": {"type": %q, "message": %q, "detail": ""}}`, kind, message)
}

// novaError is the body of an error of Nova:
// https://opendev.org/openstack/nova/src/branch/master/nova/api/openstack/wsgi.py.
func novaError(kind string, code int, message string) string {
	return fmt.Sprintf(`{%q: {"code": %d, "message": %q}}`, kind, code, message)
}

// octaviaError is the body of an error of Octavia, by WSME:
// https://opendev.org/x/wsme/src/branch/master/wsme/api.py.
func octaviaError(message string) string {
	return fmt.Sprintf(`{"faultcode": "Client", "faultstring": %q, "debuginfo": null}`, message)
}

// What each error of each service means.
func TestErrors(t *testing.T) {
	t.Parallel()
	const get, post, put, del = http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete
	const nova, neutron, octavia = client.Compute, client.Network, client.LoadBalancer
	cases := map[string]struct {
		reason  string
		service client.Service
		method  string
		status  int
		body    string
		want    error
		kind    string // of the error
	}{
		"Nova404":            {"an instance that does not exist", nova, get, 404, novaError("itemNotFound", 404, "Instance "+objectID+" could not be found."), apierr.ErrNotFound, "itemNotFound"},
		"Nova404path":        {"a path that does not exist", nova, get, 404, novaError("itemNotFound", 404, "The resource could not be found."), apierr.ErrUnavailable, "itemNotFound"},
		"Nova404html":        {"a proxy", nova, get, 404, htmlPage, apierr.ErrUnavailable, ""},
		"Nova404empty":       {"nothing at all", nova, get, 404, "", apierr.ErrUnavailable, ""},
		"Nova404otherJSON":   {"JSON of another service", nova, get, 404, neutronError("PortNotFound", "x"), apierr.ErrUnavailable, "PortNotFound"},
		"Nova404gatewayJSON": {"JSON of a gateway", nova, get, 404, `{"message":"no Route matched with those values"}`, apierr.ErrUnavailable, ""},
		"Nova400":            {"a marker that does not exist", nova, get, 400, novaError("badRequest", 400, "marker [x] not found"), apierr.ErrInvalid, "badRequest"},
		"Nova403quota":       {"a quota", nova, post, 403, novaError("forbidden", 403, "Quota exceeded for cores: Requested 1, but already used 20 of 20 cores"), apierr.ErrQuota, "forbidden"},
		"Nova403":            {"a policy", nova, get, 403, novaError("forbidden", 403, "Policy doesn't allow os_compute_api:servers:detail to be performed."), apierr.ErrDenied, "forbidden"},
		"Nova406":            {"an unknown microversion", nova, get, 406, novaError("notAcceptable", 406, "Version 2.999 is not supported by the API. Minimum is 2.1 and maximum is 2.93."), apierr.ErrInvalid, "notAcceptable"},
		"Nova409":            {"a server that is being changed", nova, post, 409, novaError("conflictingRequest", 409, "Cannot 'x' instance while it is in vm_state building"), apierr.ErrConflict, "conflictingRequest"},
		"Nova413":            {"a rate limit of old releases", nova, get, 413, `{"overLimit": {"code": 413, "message": "This request was rate-limited.", "retryAfter": "3600"}}`, apierr.ErrThrottled, "overLimit"},
		"Nova413large":       {"a body that is too large", nova, post, 413, novaError("overLimit", 413, "Request is too large."), apierr.ErrInvalid, "overLimit"},
		"Nova500":            {"a cell that is down", nova, get, 500, novaError("computeFault", 500, "Unexpected API Error."), apierr.ErrUnavailable, "computeFault"},
		"Nova401":            {"a token that is refused, as by every service", nova, get, 401, `{"error": {"code": 401, "title": "Unauthorized", "message": "The request you have made requires authentication."}}`, apierr.ErrDenied, ""},

		"Neutron404":          {"a port that does not exist", neutron, get, 404, neutronError("PortNotFound", "Port "+objectID+" could not be found."), apierr.ErrNotFound, "PortNotFound"},
		"Neutron404delete":    {"the same for a deletion", neutron, del, 404, neutronError("PortNotFound", "Port "+objectID+" could not be found."), apierr.ErrNotFound, "PortNotFound"},
		"Neutron404put":       {"an association that is not possible", neutron, put, 404, neutronError("ExternalGatewayForFloatingIPNotFound", "External network x is not reachable from subnet y."), apierr.ErrInvalid, "ExternalGatewayForFloatingIPNotFound"},
		"Neutron404path":      {"a path that an extension would have", neutron, put, 404, `{"message": "The resource could not be found.<br /><br />", "code": "404 Not Found", "title": "Not Found"}`, apierr.ErrUnavailable, ""},
		"Neutron409quota":     {"a quota", neutron, post, 409, neutronError("OverQuota", "Quota exceeded for resources: ['floatingip']."), apierr.ErrQuota, "OverQuota"},
		"Neutron409addresses": {"no address is left", neutron, post, 409, neutronError("IpAddressGenerationFailure", "No more IP addresses available on network x."), apierr.ErrConflict, "IpAddressGenerationFailure"},
		"Neutron400addresses": {"the same with 400", neutron, post, 400, neutronError("IpAddressGenerationFailureForSubnet", "x"), apierr.ErrConflict, "IpAddressGenerationFailureForSubnet"},
		"Neutron409inUse":     {"a group that is in use", neutron, del, 409, neutronError("SecurityGroupInUse", "Security Group x in use."), apierr.ErrConflict, "SecurityGroupInUse"},
		"Neutron409exists":    {"a rule that exists", neutron, post, 409, neutronError("SecurityGroupRuleExists", "Security group rule already exists."), apierr.ErrConflict, "SecurityGroupRuleExists"},
		"Neutron409security":  {"a pair without port security", neutron, put, 409, neutronError("AddressPairAndPortSecurityRequired", "Port Security must be enabled"), apierr.ErrInvalid, "AddressPairAndPortSecurityRequired"},
		"Neutron400routes":    {"too many routes", neutron, put, 400, neutronError("RoutesExhausted", "The number of routes exceeds the maximum 30."), apierr.ErrQuota, "RoutesExhausted"},
		"Neutron400pairs":     {"too many address pairs", neutron, put, 400, neutronError("AllowedAddressPairExhausted", "The number of allowed address pair exceeds the maximum 10."), apierr.ErrQuota, "AllowedAddressPairExhausted"},
		"Neutron400nexthop":   {"a next hop outside of the router's subnets", neutron, put, 400, neutronError("InvalidRoutes", "Invalid format for routes"), apierr.ErrInvalid, "InvalidRoutes"},
		"Neutron412":          {"a revision that is old", neutron, put, 412, neutronError("RevisionNumberConstraintFailed", "Constrained to 3, but current revision is 4"), apierr.ErrConflict, "RevisionNumberConstraintFailed"},
		"Neutron403":          {"a policy", neutron, put, 403, neutronError("PolicyNotAuthorized", "rule:update_port is disallowed by policy"), apierr.ErrDenied, "PolicyNotAuthorized"},
		"NeutronText":         {"an error as text", neutron, get, 400, `{"NeutronError": "Invalid input"}`, apierr.ErrInvalid, ""},

		"Octavia404":       {"a load balancer that does not exist", octavia, get, 404, octaviaError("Load Balancer " + objectID + " not found."), apierr.ErrNotFound, ""},
		"Octavia404member": {"the pool in the path of a member", octavia, get, 404, `{"code": 404, "title": "Not Found", "description": "Pool ` + objectID + ` not found."}`, apierr.ErrNotFound, ""},
		"Octavia404path":   {"a path that the API does not have", octavia, get, 404, `{"code": 404, "title": "Not Found", "description": ""}`, apierr.ErrUnavailable, ""},
		"Octavia404put":    {"a pool that the request names", octavia, put, 404, octaviaError("Pool " + objectID + " not found."), apierr.ErrInvalid, ""},
		"Octavia403quota":  {"a quota", octavia, post, 403, octaviaError("Quota has been met for resources: Load Balancer"), apierr.ErrQuota, ""},
		"Octavia403":       {"a policy", octavia, post, 403, octaviaError("Policy does not allow this request to be performed."), apierr.ErrDenied, ""},
		"Octavia409":       {"a load balancer that is being changed", octavia, put, 409, octaviaError("Load Balancer " + objectID + " is immutable and cannot be updated."), apierr.ErrConflict, ""},
		"Octavia400":       {"an invalid value", octavia, post, 400, octaviaError("Validation failure: x"), apierr.ErrInvalid, ""},
		"Octavia501":       {"an option that the driver does not have", octavia, post, 501, octaviaError("Provider 'ovn' does not support a requested option: OVN provider does not support X"), apierr.ErrInvalid, ""},
		"Octavia500driver": {"a driver that fails", octavia, post, 500, octaviaError("Provider 'amphora' reports error: x"), apierr.ErrUnavailable, ""},
		"Octavia503html":   {"a proxy", octavia, post, 503, htmlPage, apierr.ErrUnavailable, ""},

		"200html":    {"a page of a proxy is no success", nova, get, 200, htmlPage, apierr.ErrUnavailable, ""},
		"200empty":   {"nothing is no object", nova, get, 200, "", apierr.ErrUnavailable, ""},
		"302foreign": {"a redirect to another server is not followed", nova, get, 302, "", apierr.ErrUnavailable, ""},
		"405":        {"other statuses are about the request", octavia, put, 405, octaviaError("Method not allowed"), apierr.ErrInvalid, ""},
		"408":        {"a request that took too long", octavia, get, 408, "", apierr.ErrUnavailable, ""},
	}
	f := newFixture(t, openstack.Options{})
	for _, name := range names {
		f.serve(name, func(w http.ResponseWriter, r *http.Request) bool {
			tc, ok := cases[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
			if !ok {
				return false
			}
			if strings.HasPrefix(tc.body, "{") {
				w.Header().Set("Content-Type", "application/json")
			} else {
				w.Header().Set("Content-Type", "text/html")
			}
			w.Header().Set("Location", "http://example.com/login")
			w.WriteHeader(tc.status)
			_, _ = w.Write([]byte(tc.body)) // a client that is gone misses it

			return true
		})
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := f.open(t, nil).Do(bounded(t), tc.service, tc.method, "v2.0/things/"+name)
			if !errors.Is(err, tc.want) {
				t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
			}
			for _, other := range []error{apierr.ErrNotFound, apierr.ErrThrottled, apierr.ErrDenied, apierr.ErrUnavailable, apierr.ErrConflict, apierr.ErrInvalid, apierr.ErrQuota} {
				if !errors.Is(tc.want, other) && errors.Is(err, other) {
					t.Errorf("%s: %v is also %v", tc.reason, err, other)
				}
			}
			e, ok := errors.AsType[*client.Error](err)
			if !ok || e.Status != tc.status || e.Type != tc.kind || e.Service != tc.service {
				t.Errorf("%s: error = %+v", tc.reason, e)
			}
			if strings.Contains(err.Error(), "<html>") {
				t.Errorf("%s: the error has a page in it: %v", tc.reason, err)
			}
		})
	}
}

// Which object a 409 of Octavia is about.
func TestConflictOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, text string
		want         client.Conflict
		ok           bool
	}{
		"Pending":   {"a load balancer that is being changed", "Load Balancer " + objectID + " is immutable and cannot be updated.", client.Conflict{Kind: client.KindLoadBalancer, Reason: client.ReasonImmutable, ID: objectID}, true},
		"State":     {"the same for a deletion", "Invalid state PENDING_UPDATE of loadbalancer resource " + objectID, client.Conflict{Kind: client.KindLoadBalancer, Reason: client.ReasonImmutable, ID: objectID}, true},
		"Pool":      {"a pool in ERROR", "Pool " + objectID + " is immutable and cannot be updated.", client.Conflict{Kind: client.KindPool, Reason: client.ReasonImmutable, ID: objectID}, true},
		"Member":    {"a member that exists", "Another member on this pool is already using ip 10.0.0.4 on protocol_port 30080", client.Conflict{Kind: client.KindMember, Reason: client.ReasonDuplicate}, true},
		"Listener":  {"a listener that exists", "Another Listener on this Load Balancer is already using protocol TCP and protocol_port 80", client.Conflict{Kind: client.KindListener, Reason: client.ReasonDuplicate}, true},
		"Monitor":   {"a second health monitor", "This pool already has a health monitor", client.Conflict{Kind: client.KindHealthMonitor, Reason: client.ReasonDuplicate}, true},
		"L7":        {"a pool of a policy", "Pool " + objectID + " is in use by L7 policy 5d0a", client.Conflict{Kind: client.KindPool, Reason: client.ReasonInUse, ID: objectID}, true},
		"Something": {"something else", "Already an entity with that specified id.", client.Conflict{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fmt.Errorf("update pool: %w", &client.Error{Service: client.LoadBalancer, Status: http.StatusConflict, Message: tc.text})
			got, ok := client.ConflictOf(err)
			if diff := cmp.Diff(tc.want, got); diff != "" || ok != tc.ok {
				t.Errorf("%s: ConflictOf() = %v, %v: %s", tc.reason, got, ok, diff)
			}
		})
	}
	if _, ok := client.ConflictOf(&client.Error{Service: client.Network, Status: http.StatusConflict, Message: cases["Pool"].text}); ok {
		t.Error("a conflict of another service is taken for one of Octavia")
	}
}
