package routes

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
func (f *fixture) check(nodes ...*v1.Node) {
	f.T.Helper()
	if err := f.compare(nodes...); err != nil {
		f.T.Error(err)
	}
	targets := map[string]string{}
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			targets[cidr] = node.Name
		}
	}
	got := map[string]string{}
	for _, route := range f.mustList() {
		if !responsible(route) {
			continue
		}
		got[route.DestinationCIDR] = string(route.TargetNode)
		if route.Blackhole {
			f.T.Errorf("the route to %s is a black hole", route.DestinationCIDR)
		}
	}
	if diff := gocmp.Diff(targets, got); diff != "" {
		f.T.Errorf("the routes listed are not as wanted (-want +got):\n%s", diff)
	}
}

// ordered sorts routes.
func ordered(routes []Route) []Route {
	routes = slices.Clone(routes)
	slices.SortFunc(routes, func(x, y Route) int {
		return cmp.Or(strings.Compare(x.CIDR, y.CIDR), strings.Compare(x.ProviderID, y.ProviderID))
	})

	return routes
}

// responsible reports whether the route controller is responsible for the route.
func responsible(route *cloudprovider.Route) bool {
	prefix, err := netip.ParsePrefix(route.DestinationCIDR)
	if err != nil {
		return false
	}

	return slices.ContainsFunc(clusterCIDRs, func(c netip.Prefix) bool { return c.Contains(prefix.Addr()) })
}

// routeKey is how the route controller identifies a route.
func routeKey(route *cloudprovider.Route) string {
	return string(route.TargetNode) + " " + route.DestinationCIDR
}

// compare returns an error if the routes in the cloud are not those of the Nodes.
func (f *fixture) compare(nodes ...*v1.Node) error {
	var want []Route
	for _, node := range nodes {
		for _, cidr := range node.Spec.PodCIDRs {
			want = append(want, Route{cidr, f.owners[node.Name].ProviderID})
		}
	}
	if diff := gocmp.Diff(ordered(want), ordered(f.Cloud.Routes())); diff != "" {
		return fmt.Errorf("the routes in the cloud are not as wanted (-want +got):\n%s", diff)
	}

	return nil
}

// pass does what the route controller does: it deletes the routes of no node and
// creates the missing ones, all at once. It returns the errors.
func (f *fixture) pass() error {
	f.T.Helper()
	routes, err := f.list()
	if err != nil {
		return err
	}
	missing := map[string]*cloudprovider.Route{}
	for _, node := range f.nodes {
		for _, route := range routesOf(node) {
			missing[routeKey(route)] = route
		}
	}
	wanted := maps.Clone(missing)
	var calls []func() error
	for _, route := range routes {
		delete(missing, routeKey(route))
		if responsible(route) && (route.Blackhole || wanted[routeKey(route)] == nil) {
			calls = append(calls, func() error { return f.remove(route) })
		}
	}
	for _, route := range missing {
		calls = append(calls, func() error { return f.add(route) })
	}
	errs := make([]error, len(calls))
	var wg sync.WaitGroup
	for i, call := range calls {
		wg.Go(func() { errs[i] = call() })
	}
	wg.Wait()

	return errors.Join(errs...)
}
