package routes

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// list calls ListRoutes once, as add and remove call theirs.
func (f *fixture) list() ([]*cloudprovider.Route, error) {
	f.T.Helper()

	return harness.Call(f.Fixture, "ListRoutes", func(ctx context.Context) ([]*cloudprovider.Route, error) {
		return f.routes.ListRoutes(ctx, cluster)
	})
}

func (f *fixture) add(route *cloudprovider.Route) error {
	f.T.Helper()

	return f.call("CreateRoute", route, func(ctx context.Context) error {
		return f.routes.CreateRoute(ctx, cluster, hintOf(route), route)
	})
}

func (f *fixture) remove(route *cloudprovider.Route) error {
	f.T.Helper()

	return f.call("DeleteRoute", route, func(ctx context.Context) error {
		return f.routes.DeleteRoute(ctx, cluster, route)
	})
}

// call makes a call that must leave the route as it is.
func (f *fixture) call(what string, route *cloudprovider.Route, method func(context.Context) error) error {
	f.T.Helper()
	before := *route
	before.TargetNodeAddresses = slices.Clone(route.TargetNodeAddresses)
	err := harness.Do(f.Fixture, what+" of "+route.DestinationCIDR, method)
	if errors.Is(err, harness.ErrNoResult) {
		return err
	}
	if diff := gocmp.Diff(before, *route); diff != "" {
		f.T.Errorf("%s changed the route (-before +after):\n%s", what, diff)
	}

	return err
}

// mustAdd creates the routes of nodes.
func (f *fixture) mustAdd(nodes ...*v1.Node) {
	f.T.Helper()
	for _, node := range nodes {
		for _, route := range routesOf(node) {
			if err := f.add(route); err != nil {
				f.T.Fatalf("CreateRoute of %s: %v", route.DestinationCIDR, err)
			}
		}
	}
}

// mustList lists the routes, sorts them and checks them one by one.
func (f *fixture) mustList() []*cloudprovider.Route {
	f.T.Helper()
	routes, err := f.list()
	if err != nil {
		f.T.Fatalf("ListRoutes: %v", err)
	}
	names := map[string]bool{}
	for _, route := range routes {
		if route == nil {
			f.T.Fatal("ListRoutes returns a route that is nil")
		}
		if route.Name == "" || names[route.Name] {
			f.T.Errorf("the name %q of the route to %s is empty or used twice", route.Name, route.DestinationCIDR)
		}
		names[route.Name] = true
		if _, err := netip.ParsePrefix(route.DestinationCIDR); err != nil {
			f.T.Errorf("the route controller cannot parse the destination: %v", err)
		}
	}
	slices.SortFunc(routes, func(x, y *cloudprovider.Route) int { return strings.Compare(x.DestinationCIDR, y.DestinationCIDR) })

	return routes
}

// listed returns the route that is listed for a range, or nil.
func (f *fixture) listed(cidr string) *cloudprovider.Route {
	f.T.Helper()
	for _, route := range f.mustList() {
		if route.DestinationCIDR == cidr {
			return route
		}
	}

	return nil
}

// hintOf returns the name that the route controller suggests for a route: the UID of its
// Node.
func hintOf(route *cloudprovider.Route) string { return "uid-of-" + string(route.TargetNode) }
