package openstack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	suite "github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestConformanceRoutes runs the suite of all providers over routes (OS-ROUTE-2,
// OS-ROUTE-4, OS-ROUTE-6), with the extensions of Neutron that change how they are made.
func TestConformanceRoutes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		without []string
		create  int
	}{
		"all extensions":  {"a pair and a route: a list and two changes", nil, 3},
		"no atomic":       {"a router is read and replaced, twice if there was another change", []string{"extraroute-atomic"}, 5},
		"no pairs":        {"only routes", []string{"allowed-address-pairs"}, 1},
		"neither of both": {"only routes, the router is replaced", []string{"extraroute-atomic", "allowed-address-pairs"}, 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			suite.Run(t, suite.Adapter{
				Provider: ProviderName,
				NewCloud: func(t testing.TB) suite.Cloud { return newRoutesAdapter(t, tc.without) },
				// The networks of the router are read before the first change.
				Budget:      suite.Budget{List: 2, Create: tc.create},
				Timeout:     10 * time.Second,
				NoticeTime:  time.Minute,
				FaultPoints: 6,
				How:         suite.How{InMemory: true},
			})
		})
	}
}

// routesAdapter is the test cloud of the suite for routes: a router in the network of all
// servers.
type routesAdapter struct {
	*nodesAdapter
	routedNodes

	router string
	pairs  bool
}

// routedNodes are the Nodes of a cluster, which its providers watch.
type routedNodes struct{ kubetest.WatchedNodes }

var _ suite.Cloud = (*routesAdapter)(nil)

func newRoutesAdapter(t testing.TB, without []string) *routesAdapter {
	t.Helper()
	// The suite makes more routes than a router has by default.
	cloud := openstacktest.Start(t, openstack.Options{InMemory: true, Quotas: openstack.Quotas{Routes: 100}})
	cloud.SetWithoutExtensions(without...)

	return &routesAdapter{
		nodesAdapter: &nodesAdapter{cloud, newServerNodes()},
		router:       cloud.AddRoutedNetwork(network),
		pairs:        !slices.Contains(without, "allowed-address-pairs"),
	}
}

// Connect makes the provider of the cluster.
func (a *routesAdapter) Connect(t testing.TB) cloudprovider.Interface { return a.ConnectAs(t, "") }

// ConnectAs makes the provider. Routes do not depend on the name of the cluster.
func (a *routesAdapter) ConnectAs(t testing.TB, _ string) cloudprovider.Interface {
	t.Helper()
	times := hasty()
	times.client.Dial = a.ClientOptions().Dial

	return a.connect(t, a.CloudConfig(openstack.UserCCM, "[Metadata]\nrequest-timeout = 2s\n"+routerSection(a.router)), times)
}

// routerSection is the part of the cloud-config about routes.
func routerSection(id string) string { return fmt.Sprintf("[Route]\nrouter-id = %s\n", id) }

// connect starts the provider for the Nodes.
func (n *routedNodes) connect(t testing.TB, text string, times tuning) *cloud {
	t.Helper()
	c, factory := connectWith(t, kubetest.NewClientset(), noEnvironment(), text, times)
	n.Watch(t, factory)

	return c
}

// Create adds a server.
func (a *routesAdapter) Create(_ testing.TB, m conformance.Machine) instance.Ref {
	id := a.AddServer(openstack.ServerSpec{Name: m.Name, Networks: []openstack.ServerNetwork{{Name: network, IPs: append(m.IPs, m.IPv6...)}}})

	return instance.Ref{ProviderID: "openstack:///" + id, SystemUUID: id, NodeName: m.Name}
}

// inCluster reports whether a destination is in the ranges of Pods.
func inCluster(cidr string) bool {
	return strings.HasPrefix(cidr, "10.244.") || strings.HasPrefix(cidr, "fd00:244:")
}

// Routes returns routes with the server that receives their traffic: one whose port may
// have it.
func (a *routesAdapter) Routes() []suite.Route {
	receivers := map[string]openstack.Port{}
	for _, id := range a.PortIDs() {
		port, _ := a.Port(id)
		for _, ip := range port.IPs {
			receivers[ip] = port
		}
	}
	var routes []suite.Route
	for _, found := range a.RouterRoutes(a.router) {
		if !inCluster(found[0]) {
			continue
		}
		route := suite.Route{CIDR: found[0]}
		port, ok := receivers[found[1]]
		if ok && (!a.pairs || slices.Contains(port.AddressPairs, found[0])) {
			route.ProviderID = "openstack:///" + port.Device
		}
		routes = append(routes, route)
	}

	return routes
}

// SeedDecoys creates routes to machines that are no Nodes, and to addresses that no machine
// has.
func (a *routesAdapter) SeedDecoys(t testing.TB) (describe func() []string) {
	t.Helper()
	port := a.AddPort(openstack.PortSpec{Network: a.NetworkOf(a.router), IPs: []string{"10.9.200.1"}, AddressPairs: []string{"192.168.7.0/24"}})
	a.SetRouterRoutes(a.router, append(a.RouterRoutes(a.router),
		[2]string{"0.0.0.0/0", "10.9.200.1"}, [2]string{"192.168.7.0/24", "10.9.200.1"},
		[2]string{"10.245.1.0/24", "10.9.200.2"}, [2]string{"fd00:245::/64", "fd00:9::eeee"})...)

	return func() []string {
		var lines []string
		for _, route := range a.RouterRoutes(a.router) {
			if !inCluster(route[0]) {
				lines = append(lines, route[0]+" via "+route[1])
			}
		}
		p, _ := a.Port(port)

		return append(lines, p.AddressPairs...)
	}
}

// Writes implements conformance.MutableCloud.
func (a *nodesAdapter) Writes() int {
	n := 0
	for _, count := range a.Cloud.Writes() {
		n += count
	}

	return n
}

// Resources implements conformance.MutableCloud.
func (a *nodesAdapter) Resources() []string { return a.Cloud.Resources() }
