package routes

import (
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// failureCases are about clouds that fail.
func failureCases() []testCase {
	outages := harness.Outages[Adapter, *fixture]{
		FromStartName: "is an error for routes", FromStart: brokenFromStart,
		LaterName: "is an error for routes", Later: brokenLater,
		Without: func(a Adapter) (coldStart, throttling bool) { return a.Without.ColdStart, a.Without.Throttling },
	}

	return append(outages.Cases(), testCase{Name: "a canceled call for a route returns", Run: canceledReturns})
}

// brokenFromStart: the provider starts before the cloud does.
func brokenFromStart(f *fixture, failure conformance.Failure) {
	nodes := f.join(3, ipv4)
	f.InjectFailure(failure)
	f.connect()
	f.fails(failure, nodes, nil)
}

// brokenLater: there are routes already.
func brokenLater(f *fixture, failure conformance.Failure) {
	nodes := f.join(3, ipv4)
	f.start()
	f.mustAdd(nodes[:2]...)
	f.check(nodes[:2]...)
	f.InjectFailure(failure)
	f.fails(failure, nodes, nodes[:2])
}

// fails makes all calls during the failure, and then waits until the routes are as
// wanted. An empty list would have every route created again, and a deletion that
// seems to succeed would leave one forever. Routes to the kept nodes exist already.
func (f *fixture) fails(failure conformance.Failure, nodes, kept []*v1.Node) {
	f.T.Helper()
	f.CheckFails(failure, map[string]func() error{
		"ListRoutes": func() error {
			_, err := f.list()

			return err
		},
		"CreateRoute": func() error { return f.add(routeOf(nodes[2])) },
		"DeleteRoute": func() error { return f.remove(routeOf(nodes[0])) },
	})
	f.Cloud.ClearFaults(f.T)
	// A call that hung may be applied now, after it was canceled.
	f.Eventually("the routes after the failure", func() error { return errors.Join(f.pass(), f.compare(nodes...)) })
	f.check(nodes...)
	f.leave(kept...)
	f.settle()
	f.check(nodes[len(kept):]...)
}

func canceledReturns(f *fixture) {
	nodes := f.join(3, ipv4)
	f.start()
	f.mustAdd(nodes[:2]...)
	f.InjectFailure(conformance.Hanging)
	calls := map[string]func(context.Context) error{
		"ListRoutes": func(ctx context.Context) error {
			_, err := f.routes.ListRoutes(ctx, cluster)

			return err
		},
		"CreateRoute": func(ctx context.Context) error {
			route := routeOf(nodes[2])

			return f.routes.CreateRoute(ctx, cluster, hintOf(route), route)
		},
		"DeleteRoute": func(ctx context.Context) error { return f.routes.DeleteRoute(ctx, cluster, routeOf(nodes[0])) },
	}
	for _, what := range slices.Sorted(maps.Keys(calls)) {
		if f.CheckCancels(what, calls[what]) == nil {
			f.T.Errorf("%s returns no error, though the cloud did not respond", what)
		}
	}
	f.Cloud.ClearFaults(f.T)
	// A call that hung may be applied now, after it was canceled.
	f.Eventually("the routes after the failure", func() error { return errors.Join(f.pass(), f.compare(nodes...)) })
	f.check(nodes...)
}
