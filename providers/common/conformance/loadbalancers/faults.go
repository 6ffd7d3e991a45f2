package loadbalancers

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// operation is an operation on a load balancer that may be interrupted at any call.
type operation struct {
	name string
	// exists: there is a load balancer before.
	exists bool
	run    call
	// next is the operation of the next process, and recovered checks its result.
	next      call
	recovered func(f *fixture, service *v1.Service, m []machine)
}

// call is a call for a Service.
type call func(f *fixture, service *v1.Service, m []machine) error

// operations are what can be interrupted, and what recovers from it.
func operations() []operation {
	first := func(m []machine) []machine { return m[:2] }
	last := func(m []machine) []machine { return m[1:] }
	ensure := func(of func([]machine) []machine) call {
		return func(f *fixture, service *v1.Service, m []machine) error {
			return f.tryEnsure(service, harness.NodesOf(of(m)...))
		}
	}
	ensured := func(of func([]machine) []machine) func(f *fixture, service *v1.Service, m []machine) {
		return func(f *fixture, service *v1.Service, m []machine) {
			f.mustEnsure(service, of(m)...)
			f.resync(service, of(m)...)
		}
	}
	edit := func(f *fixture, service *v1.Service, m []machine) error {
		service.Spec.Ports[0].NodePort += 5
		service.Spec.Ports[1].Port = 8443

		return ensure(last)(f, service, m)
	}
	update := func(f *fixture, service *v1.Service, m []machine) error {
		return f.persist(func() error { return f.update(service, harness.NodesOf(m[1:]...)) })
	}
	remove := func(f *fixture, service *v1.Service, _ []machine) error {
		return f.persist(func() error { return f.remove(service) })
	}
	removed := func(f *fixture, service *v1.Service, _ []machine) {
		f.mustRemove(service)
		f.CheckNothingLeft()
	}

	return []operation{
		{"a creation", false, ensure(first), ensure(first), ensured(first)},
		{"a creation that is given up", false, ensure(first), remove, removed},
		{"an edit", true, edit, ensure(last), ensured(last)},
		{"an edit that is given up", true, edit, remove, removed},
		{"a change of the nodes", true, update, update, ensured(last)},
		{"a deletion", true, remove, remove, removed},
		{"a deletion that is reverted", true, remove, ensure(first), ensured(first)},
	}
}

// faultCases are about operations that end at any of their calls. The next provider
// knows only the cloud.
func faultCases() []testCase {
	var cases []testCase
	for _, o := range operations() {
		cases = slices.Concat(cases, harness.FaultCases(harness.Operation[Adapter]{
			Name: o.name,
			LeftOut: func(a Adapter, fault explore.Fault) bool {
				return a.Without.FaultInjection || fault == explore.Throttled && a.Without.Throttling
			},
			Explorers: func(a Adapter) (*harness.Explorers, int) { return a.explorers, a.FaultPoints },
			Begin:     func(t testing.TB, a Adapter) explore.Run { return o.begin(newFixture(t, a)) },
		}, func(f *fixture) (testing.TB, Adapter) { return f.T, f.adapter }))
	}

	return cases
}

// begin prepares the operation in a cloud of its own.
func (o operation) begin(f *fixture) explore.Run {
	f.T.Helper()
	f.start()
	m := f.CreateMany(3)
	service := f.service("web")
	f.store(service)
	if o.exists {
		f.mustEnsure(service, m[:2]...)
	}

	return explore.Run{
		Cloud:   f.Cloud,
		Operate: func(ctx context.Context) error { return o.run(f.during(ctx), service, m) },
		Next: []explore.Process{{
			Operate: func(ctx context.Context) error { return o.next(f.connectAs(f.cluster).during(ctx), service, m) },
			Recover: func() { o.recovered(f.restart(), service, m) },
		}},
	}
}

// during returns the fixture for a process that ends with ctx.
func (f *fixture) during(ctx context.Context) *fixture {
	process := *f
	process.Mutable = f.During(ctx)

	return &process
}
