package conformance

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
)

// balancerLoadCases are about many calls, at a time and in all.
func balancerLoadCases() []balancerCase {
	return []balancerCase{
		{name: "many Services are served at once", run: manyAtOnce},
		{name: "calls for one Service at once end in order", run: oneAtOnce},
		{name: "an update that races a deletion makes nothing again", run: updateRacesDelete},
		{name: "creating a load balancer costs few calls", run: createCost},
		{name: "a resync of many Services writes nothing and costs few calls", run: resyncCost},
	}
}

// manyAtOnce is what a new leader does, and the end of a namespace.
func manyAtOnce(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	services := b.createServices(workers, m)
	for _, service := range services {
		b.check(service, m)
	}
	parallel(len(services), func(i int) {
		if err := b.persist(func() error { return b.remove(services[i]) }); err != nil {
			b.t.Errorf("delete %s: %v", services[i].Name, err)
		}
	})
	b.nothingLeft()
}

// createServices makes Services and their load balancers, several at a time.
func (b *balancerFixture) createServices(n int, m []machine) []*v1.Service {
	b.t.Helper()
	services := make([]*v1.Service, n)
	for i := range services {
		services[i] = b.service(fmt.Sprintf("web-%d", i))
	}
	parallel(n, func(i int) {
		if err := b.tryEnsure(services[i], nodesOf(m...)); err != nil {
			b.t.Errorf("ensure %s: %v", services[i].Name, err)
		}
	})

	return services
}

// oneAtOnce: the sweep over the nodes takes no lock, and a Service may be edited
// and deleted while its load balancer is made.
func oneAtOnce(b *balancerFixture) {
	b.start()
	m := b.createMany(4)
	service := b.service("web")
	for round := range rounds {
		b.store(service)
		all, some := nodesOf(m...), nodesOf(m[round%2:2]...)
		edited := service.DeepCopy()
		edited.Spec.Ports = edited.Spec.Ports[:1]
		var wg sync.WaitGroup
		for _, call := range []func(){
			func() { _, _ = b.ensure(service, all) },
			func() { _, _ = b.ensure(edited, some) },
			func() { _ = b.update(service, some) },
			func() { _ = b.remove(service) },
			func() { _, _, _ = b.get(service) },
		} {
			wg.Go(call)
		}
		wg.Wait()
		b.find(service) // two would end the case
		if round%2 == 0 {
			b.mustEnsure(service.DeepCopy(), m[:3]...)
			b.resync(service.DeepCopy(), m[:3]...)
		} else {
			b.mustRemove(service.DeepCopy())
			b.nothingLeft()
		}
	}
}

// updateRacesDelete: whichever comes first, nothing is there in the end.
func updateRacesDelete(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	service := b.service("web")
	for range rounds {
		b.mustEnsure(service, m[:2]...)
		late := service.DeepCopy()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := b.persist(func() error { return b.remove(service) }); err != nil {
				b.t.Errorf("delete: %v", err)
			}
		})
		for i := range m {
			nodes := nodesOf(m[i:]...)
			wg.Go(func() { _ = b.update(late, nodes) }) // an error if it comes late
		}
		wg.Wait()
		b.nothingLeft()
	}
}

func createCost(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	b.mustEnsure(b.service("first"), m...)
	service := b.service("web")
	nodes := nodesOf(m...)
	before := b.cloud.Calls()
	if err := b.tryEnsure(service, nodes); err != nil {
		b.t.Fatal(err)
	}
	if n := b.cloud.Calls() - before; n > b.suite.Budget.Create {
		b.t.Errorf("a Service with two ports and three nodes costs %d calls, the budget is %d", n, b.suite.Budget.Create)
	} else {
		b.t.Logf("a Service with two ports and three nodes costs %d calls", n)
	}
	b.check(service, m)
}

func resyncCost(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	n := b.suite.Budget.Services
	services := b.createServices(n, m)
	before := b.cloud.Leftovers()
	for _, with := range []*balancerFixture{b, b.restart()} {
		calls := b.cloud.Calls()
		b.writesNothing("a resync", func() {
			parallel(n, func(i int) {
				if err := with.tryEnsure(services[i], nodesOf(m...)); err != nil {
					b.t.Errorf("resync %s: %v", services[i].Name, err)
				}
			})
		})
		calls = b.cloud.Calls() - calls
		if limit := n * b.suite.Budget.Resync; calls > limit {
			b.t.Errorf("a resync of %d Services costs %d calls, the budget is %d", n, calls, limit)
		}
		b.t.Logf("a resync of %d Services: %d calls", n, calls)
	}
	b.unchanged("the cloud", before, b.cloud.Leftovers())
}
