package vsphere

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	suite "github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
)

// TestConformanceRoutes (VS-ROUTE-1, VS-ROUTE-2, VS-ROUTE-3, VS-ROUTE-6) runs the suite of all providers over routes.
func TestConformanceRoutes(t *testing.T) {
	t.Parallel()
	suite.Run(t, suite.Adapter{
		Provider: ProviderName,
		NewCloud: newRoutesAdapter,
		// A route is written, and its realized state is read until it is there.
		Budget:      suite.Budget{List: 1, Create: 4},
		Timeout:     40 * time.Second, // one call may take 30
		NoticeTime:  2 * time.Minute,  // of a password that is refused at the start
		FaultPoints: 4,
		How:         suite.How{InMemory: true},
	})
}

// routeSection is the section of a cloud-config about routes.
const routeSection = "[Route]\nrouter-path = " + vspheretest.Tier1 + "\n"

// routesAdapter is the test cloud of the suite for routes.
type routesAdapter struct {
	*nsxtAdapter
	kubetest.WatchedNodes
}

var _ suite.Cloud = (*routesAdapter)(nil)

func newRoutesAdapter(t testing.TB) suite.Cloud {
	t.Helper()

	return &routesAdapter{nsxtAdapter: newNSXTAdapter(t, nsxt.Spec{})}
}

// Connect makes the provider of the cluster.
func (a *routesAdapter) Connect(t testing.TB) cloudprovider.Interface { return a.ConnectAs(t, "") }

// ConnectAs makes the provider. The name of the cluster is that of each call.
func (a *routesAdapter) ConnectAs(t testing.TB, _ string) cloudprovider.Interface {
	t.Helper()
	c, factory := a.connect(t, routeSection)
	a.Watch(t, factory)

	return c
}

// each calls a function with the network and the next hop of each route of the gateway.
func (a *routesAdapter) each(f func(network, hop string)) {
	for _, route := range a.List("StaticRoutes") {
		for _, hop := range route["next_hops"].([]any) { //nolint:forcetypeassert // of the simulated API
			f(fmt.Sprint(route["network"]), fmt.Sprint(hop.(map[string]any)["ip_address"])) //nolint:forcetypeassert // of the simulated API
		}
	}
}

// inCluster reports whether a destination is in the ranges of Pods.
func inCluster(network string) bool {
	return strings.HasPrefix(network, "10.244.") || strings.HasPrefix(network, "fd00:244:")
}

// Routes returns the routes to Pods, with the VMs that receive their traffic.
func (a *routesAdapter) Routes() (routes []suite.Route) {
	a.each(func(network, hop string) {
		if inCluster(network) {
			routes = append(routes, suite.Route{CIDR: network, ProviderID: a.ids[hop]})
		}
	})

	return routes
}

// SeedDecoys creates routes without the tags of a cluster, and one with those of another.
func (a *routesAdapter) SeedDecoys(t testing.TB) (describe func() []string) {
	t.Helper()
	tag := func(scope, tag string) any { return map[string]any{"scope": scope, "tag": tag} }
	for id, tags := range map[string][]any{
		"none":  nil,
		"half":  {tag("vsphere.k8s.io/cluster-name", "kubernetes")},
		"other": {tag("vsphere.k8s.io/cluster-name", "another"), tag("vsphere.k8s.io/node-name", "node-1")},
		"cross": {tag("vsphere.k8s.io/node-name", "kubernetes"), tag("vsphere.k8s.io/cluster-name", "node-1"), tag("", "kubernetes")},
	} {
		err := a.Put(vspheretest.Tier1+"/static-routes/"+id, nsxt.Object{
			"network": "10.245.1.0/24", "next_hops": []any{map[string]any{"ip_address": "10.9.200.1"}}, "tags": tags,
		})
		if err != nil {
			t.Fatal(err)
		}
	}

	return func() (lines []string) {
		a.each(func(network, hop string) {
			if !inCluster(network) {
				lines = append(lines, network+" via "+hop)
			}
		})
		slices.Sort(lines)

		return lines
	}
}

// Resources implements conformance.MutableCloud.
func (a *routesAdapter) Resources() []string {
	return slices.DeleteFunc(a.Manager.Resources(), func(line string) bool { return strings.Contains(line, "10.245.1.0/24") })
}
