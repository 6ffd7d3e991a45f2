package loadbalancers

import (
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// loadCases are about many calls, at a time and in all.
func loadCases() []testCase {
	return []testCase{
		{Name: "many Services are served at once", Run: manyAtOnce},
		{Name: "calls for one Service at once end in order", Run: oneAtOnce},
		{Name: "an update that races a deletion creates nothing again", Run: updateRacesDelete},
		{Name: "creating a load balancer costs few calls", Run: createCost},
		{Name: "a resync of many Services writes nothing and costs few calls", Run: resyncCost},
	}
}

// manyAtOnce: a new leader ensures, and the end of a namespace deletes many.
func manyAtOnce(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	services := f.createServices(harness.Workers, m)
	for _, service := range services {
		f.check(service, m)
	}
	harness.Parallel(len(services), func(i int) {
		if err := f.persist(func() error { return f.remove(services[i]) }); err != nil {
			f.T.Errorf("delete %s: %v", services[i].Name, err)
		}
	})
	f.CheckNothingLeft()
}

// createServices makes Services and their load balancers, several at a time.
func (f *fixture) createServices(n int, m []machine) []*v1.Service {
	f.T.Helper()
	services := make([]*v1.Service, n)
	for i := range services {
		services[i] = f.service(fmt.Sprintf("web-%d", i))
	}
	harness.Parallel(n, func(i int) {
		if err := f.tryEnsure(services[i], harness.NodesOf(m...)); err != nil {
			f.T.Errorf("ensure %s: %v", services[i].Name, err)
		}
	})

	return services
}

// oneAtOnce: node updates take no lock in the service controller, and a Service may
// be edited and deleted while its load balancer is created.
func oneAtOnce(f *fixture) {
	f.start()
	m := f.CreateMany(4)
	service := f.service("web")
	for round := range harness.Rounds {
		f.store(service)
		all, some := harness.NodesOf(m...), harness.NodesOf(m[round%2:2]...)
		edited := service.DeepCopy()
		edited.Spec.Ports = edited.Spec.Ports[:1]
		var wg sync.WaitGroup
		for _, call := range []func(){
			func() { _, _ = f.ensure(service, all) },
			func() { _, _ = f.ensure(edited, some) },
			func() { _ = f.update(service, some) },
			func() { _ = f.remove(service) },
			func() { _, _, _ = f.get(service) },
		} {
			wg.Go(call)
		}
		wg.Wait()
		f.find(service) // two would end the case
		if round%2 == 0 {
			f.mustEnsure(service.DeepCopy(), m[:3]...)
			f.resync(service.DeepCopy(), m[:3]...)
		} else {
			f.mustRemove(service.DeepCopy())
			f.CheckNothingLeft()
		}
	}
}

// updateRacesDelete: whichever comes first, nothing is there in the end.
func updateRacesDelete(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	service := f.service("web")
	for range harness.Rounds {
		f.mustEnsure(service, m[:2]...)
		late := service.DeepCopy()
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := f.persist(func() error { return f.remove(service) }); err != nil {
				f.T.Errorf("delete: %v", err)
			}
		})
		for i := range m {
			nodes := harness.NodesOf(m[i:]...)
			wg.Go(func() { _ = f.update(late, nodes) }) // an error if it comes late
		}
		wg.Wait()
		f.CheckNothingLeft()
	}
}

func createCost(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	f.mustEnsure(f.service("first"), m...)
	service := f.service("web")
	nodes := harness.NodesOf(m...)
	before := f.Cloud.Calls()
	if err := f.tryEnsure(service, nodes); err != nil {
		f.T.Fatal(err)
	}
	f.CheckCalls(f.adapter.Budget.Create, before, "a Service with two ports and three nodes")
	f.check(service, m)
}

func resyncCost(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	n := f.adapter.Budget.Services
	services := f.createServices(n, m)
	before := f.Cloud.Resources()
	for _, with := range []*fixture{f, f.restart()} {
		calls := f.Cloud.Calls()
		f.CheckWritesNothing("a resync", func() {
			harness.Parallel(n, func(i int) {
				if err := with.tryEnsure(services[i], harness.NodesOf(m...)); err != nil {
					f.T.Errorf("resync %s: %v", services[i].Name, err)
				}
			})
		})
		f.CheckCalls(n*f.adapter.Budget.Resync, calls, fmt.Sprintf("a resync of %d Services", n))
	}
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
}
