package conformance

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
)

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
