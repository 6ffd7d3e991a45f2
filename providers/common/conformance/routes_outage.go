package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// routeOutageCases are about clouds that do not answer as they should.
func routeOutageCases() []routeCase {
	var cases []routeCase
	for _, failure := range []Failure{Unreachable, Hanging, Refusing, Throttling} {
		noThrottling := func(without RouteCapabilities) bool { return failure == Throttling && without.Throttling }
		cases = append(cases,
			routeCase{
				name:    fmt.Sprintf("a cloud %s from the start is an error for routes, then recovers", failure),
				leftOut: func(without RouteCapabilities) bool { return without.ColdStart || noThrottling(without) },
				run:     func(b *routeFixture) { routesBroken(b, failure, true) },
			},
			routeCase{
				name:    fmt.Sprintf("a cloud %s later is an error for routes, then recovers", failure),
				leftOut: noThrottling,
				run:     func(b *routeFixture) { routesBroken(b, failure, false) },
			},
		)
	}

	return append(cases, routeCase{name: "a caller for a route that gives up is let go", run: routeCallerGivesUp})
}

// routesBroken: an empty list would have every route made again, and a deletion
// that seems to succeed would leave one for ever.
func routesBroken(b *routeFixture, failure Failure, fromStart bool) {
	nodes := b.join(3, ipv4)
	kept := nodes[:0]
	if fromStart {
		b.breakCloud(failure)
		b.connect()
	} else {
		b.start()
		b.mustAdd(nodes[:2]...)
		b.check(nodes[:2]...)
		kept = nodes[:2]
		b.breakCloud(failure)
	}
	for range 2 {
		b.blind(nodes)
	}
	b.cloud.Heal(b.t)
	// A call that hung may be applied now, after its caller has given up.
	b.eventually("the routes after the outage", func() error { return errors.Join(b.pass(), b.compare(nodes...)) })
	b.check(nodes...)
	b.leave(kept...)
	b.settle()
	b.check(nodes[len(kept):]...)
}

// blind fails the case if any call does not fail.
func (b *routeFixture) blind(nodes []*v1.Node) {
	b.t.Helper()
	var wg sync.WaitGroup
	for what, call := range map[string]func() error{
		"ListRoutes":  func() error { _, err := b.list(); return err },
		"CreateRoute": func() error { return b.add(routeOf(nodes[2])) },
		"DeleteRoute": func() error { return b.remove(routeOf(nodes[0])) },
	} {
		wg.Go(func() {
			if call() == nil {
				b.t.Errorf("%s is no error in an outage", what)
			}
		})
	}
	wg.Wait()
}

func routeCallerGivesUp(b *routeFixture) {
	nodes := b.join(3, ipv4)
	b.start()
	b.mustAdd(nodes[:2]...)
	b.breakCloud(Hanging)
	calls := map[string]func(context.Context) error{
		"ListRoutes": func(ctx context.Context) error {
			_, err := b.routes.ListRoutes(ctx, ourCluster)

			return err
		},
		"CreateRoute": func(ctx context.Context) error { return b.routes.CreateRoute(ctx, ourCluster, "", routeOf(nodes[2])) },
		"DeleteRoute": func(ctx context.Context) error { return b.routes.DeleteRoute(ctx, ourCluster, routeOf(nodes[0])) },
	}
	for _, what := range slices.Sorted(maps.Keys(calls)) {
		b.letsGo(what, calls[what])
	}
	b.cloud.Heal(b.t)
	// A call that hung may be applied now, after its caller has given up.
	b.eventually("the routes after the outage", func() error { return errors.Join(b.pass(), b.compare(nodes...)) })
	b.check(nodes...)
}

// routeDisturbedCases are about a route that is interrupted at any of its calls.
// The next provider knows only the cloud and the Nodes.
func routeDisturbedCases() []routeCase {
	var cases []routeCase
	for turn, how := range disturbances() {
		leftOut := func(without RouteCapabilities) bool {
			return without.Disturbance || how.Fault == Throttled && without.Throttling
		}
		add := func(name string, prepare func(b *routeFixture) stage) {
			cases = append(cases, routeCase{
				name: name + " is put right when " + describe(how), leftOut: leftOut,
				run: func(b *routeFixture) {
					disturbEach(b.t, series{how, b.suite.Points, turn}, b.suite.rehearsals.of(name),
						func(t testing.TB) stage { return prepare(newRouteFixture(t, b.suite)) })
				},
			})
		}
		add("making a route", routeMade)
		add("deleting a route", routeDeleted)
	}

	return cases
}

// routeMade prepares a cluster of which one node has no route yet.
func routeMade(b *routeFixture) stage {
	nodes := b.join(2, ipv4)
	b.start()
	b.mustAdd(nodes[0])

	return b.stage(func() error { return b.add(routeOf(nodes[1])) })
}

// routeDeleted prepares a cluster of which one node is gone.
func routeDeleted(b *routeFixture) stage {
	nodes := b.join(2, ipv4)
	b.start()
	b.mustAdd(nodes...)
	route := b.listed(nodes[1].Spec.PodCIDR)
	if route == nil {
		b.t.Fatal("the route is not listed")
	}
	b.leave(nodes[1])

	return b.stage(func() error { return b.remove(route) })
}

// stage is this cloud with work that another provider's passes put right.
func (b *routeFixture) stage(act func() error) stage {
	return stage{
		cloud: b.cloud, act: act, state: b.cloud.Leftovers,
		repair: func() {
			b.start()
			b.settle()
			b.check(b.nodes...)
		},
	}
}
