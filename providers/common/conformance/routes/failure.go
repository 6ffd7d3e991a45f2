package routes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
)

// failureCases are about clouds that fail.
func failureCases() []testCase {
	var cases []testCase
	for _, failure := range conformance.Failures() {
		noThrottling := func(a Adapter) bool { return failure == conformance.Throttling && a.Without.Throttling }
		cases = append(cases,
			testCase{
				Name:    fmt.Sprintf("a cloud %s from the start is an error for routes, then recovers", failure),
				LeftOut: func(a Adapter) bool { return a.Without.ColdStart || noThrottling(a) },
				Run:     func(f *fixture) { broken(f, failure, true) },
			},
			testCase{
				Name:    fmt.Sprintf("a cloud %s later is an error for routes, then recovers", failure),
				LeftOut: noThrottling,
				Run:     func(f *fixture) { broken(f, failure, false) },
			},
		)
	}

	return append(cases, testCase{Name: "a canceled call for a route returns", Run: canceledReturns})
}

// broken: an empty list would have every route created again, and a deletion that
// seems to succeed would leave one forever.
func broken(f *fixture, failure conformance.Failure, fromStart bool) {
	nodes := f.join(3, ipv4)
	kept := nodes[:0]
	if fromStart {
		f.InjectFailure(failure)
		f.connect()
	} else {
		f.start()
		f.mustAdd(nodes[:2]...)
		f.check(nodes[:2]...)
		kept = nodes[:2]
		f.InjectFailure(failure)
	}
	f.CheckFails(map[string]func() error{
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
		"CreateRoute": func(ctx context.Context) error { return f.routes.CreateRoute(ctx, cluster, "", routeOf(nodes[2])) },
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
