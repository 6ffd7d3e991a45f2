package loadbalancers

import (
	"context"
	"errors"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// failureCases are about clouds that fail.
func failureCases() []testCase {
	outages := harness.Outages[Adapter, *fixture]{
		FromStartName: "is an error for Services", FromStart: brokenFromStart,
		LaterName: "is an error for Services", Later: brokenLater,
		Without: func(a Adapter) (coldStart, throttling bool) { return a.Without.ColdStart, a.Without.Throttling },
	}

	return append(outages.Cases(),
		testCase{Name: "a canceled call for a Service returns", Run: canceledReturns},
		testCase{Name: "a call for a Service that was canceled before changes nothing", Run: canceledChangesNothing},
	)
}

// brokenFromStart: the provider starts before the cloud does.
func brokenFromStart(f *fixture, failure conformance.Failure) {
	m := f.CreateMany(2)
	f.InjectFailure(failure)
	*f = *f.connectAs(ourCluster)
	service := f.service("web")
	f.store(service)
	nodes := harness.NodesOf(m...)
	f.CheckFails(failure, map[string]func() error{
		"GetLoadBalancer": func() error {
			_, _, err := f.get(service)

			return err
		},
		"EnsureLoadBalancer": func() error {
			_, err := f.ensure(service, nodes)

			return err
		},
		"UpdateLoadBalancer":        func() error { return f.update(service, nodes) },
		"EnsureLoadBalancerDeleted": func() error { return f.remove(service) },
	})
	f.Cloud.ClearFaults(f.T)
	f.recovers(service, m)
	f.mustRemove(service)
	f.CheckNothingLeft()
}

// recovers waits until a load balancer exists.
func (f *fixture) recovers(service *v1.Service, m []machine) {
	f.T.Helper()
	f.Eventually("EnsureLoadBalancer of "+service.Name, func() error { return f.tryEnsure(service, harness.NodesOf(m...)) })
	f.check(service, m)
}

// brokenLater: there are load balancers already, some of which must change.
func brokenLater(f *fixture, failure conformance.Failure) {
	f.start()
	m := f.CreateMany(3)
	fresh, edited, updated, deleted := f.service("fresh"), f.service("edited"), f.service("updated"), f.service("deleted")
	for _, service := range []*v1.Service{edited, updated, deleted} {
		f.mustEnsure(service, m[:2]...)
	}
	before := f.Cloud.Resources()
	edited.Spec.Ports = edited.Spec.Ports[:1]
	f.store(fresh)
	f.InjectFailure(failure)
	nodes, more := harness.NodesOf(m[:2]...), harness.NodesOf(m...)
	f.CheckFails(failure, map[string]func() error{
		"GetLoadBalancer of what does not exist": func() error {
			_, _, err := f.get(fresh)

			return err
		},
		"GetLoadBalancer of what exists": func() error {
			if _, exists, err := f.get(updated); err != nil || !exists {
				return err
			}

			return apierr.Mark(apierr.ErrUnavailable, errors.New("it exists, which is true"))
		},
		"EnsureLoadBalancer of what does not exist": func() error {
			_, err := f.ensure(fresh, nodes)

			return err
		},
		"EnsureLoadBalancer of what was edited": func() error {
			_, err := f.ensure(edited, nodes)

			return err
		},
		"UpdateLoadBalancer with a node more":      func() error { return f.update(updated, more) },
		"EnsureLoadBalancerDeleted of what exists": func() error { return f.remove(deleted) },
	})
	f.CheckUnchanged("during the failure: the cloud", before, f.Cloud.Resources())
	f.Cloud.ClearFaults(f.T)
	f.recovers(fresh, m[:2])
	f.recovers(edited, m[:2])
	f.recovers(updated, m)
	f.Eventually("EnsureLoadBalancerDeleted", func() error { return f.remove(deleted) })
	f.checkAbsent(deleted)
	for _, service := range []*v1.Service{fresh, edited, updated} {
		f.mustRemove(service)
	}
	f.CheckNothingLeft()
}

// cancelable are the calls that are canceled, by name.
func (f *fixture) cancelable(kept, fresh *v1.Service, nodes []*v1.Node) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"GetLoadBalancer": func(ctx context.Context) error {
			_, _, err := f.balancers.GetLoadBalancer(ctx, f.cluster, fresh)

			return err
		},
		"EnsureLoadBalancer": func(ctx context.Context) error {
			_, err := f.balancers.EnsureLoadBalancer(ctx, f.cluster, fresh, nodes)

			return err
		},
		"UpdateLoadBalancer": func(ctx context.Context) error {
			return f.balancers.UpdateLoadBalancer(ctx, f.cluster, kept, nodes)
		},
		"EnsureLoadBalancerDeleted": func(ctx context.Context) error {
			return f.balancers.EnsureLoadBalancerDeleted(ctx, f.cluster, kept)
		},
	}
}

// canceledReturns: the service controller cancels its calls when it is stopped.
func canceledReturns(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	kept, fresh := f.service("kept"), f.service("fresh")
	f.mustEnsure(kept, m[:2]...)
	f.store(fresh)
	f.InjectFailure(conformance.Hanging)
	calls := f.cancelable(kept, fresh, harness.NodesOf(m...))
	for _, what := range slices.Sorted(maps.Keys(calls)) {
		if f.CheckCancels(what, calls[what]) == nil {
			f.T.Errorf("%s returns no error, though the cloud did not respond", what)
		}
	}
	f.Cloud.ClearFaults(f.T)
	f.recovers(kept, m)
	f.recovers(fresh, m)
}

// canceledChangesNothing: an operation must not begin once it is canceled.
func canceledChangesNothing(f *fixture) {
	f.start()
	m := f.CreateMany(3)
	kept, fresh := f.service("kept"), f.service("fresh")
	f.mustEnsure(kept, m[:2]...)
	f.store(fresh)
	before := f.Cloud.Resources()
	ctx, cancel := context.WithCancel(f.T.Context())
	cancel()
	calls := f.cancelable(kept, fresh, harness.NodesOf(m...))
	for _, what := range slices.Sorted(maps.Keys(calls)) {
		if err := harness.Do(f.Fixture, what, func(context.Context) error { return calls[what](ctx) }); err == nil {
			f.T.Errorf("%s is no error when it was canceled before", what)
		}
	}
	f.CheckUnchanged("the cloud", before, f.Cloud.Resources())
	f.check(kept, m[:2])
}
