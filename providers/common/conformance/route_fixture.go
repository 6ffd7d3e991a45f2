package conformance

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// clusterCIDRs are the ranges of all pods, one in each family.
var clusterCIDRs = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:244::/32")}

// routeFixture is what one case about routes works with: a fresh test cloud, and the
// provider once it is connected.
type routeFixture struct {
	*fixture
	suite  RouteSuite
	cloud  RouteCloud
	routes cloudprovider.Routes
	// nodes are the Nodes of the cluster.
	nodes []*v1.Node
	// owners are the machines of the Nodes, by the Node's name.
	owners map[string]machine
}

// newRouteFixture makes the test cloud of one case.
func newRouteFixture(t testing.TB, suite RouteSuite) *routeFixture {
	t.Helper()
	cloud := suite.NewCloud(t)
	common := Suite{Provider: suite.Provider, Timeout: suite.Timeout, Patience: suite.Patience}

	return &routeFixture{
		fixture: &fixture{t: t, suite: common, cloud: cloud},
		suite:   suite, cloud: cloud, owners: map[string]machine{},
	}
}

// connect starts a provider in the place of the one before.
func (b *routeFixture) connect() {
	b.t.Helper()
	routes, ok := b.cloud.ConnectAs(b.t, ourCluster).Routes()
	if !ok || routes == nil {
		b.t.Fatal("the provider does not offer Routes")
	}
	b.routes = routes
}

// start connects a provider and waits until it works.
func (b *routeFixture) start() {
	b.t.Helper()
	b.connect()
	b.eventually("ListRoutes", func() error {
		_, err := b.list()

		return err
	})
}

// family makes the pod range of the n-th node.
type family func(n int) string

func ipv4(n int) string { return fmt.Sprintf("10.244.%d.0/24", n) }
func ipv6(n int) string { return fmt.Sprintf("fd00:244:%x::/64", n) }

// join makes machines with Nodes, each with a pod range of its own in every
// family.
func (b *routeFixture) join(count int, families ...family) []*v1.Node {
	b.t.Helper()
	var joined []*v1.Node
	for range count {
		number := len(b.owners) + 1
		m := Machine{Name: fmt.Sprintf("node-%d", number)}
		for _, family := range families {
			if strings.Contains(family(number), ":") {
				m.IPv6 = append(m.IPv6, fmt.Sprintf("fd00:9::%x", number))
			}
		}
		owner := b.createOf(m)
		node := nodesOf(owner)[0]
		for _, family := range families {
			node.Spec.PodCIDRs = append(node.Spec.PodCIDRs, family(number))
		}
		node.Spec.PodCIDR = node.Spec.PodCIDRs[0]
		b.owners[node.Name] = owner
		joined = append(joined, node)
	}
	b.setNodes(append(slices.Clone(b.nodes), joined...))

	return joined
}

// setNodes says which Nodes there are.
func (b *routeFixture) setNodes(nodes []*v1.Node) {
	b.t.Helper()
	b.nodes = nodes
	b.cloud.SetNodes(b.t, nodes)
}

// leave removes Nodes, not their machines.
func (b *routeFixture) leave(gone ...*v1.Node) {
	b.t.Helper()
	b.setNodes(slices.DeleteFunc(slices.Clone(b.nodes), func(n *v1.Node) bool { return slices.Contains(gone, n) }))
}

// routesOf are the routes that the framework wants for a node.
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
