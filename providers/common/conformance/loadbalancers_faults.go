package conformance

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// work is something done to a load balancer that may be interrupted at any call.
type work struct {
	name string
	// exists says that the load balancer is there before.
	exists bool
	act    func(b *balancerFixture, service *v1.Service, m []machine) error
	// repair works with another provider than act.
	repair func(b *balancerFixture, service *v1.Service, m []machine)
}

// works are what can be interrupted, and what must put it right.
func works() []work {
	ensure := func(b *balancerFixture, service *v1.Service, m []machine) error {
		return b.tryEnsure(service, nodesOf(m[:2]...))
	}
	edit := func(b *balancerFixture, service *v1.Service, m []machine) error {
		service.Spec.Ports[0].NodePort += 5
		service.Spec.Ports[1].Port = 8443

		return b.tryEnsure(service, nodesOf(m[1:]...))
	}
	remove := func(b *balancerFixture, service *v1.Service, _ []machine) error {
		return b.persist(func() error { return b.remove(service) })
	}
	removed := func(b *balancerFixture, service *v1.Service, _ []machine) {
		b.mustRemove(service)
		b.nothingLeft()
	}
	ensured := func(machines func([]machine) []machine) func(b *balancerFixture, service *v1.Service, m []machine) {
		return func(b *balancerFixture, service *v1.Service, m []machine) {
			b.mustEnsure(service, machines(m)...)
			b.resync(service, machines(m)...)
		}
	}

	return []work{
		{"a creation", false, ensure, ensured(func(m []machine) []machine { return m[:2] })},
		{"a creation that is given up", false, ensure, removed},
		{"an edit", true, edit, ensured(func(m []machine) []machine { return m[1:] })},
		{"an edit that is given up", true, edit, removed},
		{"a change of the nodes", true, func(b *balancerFixture, service *v1.Service, m []machine) error {
			return b.persist(func() error { return b.update(service, nodesOf(m[1:]...)) })
		}, ensured(func(m []machine) []machine { return m[1:] })},
		{"a deletion", true, remove, removed},
		{"a deletion that is taken back", true, remove, ensured(func(m []machine) []machine { return m[:2] })},
	}
}

// balancerDisturbedCases are about work that ends at any of its calls. The next
// provider knows only the cloud.
func balancerDisturbedCases() []balancerCase {
	var cases []balancerCase
	for _, w := range works() {
		for turn, how := range disturbances() {
			cases = append(cases, balancerCase{
				name: w.name + " is put right when " + describe(how),
				leftOut: func(s LoadBalancerSuite) bool {
					return s.Without.Disturbance || how.Fault == Throttled && s.Without.Throttling
				},
				run: func(b *balancerFixture) {
					disturbEach(b.t, series{how, b.suite.Points, turn}, b.suite.rehearsals.of(w.name),
						func(t testing.TB) stage { return w.stage(newBalancerFixture(t, b.suite)) })
				},
			})
		}
	}

	return cases
}

// stage prepares the work in a cloud of its own.
func (w work) stage(b *balancerFixture) stage {
	b.t.Helper()
	b.start()
	m := b.createMany(3)
	service := b.service("web")
	b.store(service)
	if w.exists {
		b.mustEnsure(service, m[:2]...)
	}

	return stage{
		cloud:  b.cloud,
		act:    func() error { return w.act(b, service, m) },
		repair: func() { w.repair(b.restart(), service, m) },
		state:  b.cloud.Leftovers,
	}
}
