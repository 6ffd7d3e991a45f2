package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
)

// balancerOutageCases are about clouds that do not answer as they should.
func balancerOutageCases() []balancerCase {
	var cases []balancerCase
	for _, failure := range []Failure{Unreachable, Hanging, Refusing, Throttling} {
		noThrottling := func(s LoadBalancerSuite) bool { return failure == Throttling && s.Without.Throttling }
		cases = append(cases,
			balancerCase{
				name:    fmt.Sprintf("a cloud %s from the start is an error for Services, then recovers", failure),
				leftOut: func(s LoadBalancerSuite) bool { return s.Without.ColdStart || noThrottling(s) },
				run:     func(b *balancerFixture) { balancersBrokenFromStart(b, failure) },
			},
			balancerCase{
				name:    fmt.Sprintf("a cloud %s later is an error for Services, then recovers", failure),
				leftOut: noThrottling,
				run:     func(b *balancerFixture) { balancersBrokenLater(b, failure) },
			},
		)
	}

	return append(cases,
		balancerCase{name: "a caller for a Service that gives up is let go", run: balancerCallerGivesUp},
		balancerCase{name: "a caller for a Service that gave up before changes nothing", run: balancerCallerGaveUp},
	)
}

// blind fails the case if any of the calls does not fail: nobody can know. Where
// GetLoadBalancer says that there is nothing, the framework forgets about it.
func (b *balancerFixture) blind(calls map[string]func() error) {
	b.t.Helper()
	for range 2 {
		var wg sync.WaitGroup
		for what, call := range calls {
			wg.Go(func() {
				if call() == nil {
					b.t.Errorf("%s is no error in an outage", what)
				}
			})
		}
		wg.Wait()
	}
}

// balancersBrokenFromStart: the provider starts before the cloud does.
func balancersBrokenFromStart(b *balancerFixture, failure Failure) {
	m := b.createMany(2)
	b.breakCloud(failure)
	*b = *b.connectAs(ourCluster)
	service := b.service("web")
	b.store(service)
	nodes := nodesOf(m...)
	b.blind(map[string]func() error{
		"GetLoadBalancer":           func() error { _, _, err := b.get(service); return err },
		"EnsureLoadBalancer":        func() error { _, err := b.ensure(service, nodes); return err },
		"UpdateLoadBalancer":        func() error { return b.update(service, nodes) },
		"EnsureLoadBalancerDeleted": func() error { return b.remove(service) },
	})
	b.cloud.Heal(b.t)
	b.recovers(service, m)
	b.mustRemove(service)
	b.nothingLeft()
}

// recovers waits until a load balancer is there, which nobody helps with.
func (b *balancerFixture) recovers(service *v1.Service, m []machine) {
	b.t.Helper()
	b.eventually("EnsureLoadBalancer of "+service.Name, func() error { return b.tryEnsure(service, nodesOf(m...)) })
	b.check(service, m)
}

// balancersBrokenLater: there are load balancers already, and work to do on
// them.
func balancersBrokenLater(b *balancerFixture, failure Failure) {
	b.start()
	m := b.createMany(3)
	fresh, edited, swept, doomed := b.service("fresh"), b.service("edited"), b.service("swept"), b.service("doomed")
	for _, service := range []*v1.Service{edited, swept, doomed} {
		b.mustEnsure(service, m[:2]...)
	}
	before := b.cloud.Leftovers()
	edited.Spec.Ports = edited.Spec.Ports[:1]
	b.store(fresh)
	b.breakCloud(failure)
	nodes, more := nodesOf(m[:2]...), nodesOf(m...)
	b.blind(map[string]func() error{
		"GetLoadBalancer of what is not there": func() error { _, _, err := b.get(fresh); return err },
		"GetLoadBalancer of what is there": func() error {
			if _, exists, err := b.get(swept); err != nil || !exists {
				return err
			}

			return errors.New("it is said to exist, which is true")
		},
		"EnsureLoadBalancer of what is not there":    func() error { _, err := b.ensure(fresh, nodes); return err },
		"EnsureLoadBalancer of what was edited":      func() error { _, err := b.ensure(edited, nodes); return err },
		"UpdateLoadBalancer with a node more":        func() error { return b.update(swept, more) },
		"EnsureLoadBalancerDeleted of what is there": func() error { return b.remove(doomed) },
	})
	b.unchanged("during the outage: the cloud", before, b.cloud.Leftovers())
	b.cloud.Heal(b.t)
	b.recovers(fresh, m[:2])
	b.recovers(edited, m[:2])
	b.recovers(swept, m)
	b.eventually("EnsureLoadBalancerDeleted", func() error { return b.remove(doomed) })
	b.checkAbsent(doomed)
	for _, service := range []*v1.Service{fresh, edited, swept} {
		b.mustRemove(service)
	}
	b.nothingLeft()
}

// interrupted are the calls for a caller that gives up, by name.
func (b *balancerFixture) interrupted(kept, fresh *v1.Service, nodes []*v1.Node) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"GetLoadBalancer": func(ctx context.Context) error {
			_, _, err := b.balancers.GetLoadBalancer(ctx, b.cluster, fresh)

			return err
		},
		"EnsureLoadBalancer": func(ctx context.Context) error {
			_, err := b.balancers.EnsureLoadBalancer(ctx, b.cluster, fresh, nodes)

			return err
		},
		"UpdateLoadBalancer": func(ctx context.Context) error {
			return b.balancers.UpdateLoadBalancer(ctx, b.cluster, kept, nodes)
		},
		"EnsureLoadBalancerDeleted": func(ctx context.Context) error {
			return b.balancers.EnsureLoadBalancerDeleted(ctx, b.cluster, kept)
		},
	}
}

// balancerCallerGivesUp: the framework cancels its calls when it is stopped.
func balancerCallerGivesUp(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	kept, fresh := b.service("kept"), b.service("fresh")
	b.mustEnsure(kept, m[:2]...)
	b.store(fresh)
	b.breakCloud(Hanging)
	calls := b.interrupted(kept, fresh, nodesOf(m...))
	for _, what := range slices.Sorted(maps.Keys(calls)) {
		b.letsGo(what, calls[what])
	}
	b.cloud.Heal(b.t)
	b.recovers(kept, m)
	b.recovers(fresh, m)
}

// letsGo fails the case if the call goes on after its caller gave up, or says
// that it is done.
func (b *fixture) letsGo(what string, call func(context.Context) error) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- call(ctx) }()
	time.Sleep(step) // let it get to the cloud
	cancel()
	select {
	case err := <-done:
		if err == nil {
			b.t.Errorf("%s says it is done, though the cloud did not answer", what)
		}
	case <-time.After(b.cancelBound()):
		b.t.Errorf("%s goes on after its caller gave up", what)
	}
}

// balancerCallerGaveUp: work that comes too late is not begun.
func balancerCallerGaveUp(b *balancerFixture) {
	b.start()
	m := b.createMany(3)
	kept, fresh := b.service("kept"), b.service("fresh")
	b.mustEnsure(kept, m[:2]...)
	b.store(fresh)
	before := b.cloud.Leftovers()
	ctx, cancel := context.WithCancel(b.t.Context())
	cancel()
	calls := b.interrupted(kept, fresh, nodesOf(m...))
	for _, what := range slices.Sorted(maps.Keys(calls)) {
		if _, err := bounded(b.fixture, what, func(context.Context) (struct{}, error) { return struct{}{}, calls[what](ctx) }); err == nil {
			b.t.Errorf("%s is no error for a caller that gave up before", what)
		}
	}
	b.unchanged("the cloud", before, b.cloud.Leftovers())
	b.check(kept, m[:2])
}
