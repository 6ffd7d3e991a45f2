package routes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// clusterCIDRs are the ranges of all pods, one in each family.
var clusterCIDRs = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/32")}

// cluster is the name of the cluster.
const cluster = "east"

// machine is an instance of the test cloud.
type machine = harness.Machine

// fixture is what one case works with: a new test cloud, and the provider once it
// is connected.
type fixture struct {
	harness.Mutable[Cloud]
	adapter Adapter
	routes  cloudprovider.Routes
	// nodes are the Nodes of the cluster.
	nodes []*v1.Node
	// owners are the machines of the Nodes, by the Node's name.
	owners map[string]machine
}

// newFixture makes the test cloud of one case.
func newFixture(t testing.TB, adapter Adapter) *fixture {
	t.Helper()
	limits := harness.Limits{Timeout: adapter.Timeout, NoticeTime: adapter.NoticeTime}

	return &fixture{
		Mutable: harness.Mutable[Cloud]{Fixture: harness.NewFixture(t, adapter.NewCloud(t), limits)},
		adapter: adapter, owners: map[string]machine{},
	}
}

// connect starts a provider in place of the one before.
func (f *fixture) connect() {
	f.T.Helper()
	routes, ok := f.Cloud.ConnectAs(f.T, cluster).Routes()
	if !ok || routes == nil {
		f.T.Fatal("the provider does not offer Routes")
	}
	f.routes = routes
}

// start connects a provider and waits until it works.
func (f *fixture) start() {
	f.T.Helper()
	f.connect()
	f.Eventually("ListRoutes", func() error {
		_, err := f.list()

		return err
	})
}

// family returns the pod range of the n-th node.
type family func(n int) string

func ipv4(n int) string { return fmt.Sprintf("10.244.%d.0/24", n) }
func ipv6(n int) string { return fmt.Sprintf("fd00:244:%x::/64", n) }

// join creates machines with Nodes, each with a pod range of its own in every
// family.
func (f *fixture) join(count int, families ...family) []*v1.Node {
	f.T.Helper()
	var joined []*v1.Node
	for range count {
		number := len(f.owners) + 1
		m := conformance.Machine{Name: fmt.Sprintf("node-%d", number)}
		for _, family := range families {
			if strings.Contains(family(number), ":") {
				m.IPv6 = append(m.IPv6, fmt.Sprintf("fd00:9::%x", number))
			}
		}
		owner := f.CreateFrom(m)
		node := harness.NodesOf(owner)[0]
		for _, family := range families {
			node.Spec.PodCIDRs = append(node.Spec.PodCIDRs, family(number))
		}
		node.Spec.PodCIDR = node.Spec.PodCIDRs[0]
		f.owners[node.Name] = owner
		joined = append(joined, node)
	}
	f.setNodes(append(slices.Clone(f.nodes), joined...))

	return joined
}

// setNodes sets the Nodes of the cluster.
func (f *fixture) setNodes(nodes []*v1.Node) {
	f.T.Helper()
	f.nodes = nodes
	f.Cloud.SetNodes(f.T, nodes)
}

// leave removes Nodes, not their machines.
func (f *fixture) leave(gone ...*v1.Node) {
	f.T.Helper()
	f.setNodes(slices.DeleteFunc(slices.Clone(f.nodes), func(n *v1.Node) bool { return slices.Contains(gone, n) }))
}

// routesOf are the routes that the route controller wants for a node.
func routesOf(node *v1.Node) []*cloudprovider.Route {
	var routes []*cloudprovider.Route
	for _, cidr := range node.Spec.PodCIDRs {
		routes = append(routes, &cloudprovider.Route{
			TargetNode: types.NodeName(node.Name), TargetNodeAddresses: node.Status.Addresses, DestinationCIDR: cidr,
		})
	}

	return routes
}

// routeOf is the first of them.
func routeOf(node *v1.Node) *cloudprovider.Route { return routesOf(node)[0] }
