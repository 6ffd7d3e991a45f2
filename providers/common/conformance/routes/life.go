package routes

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	gocmp "github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
)

// lifecycleCases are about routes that are created, listed and deleted.
func lifecycleCases() []testCase {
	noIPv6 := func(a Adapter) bool { return a.Without.IPv6 }

	return []testCase{
		{Name: "a route is created, listed and deleted", Run: func(f *fixture) { routeLifecycle(f, ipv4) }},
		{Name: "an IPv6 route is created, listed and deleted", LeftOut: noIPv6, Run: func(f *fixture) { routeLifecycle(f, ipv6) }},
		{Name: "routes of both families exist together", LeftOut: noIPv6, Run: bothFamilies},
		{Name: "names of routes never change", Run: routeNamesStay},
		{Name: "a route created twice exists once", Run: routeTwice},
		{Name: "deleting a route that does not exist succeeds", Run: deletesMissingRoute},
		{Name: "a route to an unknown node is an error and creates nothing", Run: unknownTarget},
		{Name: "a route with a malformed destination is an error and creates nothing", Run: malformedDestination},
		{Name: "routes are created and deleted many at once", Run: manyRoutes},
		{Name: "listing many routes writes nothing and costs few calls", Run: listCost},
		{Name: "routes of others are left alone", Run: leavesDecoys},
	}
}

func routeLifecycle(f *fixture, family family) {
	nodes := f.join(3, family)
	f.start()
	f.check()
	f.mustAdd(nodes...)
	f.check(nodes...)
	for _, route := range f.mustList() {
		if route.DestinationCIDR != nodes[0].Spec.PodCIDR {
			continue
		}
		if err := f.remove(route); err != nil {
			f.T.Errorf("DeleteRoute: %v", err)
		}
	}
	f.check(nodes[1:]...)
	f.mustAdd(nodes[0])
	f.check(nodes...)
	f.leave(nodes...)
	if err := f.pass(); err != nil {
		f.T.Errorf("a pass without nodes: %v", err)
	}
	f.check()
	f.CheckNothingLeft()
}

// bothFamilies: every node has a range of each family.
func bothFamilies(f *fixture) {
	nodes := f.join(3, ipv4, ipv6)
	f.start()
	if err := f.pass(); err != nil {
		f.T.Errorf("a pass: %v", err)
	}
	f.check(nodes...)
	f.leave(nodes[0])
	f.settle()
	f.check(nodes[1:]...)
}

func routeNamesStay(f *fixture) {
	nodes := f.join(3, ipv4)
	f.start()
	f.mustAdd(nodes...)
	first := f.mustList()
	if diff := gocmp.Diff(first, f.mustList()); diff != "" {
		f.T.Errorf("routes listed twice differ (-first +second):\n%s", diff)
	}
	f.start()
	if diff := gocmp.Diff(first, f.mustList()); diff != "" {
		f.T.Errorf("another provider lists other routes (-first +second):\n%s", diff)
	}
}

// routeTwice: the response to the first call may have been lost.
func routeTwice(f *fixture) {
	nodes := f.join(2, ipv4)
	f.start()
	f.mustAdd(nodes...)
	f.mustAdd(nodes...)
	f.check(nodes...)
	f.start()
	f.mustAdd(nodes...)
	f.check(nodes...)
}

func deletesMissingRoute(f *fixture) {
	nodes := f.join(2, ipv4)
	f.start()
	if err := f.remove(routeOf(nodes[0])); err != nil {
		f.T.Errorf("DeleteRoute of what never was: %v", err)
	}
	f.mustAdd(nodes...)
	route := f.listed(nodes[0].Spec.PodCIDR)
	if route == nil {
		f.T.Fatalf("the route to %s is not listed", nodes[0].Spec.PodCIDR)
	}
	for range 2 {
		if err := f.remove(route); err != nil {
			f.T.Errorf("DeleteRoute: %v", err)
		}
	}
	f.check(nodes[1])
}

// unknownTarget: an instance must not be guessed.
func unknownTarget(f *fixture) {
	nodes := f.join(1, ipv4)
	f.start()
	for _, target := range []cloudprovider.Route{
		{TargetNode: "never-was", DestinationCIDR: "10.244.77.0/24"},
		{TargetNode: "", DestinationCIDR: "10.244.78.0/24"},
	} {
		f.CheckWritesNothing("a route to an unknown node", func() {
			if err := f.add(&target); err == nil {
				f.T.Errorf("a route to the node %q is no error", target.TargetNode)
			}
		})
	}
	f.CheckNothingLeft()
	f.mustAdd(nodes...)
	f.check(nodes...)
}

func malformedDestination(f *fixture) {
	nodes := f.join(1, ipv4)
	f.start()
	for _, cidr := range []string{"", "10.244.1.0", "10.244.1.0/33", "everywhere"} {
		route := routeOf(nodes[0])
		route.DestinationCIDR = cidr
		f.CheckWritesNothing("a route to nowhere", func() {
			if err := f.add(route); err == nil {
				f.T.Errorf("a route to %q is no error", cidr)
			}
		})
	}
	f.CheckNothingLeft()
}

// manyRoutes: the route controller makes up to 200 calls at once.
func manyRoutes(f *fixture) {
	nodes := f.join(f.adapter.Budget.Routes, ipv4)
	f.start()
	calls := f.Cloud.Calls()
	if err := f.pass(); err != nil {
		f.T.Fatalf("a pass over %d nodes: %v", len(nodes), err)
	}
	f.CheckCalls(f.adapter.Budget.List+len(nodes)*f.adapter.Budget.Create, calls, fmt.Sprintf("%d routes", len(nodes)))
	f.check(nodes...)
	routes := f.mustList()
	var wg sync.WaitGroup
	for i, route := range routes {
		if i%2 == 0 && responsible(route) {
			wg.Go(func() {
				if err := f.remove(route); err != nil {
					f.T.Errorf("DeleteRoute of %s: %v", route.DestinationCIDR, err)
				}
			})
		}
	}
	wg.Wait()
	if err := f.pass(); err != nil {
		f.T.Errorf("another pass: %v", err)
	}
	f.check(nodes...)
	f.leave(nodes...)
	if err := f.pass(); err != nil {
		f.T.Errorf("a pass without nodes: %v", err)
	}
	f.check()
	f.CheckNothingLeft()
}

func listCost(f *fixture) {
	nodes := f.join(f.adapter.Budget.Routes, ipv4)
	f.start()
	if err := f.pass(); err != nil {
		f.T.Fatalf("a pass over %d nodes: %v", len(nodes), err)
	}
	calls := f.Cloud.Calls()
	f.CheckWritesNothing("a pass when nothing has changed", func() {
		if err := f.pass(); err != nil {
			f.T.Errorf("another pass: %v", err)
		}
	})
	f.CheckCalls(f.adapter.Budget.List, calls, fmt.Sprintf("listing %d routes", len(nodes)))
}

// leavesDecoys: one invalid route must not hide all others, and none may be
// changed.
func leavesDecoys(f *fixture) {
	nodes := f.join(2, ipv4)
	decoys := f.Cloud.SeedDecoys(f.T)
	before := decoys()
	if len(before) == 0 {
		f.T.Fatal("the test cloud has no decoys")
	}
	f.start()
	f.mustAdd(nodes...)
	f.check(nodes...)
	f.leave(nodes[0])
	if err := f.pass(); err != nil {
		f.T.Errorf("a pass: %v", err)
	}
	f.check(nodes[1])
	f.leave(nodes[1])
	if err := f.pass(); err != nil {
		f.T.Errorf("a pass: %v", err)
	}
	f.check()
	if after := decoys(); !slices.Equal(before, after) {
		f.T.Errorf("decoys changed from\n%s\nto\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	f.CheckNothingLeft()
}
