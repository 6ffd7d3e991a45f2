//go:build openstackservices

package openstack

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/openstackservices"
)

// servicesTimeout bounds each operation on the real services.
const servicesTimeout = 3 * time.Minute

// realServices are OpenStack services that are reached over HTTP. It counts what a provider
// requests, and makes it fail, for the suites of all providers.
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
	must(t, err)
	t.Cleanup(found.Close)
	global, _, _ := strings.Cut(found.Text, "[LoadBalancer]")

	return &realServices{Services: found, t: t, global: global, gateway: newGateway(t)}
}

// Calls implements conformance.Cloud: it counts requests.
func (s *realServices) Calls() int { return s.gateway.Total() }

// Writes implements conformance.MutableCloud.
func (s *realServices) Writes() int {
	_, writes := s.gateway.requests()

	return writes
}

// InjectFailure implements conformance.Cloud.
func (s *realServices) InjectFailure(t testing.TB, failure conformance.Failure) {
	s.gateway.fail(t, failure)
}

// InjectFault implements conformance.MutableCloud.
func (s *realServices) InjectFault(_ testing.TB, i explore.Injection) (hits func() int) {
	return s.gateway.injectFault(i)
}

// ClearFaults implements conformance.Cloud.
func (s *realServices) ClearFaults(t testing.TB) { s.gateway.clearFaults(t) }

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
	must(s.t, err)
	found, err := servers.ExtractServers(pages)
	must(s.t, err)

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
