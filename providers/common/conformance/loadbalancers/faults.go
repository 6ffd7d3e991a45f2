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
	run    func(f *fixture, service *v1.Service, m []machine) error
	// recover runs with another provider.
	recover func(f *fixture, service *v1.Service, m []machine)
}

// operations are what can be interrupted, and what recovers from it.
func operations() []operation {
	ensure := func(f *fixture, service *v1.Service, m []machine) error {
		return f.tryEnsure(service, harness.NodesOf(m[:2]...))
	}
	edit := func(f *fixture, service *v1.Service, m []machine) error {
		service.Spec.Ports[0].NodePort += 5
		service.Spec.Ports[1].Port = 8443

		return f.tryEnsure(service, harness.NodesOf(m[1:]...))
	}
	remove := func(f *fixture, service *v1.Service, _ []machine) error {
		return f.persist(func() error { return f.remove(service) })
	}
	removed := func(f *fixture, service *v1.Service, _ []machine) {
		f.mustRemove(service)
		f.CheckNothingLeft()
	}
	ensured := func(machines func([]machine) []machine) func(f *fixture, service *v1.Service, m []machine) {
		return func(f *fixture, service *v1.Service, m []machine) {
			f.mustEnsure(service, machines(m)...)
			f.resync(service, machines(m)...)
		}
	}

	return []operation{
		{"a creation", false, ensure, ensured(func(m []machine) []machine { return m[:2] })},
		{"a creation that is given up", false, ensure, removed},
		{"an edit", true, edit, ensured(func(m []machine) []machine { return m[1:] })},
		{"an edit that is given up", true, edit, removed},
		{"a change of the nodes", true, func(f *fixture, service *v1.Service, m []machine) error {
			return f.persist(func() error { return f.update(service, harness.NodesOf(m[1:]...)) })
		}, ensured(func(m []machine) []machine { return m[1:] })},
		{"a deletion", true, remove, removed},
		{"a deletion that is reverted", true, remove, ensured(func(m []machine) []machine { return m[:2] })},
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
		Next:    []explore.Process{{Recover: func() { o.recover(f.restart(), service, m) }}},
	}
}

// during returns the fixture for a process that ends with ctx.
func (f *fixture) during(ctx context.Context) *fixture {
	process := *f
	process.Mutable = f.During(ctx)

	return &process
}
