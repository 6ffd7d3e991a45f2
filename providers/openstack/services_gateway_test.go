//go:build openstackservices

package openstack

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// gateway passes the requests of a provider on to the services. It counts them by their
// method and path, with * for IDs, and can make them fail.
type gateway struct {
	simserver.Interceptor

	server *simserver.Server
	// withoutExtensions are those that Neutron does not list.
	withoutExtensions []string
	// denied are the operations that a policy denies, by its rules in Nova.
	denied map[string]string

	mu     sync.Mutex
	tokens []string // of all logins
	looks  int      // responses in which a load balancer was pending
}

// uuids are IDs in paths, with dashes and without.
var uuids = regexp.MustCompile(`[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}`)

func newGateway(t testing.TB) *gateway {
	t.Helper()
	g := &gateway{}
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", r.In.Host },
		ModifyResponse: g.inspect,
		ErrorLog:       log.New(io.Discard, "", 0), // clients hang up in every test
	}
	var err error
	g.server, err = simserver.Start(simserver.Config{Plain: true, InMemory: true}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		op := r.Method + " " + uuids.ReplaceAllString(r.URL.Path, "*")
		g.Serve(w, r, simserver.Call{Op: op}, g.allowed(op, proxy))
	}))
	must(t, err)
	t.Cleanup(func() {
		if err := g.server.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})

	return g
}

// allowed returns what responds to an operation: the services, or the policy that denies it.
func (g *gateway) allowed(op string, services http.Handler) http.Handler {
	rule, denied := g.denied[op]
	if !denied {
		return services
	}

	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		body := `{"forbidden": {"code": 403, "message": "Policy doesn't allow ` + rule + ` to be performed."}}`
		response(http.StatusForbidden, body)(w, nil, nil)
	})
}

// inspect notes what a response has, and changes those that the kind of cloud has not.
func (g *gateway) inspect(r *http.Response) error {
	path := r.Request.URL.Path
	switch {
	case path == "/v2.0/extensions" && len(g.withoutExtensions) > 0:
		return g.hideExtensions(r)
	case r.Request.Method == http.MethodPost && path == "/v3/auth/tokens":
		if token := r.Header.Get("X-Subject-Token"); token != "" {
			g.mu.Lock()
			g.tokens = append(g.tokens, token)
			g.mu.Unlock()
		}
	case r.Request.Method == http.MethodGet && loadBalancerPath.MatchString(path):
		return g.noteLook(r)
	}

	return nil
}

// loadBalancerPath is that of load balancers, or of one.
var loadBalancerPath = regexp.MustCompile(`^/v2(\.0)?/lbaas/loadbalancers(/[0-9a-f-]{36})?$`)

// noteLook counts a response that has a pending load balancer: how often the provider looks
// depends on how long Octavia takes.
func (g *gateway) noteLook(r *http.Response) error {
	body, err := replaceBody(r, func(body []byte) []byte { return body })
	if err == nil && bytes.Contains(body, []byte(`"provisioning_status": "PENDING_`)) {
		g.mu.Lock()
		g.looks++
		g.mu.Unlock()
	}

	return err
}

// replaceBody reads a response and puts another body in its place, which it returns.
func replaceBody(r *http.Response, replace func([]byte) []byte) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	body = replace(body)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))

	return body, nil
}

// hideExtensions takes extensions out of the list of Neutron.
func (g *gateway) hideExtensions(r *http.Response) error {
	_, err := replaceBody(r, func(body []byte) []byte {
		var list struct {
			Extensions []map[string]any `json:"extensions"`
		}
		if json.Unmarshal(body, &list) != nil {
			return body // the provider gets what is malformed
		}
		list.Extensions = slices.DeleteFunc(list.Extensions, func(e map[string]any) bool {
			return slices.Contains(g.withoutExtensions, e["alias"].(string))
		})
		shorter, err := json.Marshal(list)
		if err != nil {
			panic(err) // it was JSON before
		}

		return shorter
	})

	return err
}

// logins returns the tokens of all logins.
func (g *gateway) logins() []string {
	g.mu.Lock()
	defer g.mu.Unlock()

	return slices.Clone(g.tokens)
}

// pendingLooks counts the responses in which a load balancer was pending.
func (g *gateway) pendingLooks() int {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.looks
}

// injectFault makes the requests of an injection fail, and returns how many have so far.
func (g *gateway) injectFault(i explore.Injection) (hits func() int) {
	fault := openstacktest.FaultOf(i)
	if i.Fault == explore.Failed {
		fault = response(http.StatusInternalServerError, `{"NeutronError": {"type": "HTTPInternalServerError", "message": "Request Failed: internal server error while processing your request.", "detail": ""}}`)
	}

	return openstacktest.Inject(&g.Interceptor, i, fault)
}

// clearFaults ends the failure, and all faults.
func (g *gateway) clearFaults(t testing.TB) {
	t.Helper()
	g.Clear()
	must(t, g.server.Up())
}

// requests counts the requests so far, without logins and version documents, and those that
// change something.
func (g *gateway) requests() (all, writes int) {
	for op, n := range g.Calls() {
		method, path, _ := strings.Cut(op, " ")
		if strings.HasPrefix(path, "/v3/") || strings.Count(strings.Trim(path, "/"), "/") == 0 {
			continue
		}
		all += n
		if method != http.MethodGet {
			writes += n
		}
	}

	return all, writes
}

// fail makes all requests fail.
func (g *gateway) fail(t testing.TB, failure conformance.Failure) {
	t.Helper()
	var fault simserver.Fault
	switch failure {
	case conformance.Unreachable:
		g.server.Down()

		return
	case conformance.Hanging:
		g.server.Hang()

		return
	case conformance.Refusing:
		fault = response(http.StatusUnauthorized, `{"error": {"code": 401, "message": "The request you have made requires authentication.", "title": "Unauthorized"}}`)
	case conformance.Throttling:
		fault = simserver.Page(http.StatusTooManyRequests)
	case conformance.ProxyNotFound, conformance.ProxyOK, conformance.ProxyBadGateway:
		fault = simserver.Page(failure.Page())
	default:
		t.Fatalf("no failure %s", failure)
	}
	g.Inject(simserver.Any, simserver.Always(), fault)
}

// response is the fault that responds in place of a service.
func response(status int, body string) simserver.Fault {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = strings.NewReader(body).WriteTo(w) // a client that is gone misses it
	}
}
