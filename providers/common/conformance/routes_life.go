package conformance

import (
	"slices"
	"strings"
	"sync"

	gocmp "github.com/google/go-cmp/cmp"
	cloudprovider "k8s.io/cloud-provider"
)

// routeLifeCases are about routes that are made, listed and deleted.
func routeLifeCases() []routeCase {
	noIPv6 := func(without RouteCapabilities) bool { return without.IPv6 }

	return []routeCase{
		{name: "a route is made, listed and deleted", run: func(b *routeFixture) { routeLives(b, ipv4) }},
		{name: "an IPv6 route is made, listed and deleted", leftOut: noIPv6, run: func(b *routeFixture) { routeLives(b, ipv6) }},
		{name: "routes of both families live together", leftOut: noIPv6, run: bothFamilies},
		{name: "names of routes never change", run: routeNamesStay},
		{name: "a route made twice is there once", run: routeTwice},
		{name: "deleting a route that is not there succeeds", run: deletesMissingRoute},
		{name: "a route to an unknown node is an error and makes nothing", run: unknownTarget},
		{name: "a route with a malformed destination is an error and makes nothing", run: malformedDestination},
		{name: "routes are made and deleted many at once", run: manyRoutes},
		{name: "listing many routes writes nothing and costs few calls", run: listCost},
		{name: "routes of others are left alone", run: leavesPlantedRoutes},
	}
}

func routeLives(b *routeFixture, family family) {
	nodes := b.join(3, family)
	b.start()
	b.check()
	b.mustAdd(nodes...)
	b.check(nodes...)
	for _, route := range b.mustList() {
		if route.DestinationCIDR != nodes[0].Spec.PodCIDR {
			continue
		}
		if err := b.remove(route); err != nil {
			b.t.Errorf("DeleteRoute: %v", err)
		}
	}
	b.check(nodes[1:]...)
	b.mustAdd(nodes[0])
	b.check(nodes...)
	b.leave(nodes...)
	if err := b.pass(); err != nil {
		b.t.Errorf("a pass without nodes: %v", err)
	}
	b.check()
	b.nothingLeft()
}

// bothFamilies gives every node a range of each family.
func bothFamilies(b *routeFixture) {
	nodes := b.join(3, ipv4, ipv6)
	b.start()
	if err := b.pass(); err != nil {
		b.t.Errorf("a pass: %v", err)
	}
	b.check(nodes...)
	b.leave(nodes[0])
	b.settle()
	b.check(nodes[1:]...)
}

func routeNamesStay(b *routeFixture) {
	nodes := b.join(3, ipv4)
	b.start()
	b.mustAdd(nodes...)
	first := b.mustList()
	if diff := gocmp.Diff(first, b.mustList()); diff != "" {
		b.t.Errorf("routes listed twice differ (-first +second):\n%s", diff)
	}
	b.start()
	if diff := gocmp.Diff(first, b.mustList()); diff != "" {
		b.t.Errorf("another provider lists other routes (-first +second):\n%s", diff)
	}
}

// routeTwice: the answer to the first call may have been lost.
func routeTwice(b *routeFixture) {
	nodes := b.join(2, ipv4)
	b.start()
	b.mustAdd(nodes...)
	b.mustAdd(nodes...)
	b.check(nodes...)
	b.start()
	b.mustAdd(nodes...)
	b.check(nodes...)
}

func deletesMissingRoute(b *routeFixture) {
	nodes := b.join(2, ipv4)
	b.start()
	if err := b.remove(routeOf(nodes[0])); err != nil {
		b.t.Errorf("DeleteRoute of what never was: %v", err)
	}
	b.mustAdd(nodes...)
	route := b.listed(nodes[0].Spec.PodCIDR)
	if route == nil {
		b.t.Fatalf("the route to %s is not listed", nodes[0].Spec.PodCIDR)
	}
	for range 2 {
		if err := b.remove(route); err != nil {
			b.t.Errorf("DeleteRoute: %v", err)
		}
	}
	b.check(nodes[1])
}

// unknownTarget: an instance cannot be guessed.
func unknownTarget(b *routeFixture) {
	nodes := b.join(1, ipv4)
	b.start()
	for _, target := range []cloudprovider.Route{
		{TargetNode: "never-was", DestinationCIDR: "10.244.77.0/24"},
		{TargetNode: "", DestinationCIDR: "10.244.78.0/24"},
	} {
		b.writesNothing("a route to an unknown node", func() {
			if err := b.add(&target); err == nil {
				b.t.Errorf("a route to the node %q is no error", target.TargetNode)
			}
		})
	}
	b.nothingLeft()
	b.mustAdd(nodes...)
	b.check(nodes...)
}

func malformedDestination(b *routeFixture) {
	nodes := b.join(1, ipv4)
	b.start()
	for _, cidr := range []string{"", "10.244.1.0", "10.244.1.0/33", "everywhere"} {
		route := routeOf(nodes[0])
		route.DestinationCIDR = cidr
		b.writesNothing("a route to nowhere", func() {
			if err := b.add(route); err == nil {
				b.t.Errorf("a route to %q is no error", cidr)
			}
		})
	}
	b.nothingLeft()
}

// manyRoutes: the framework makes up to 200 calls at once.
func manyRoutes(b *routeFixture) {
	nodes := b.join(b.suite.Budget.Routes, ipv4)
	b.start()
	calls := b.cloud.Calls()
	if err := b.pass(); err != nil {
		b.t.Fatalf("a pass over %d nodes: %v", len(nodes), err)
	}
	if n, limit := b.cloud.Calls()-calls, b.suite.Budget.List+len(nodes)*b.suite.Budget.Create; n > limit {
		b.t.Errorf("%d routes cost %d calls, the budget is %d", len(nodes), n, limit)
	} else {
		b.t.Logf("%d routes cost %d calls", len(nodes), n)
	}
	b.check(nodes...)
	routes := b.mustList()
	var wg sync.WaitGroup
	for i, route := range routes {
		if i%2 == 0 && responsible(route) {
			wg.Go(func() {
				if err := b.remove(route); err != nil {
					b.t.Errorf("DeleteRoute of %s: %v", route.DestinationCIDR, err)
				}
			})
		}
	}
	wg.Wait()
	if err := b.pass(); err != nil {
		b.t.Errorf("another pass: %v", err)
	}
	b.check(nodes...)
	b.leave(nodes...)
	if err := b.pass(); err != nil {
		b.t.Errorf("a pass without nodes: %v", err)
	}
	b.check()
	b.nothingLeft()
}

func listCost(b *routeFixture) {
	nodes := b.join(b.suite.Budget.Routes, ipv4)
	b.start()
	if err := b.pass(); err != nil {
		b.t.Fatalf("a pass over %d nodes: %v", len(nodes), err)
	}
	calls := b.cloud.Calls()
	b.writesNothing("a pass when nothing has changed", func() {
		if err := b.pass(); err != nil {
			b.t.Errorf("another pass: %v", err)
		}
	})
	if n := b.cloud.Calls() - calls; n > b.suite.Budget.List {
		b.t.Errorf("listing %d routes costs %d calls, the budget is %d", len(nodes), n, b.suite.Budget.List)
	} else {
		b.t.Logf("listing %d routes costs %d calls", len(nodes), n)
	}
}

// leavesPlantedRoutes: one odd route must not hide all others, and none is ours
// to change.
func leavesPlantedRoutes(b *routeFixture) {
	nodes := b.join(2, ipv4)
	planted := b.cloud.Plant(b.t)
	before := planted()
	if len(before) == 0 {
		b.t.Fatal("the test cloud planted nothing")
	}
	b.start()
	b.mustAdd(nodes...)
	b.check(nodes...)
	b.leave(nodes[0])
	if err := b.pass(); err != nil {
		b.t.Errorf("a pass: %v", err)
	}
	b.check(nodes[1])
	b.leave(nodes[1])
	if err := b.pass(); err != nil {
		b.t.Errorf("a pass: %v", err)
	}
	b.check()
	if after := planted(); !slices.Equal(before, after) {
		b.t.Errorf("what was planted changed from\n%s\nto\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	b.nothingLeft()
}
