package conformance

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

// list calls ListRoutes once, as add and remove call theirs.
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
