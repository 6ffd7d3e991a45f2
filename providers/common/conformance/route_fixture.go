package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
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

// The three calls, each made once.

func (b *routeFixture) list() ([]*cloudprovider.Route, error) {
	b.t.Helper()

	return bounded(b.fixture, "ListRoutes", func(ctx context.Context) ([]*cloudprovider.Route, error) {
		return b.routes.ListRoutes(ctx, ourCluster)
	})
}

func (b *routeFixture) add(route *cloudprovider.Route) error {
	b.t.Helper()

	return b.kept("CreateRoute", route, func(ctx context.Context) error {
		return b.routes.CreateRoute(ctx, ourCluster, "uid-of-"+string(route.TargetNode), route)
	})
}

func (b *routeFixture) remove(route *cloudprovider.Route) error {
	b.t.Helper()

	return b.kept("DeleteRoute", route, func(ctx context.Context) error {
		return b.routes.DeleteRoute(ctx, ourCluster, route)
	})
}

// kept makes a call that must leave the route as it is, and come back.
func (b *routeFixture) kept(what string, route *cloudprovider.Route, call func(context.Context) error) error {
	b.t.Helper()
	before := *route
	before.TargetNodeAddresses = slices.Clone(route.TargetNodeAddresses)
	_, err := bounded(b.fixture, what+" of "+route.DestinationCIDR, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, call(ctx)
	})
	if errors.Is(err, errNoAnswer) {
		return err
	}
	if diff := gocmp.Diff(before, *route); diff != "" {
		b.t.Errorf("%s changed the route (-before +after):\n%s", what, diff)
	}

	return err
}

// mustAdd makes the routes of nodes.
func (b *routeFixture) mustAdd(nodes ...*v1.Node) {
	b.t.Helper()
	for _, node := range nodes {
		for _, route := range routesOf(node) {
			if err := b.add(route); err != nil {
				b.t.Fatalf("CreateRoute of %s: %v", route.DestinationCIDR, err)
			}
		}
	}
}

// mustList gives the routes listed, in order, and checks them one by one.
func (b *routeFixture) mustList() []*cloudprovider.Route {
	b.t.Helper()
	routes, err := b.list()
	if err != nil {
		b.t.Fatalf("ListRoutes: %v", err)
	}
	names := map[string]bool{}
	for _, route := range routes {
		if route == nil {
			b.t.Fatal("ListRoutes gives a route that is nil")
		}
		if route.Name == "" || names[route.Name] {
			b.t.Errorf("the name %q of the route to %s is empty or there twice", route.Name, route.DestinationCIDR)
		}
		names[route.Name] = true
		if _, err := netip.ParsePrefix(route.DestinationCIDR); err != nil {
			b.t.Errorf("the framework cannot read the destination: %v", err)
		}
	}
	slices.SortFunc(routes, func(x, y *cloudprovider.Route) int { return strings.Compare(x.DestinationCIDR, y.DestinationCIDR) })

	return routes
}

// listed gives the route that is listed for a range, or nil.
func (b *routeFixture) listed(cidr string) *cloudprovider.Route {
	b.t.Helper()
	for _, route := range b.mustList() {
		if route.DestinationCIDR == cidr {
			return route
		}
	}

	return nil
}

// check fails the case if the routes in the cloud, and those listed in the
// cluster's ranges, are not exactly those of the nodes.
func (b *routeFixture) check(nodes ...*v1.Node) {
	b.t.Helper()
	if err := b.compare(nodes...); err != nil {
		b.t.Error(err)
	}
	targets := map[string]string{}
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			targets[cidr] = node.Name
		}
	}
	got := map[string]string{}
	for _, route := range b.mustList() {
		if !responsible(route) {
			continue
		}
		got[route.DestinationCIDR] = string(route.TargetNode)
		if route.Blackhole {
			b.t.Errorf("the route to %s is a black hole", route.DestinationCIDR)
		}
	}
	if diff := gocmp.Diff(targets, got); diff != "" {
		b.t.Errorf("the routes listed are not as wanted (-want +got):\n%s", diff)
	}
}

// ordered brings routes into order.
func ordered(routes []CloudRoute) []CloudRoute {
	routes = slices.Clone(routes)
	slices.SortFunc(routes, func(x, y CloudRoute) int {
		return cmp.Or(strings.Compare(x.CIDR, y.CIDR), strings.Compare(x.ProviderID, y.ProviderID))
	})

	return routes
}

// responsible says that the framework takes care of the route.
func responsible(route *cloudprovider.Route) bool {
	prefix, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return false
	}

	return slices.ContainsFunc(clusterCIDRs, func(c netip.Prefix) bool { return c.Contains(prefix.Addr()) })
}

// routeKey is what the framework knows a route by.
func routeKey(route *cloudprovider.Route) string {
	return string(route.TargetNode) + " " + route.DestinationCIDR
}

// compare returns an error if the routes in the cloud are not those of the Nodes.
func (b *routeFixture) compare(nodes ...*v1.Node) error {
	var want []CloudRoute
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			want = append(want, CloudRoute{cidr, b.owners[node.Name].ProviderID})
		}
	}
	if diff := gocmp.Diff(ordered(want), ordered(b.cloud.Routes())); diff != "" {
		return fmt.Errorf("the routes in the cloud are not as wanted (-want +got):\n%s", diff)
	}

	return nil
}

// pass does what the framework's controller does: deletes what is no node's,
// and makes what is missing, all at once. It gives the errors.
func (b *routeFixture) pass() error {
	b.t.Helper()
	routes, err := b.list()
	if err != nil {
		return err
	}
	missing := map[string]*cloudprovider.Route{}
	for _, node := range b.nodes {
		for _, route := range routesOf(node) {
			missing[routeKey(route)] = route
		}
	}
	wanted := maps.Clone(missing)
	var calls []func() error
	for _, route := range routes {
		delete(missing, routeKey(route))
		if responsible(route) && (route.Blackhole || wanted[routeKey(route)] == nil) {
			calls = append(calls, func() error { return b.remove(route) })
		}
	}
	for _, route := range missing {
		calls = append(calls, func() error { return b.add(route) })
	}
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()

	return errors.Join(errs...)
}

// writesNothing fails the case if the work writes to the cloud.
func (b *routeFixture) writesNothing(what string, work func()) {
	b.t.Helper()
	before := b.cloud.Writes()
	work()
	if n := b.cloud.Writes() - before; n != 0 {
		b.t.Errorf("%s makes %d writes", what, n)
	}
}

// nothingLeft fails the case if anything is left of anybody.
func (b *routeFixture) nothingLeft() {
	b.t.Helper()
	if left := b.cloud.Leftovers(); len(left) != 0 {
		b.t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
	}
}
