//go:build openstackservices

package openstack

import (
	"bytes"
	"context"
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
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/openstackservices"
)

// servicesTimeout bounds each operation on the real services.
const servicesTimeout = 3 * time.Minute

// realServices are OpenStack services that are reached over HTTP.
type realServices struct {
	*openstackservices.Services

	t testing.TB
	// global is the part of the cloud-config before [LoadBalancer], which has the
	// credentials.
	global string
	// gateway is between the provider and the services. What the test itself requests
	// does not go through it.
	gateway *gateway
}

// startServices logs in to the services.
func startServices(t testing.TB) *realServices {
	t.Helper()
	found, err := openstackservices.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	global, _, _ := strings.Cut(found.Text, "[LoadBalancer]")

	return &realServices{Services: found, t: t, global: global, gateway: newGateway(t)}
}

// times are the durations of production, behind the gateway.
func (s *realServices) times() tuning {
	var times tuning
	times.client.Dial = s.gateway.server.Dial

	return times
}

// servers lists the servers of the project whose names begin with node-.
func (s *realServices) servers() []servers.Server {
	s.t.Helper()
	pages, err := servers.List(s.Compute, servers.ListOpts{Name: "^node-[0-9]+$"}).AllPages(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	found, err := servers.ExtractServers(pages)
	if err != nil {
		s.t.Fatal(err)
	}

	return found
}

// addressesOf returns the addresses of a server that Nova reports, of a type.
func addressesOf(server *servers.Server, kind string) []string {
	var ips []string
	for _, addresses := range server.Addresses {
		for _, row := range addresses.([]any) {
			if a := row.(map[string]any); a["OS-EXT-IPS:type"] == kind {
				ips = append(ips, a["addr"].(string))
			}
		}
	}

	return ips
}

// nodeOf is the Node of a server, an hour old and with its IPv4 addresses.
func nodeOf(server *servers.Server) *v1.Node {
	node := kubetest.Node(server.Name, kubetest.ProviderID("openstack:///"+server.ID), old)
	for _, ip := range addressesOf(server, "fixed") {
		if !strings.Contains(ip, ":") {
			kubetest.Address(v1.NodeInternalIP, ip)(node)
		}
	}

	return node
}

// eventually repeats a check of what the services do in their own time.
func (s *realServices) eventually(what string, check func(ctx context.Context) error) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), servicesTimeout)
	defer cancel()
	for {
		err := check(ctx)
		if err == nil {
			return
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			s.t.Fatalf("%s: %v", what, err)
		}
	}
}

// gateway passes the requests of a provider on to the services. It counts them by their
// method and path, with * for IDs, and can make them fail.
type gateway struct {
	simserver.Interceptor

	server *simserver.Server
	// withoutExtensions are those that Neutron does not list.
	withoutExtensions []string
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
		ModifyResponse: g.hideExtensions,
		ErrorLog:       log.New(io.Discard, "", 0), // clients hang up in every test
	}
	var err error
	g.server, err = simserver.Start(simserver.Config{Plain: true, InMemory: true}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.Serve(w, r, simserver.Call{Op: r.Method + " " + uuids.ReplaceAllString(r.URL.Path, "*")}, proxy)
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.server.Close(); err != nil {
			t.Error(err)
		}
		transport.CloseIdleConnections()
	})

	return g
}

// hideExtensions takes extensions out of the list of Neutron.
func (g *gateway) hideExtensions(r *http.Response) error {
	if r.Request.URL.Path != "/v2.0/extensions" || len(g.withoutExtensions) == 0 {
		return nil
	}
	var list struct {
		Extensions []map[string]any `json:"extensions"`
	}
	err := json.NewDecoder(r.Body).Decode(&list)
	if err = errors.Join(err, r.Body.Close()); err != nil {
		return err
	}
	list.Extensions = slices.DeleteFunc(list.Extensions, func(e map[string]any) bool {
		return slices.Contains(g.withoutExtensions, e["alias"].(string))
	})
	body, err := json.Marshal(list)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))

	return nil
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
