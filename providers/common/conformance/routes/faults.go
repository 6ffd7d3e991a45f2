package routes

import (
	"context"
	"slices"
	"testing"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// faultCases are about a route whose creation or deletion ends at any of its calls.
// The next provider knows only the cloud and the Nodes.
func faultCases() []testCase {
	return slices.Concat(interrupted("creating a route", creation), interrupted("deleting a route", deletion))
}

// interrupted returns the cases about an operation.
func interrupted(name string, begin func(f *fixture) explore.Run) []testCase {
	return harness.FaultCases(harness.Operation[Adapter]{
		Name: name,
		LeftOut: func(a Adapter, fault explore.Fault) bool {
			return a.Without.FaultInjection || fault == explore.Throttled && a.Without.Throttling
		},
		Explorers: func(a Adapter) (*harness.Explorers, int) { return a.explorers, a.FaultPoints },
		Begin:     func(t testing.TB, a Adapter) explore.Run { return begin(newFixture(t, a)) },
	}, func(f *fixture) (testing.TB, Adapter) { return f.T, f.adapter })
}

// creation prepares a cluster of which one node has no route yet.
func creation(f *fixture) explore.Run {
	nodes := f.join(2, ipv4)
	f.start()
	f.mustAdd(nodes[0])

	return f.begin((*fixture).add, routeOf(nodes[1]))
}

// deletion prepares a cluster of which one node is gone.
func deletion(f *fixture) explore.Run {
	nodes := f.join(2, ipv4)
	f.start()
	f.mustAdd(nodes...)
	route := f.listed(nodes[1].Spec.PodCIDR)
	if route == nil {
		f.T.Fatal("the route is not listed")
	}
	f.leave(nodes[1])

	return f.begin((*fixture).remove, route)
}

// begin returns a run of a call, from which the passes of another provider recover.
func (f *fixture) begin(call func(f *fixture, route *cloudprovider.Route) error, route *cloudprovider.Route) explore.Run {
	return explore.Run{
		Cloud:   f.Cloud,
		Operate: func(ctx context.Context) error { return call(f.during(ctx), route) },
		Next: []explore.Process{{
			Operate: func(ctx context.Context) error {
				f.connect()

				return f.during(ctx).pass() //nolint:contextcheck // the fixture has the context
			},
			Recover: func() {
				f.start()
				f.settle()
				f.check(f.nodes...)
			},
		}},
	}
}

// during returns the fixture for a process that ends with ctx.
func (f *fixture) during(ctx context.Context) *fixture {
	process := *f
	process.Mutable = f.During(ctx)

	return &process
}
