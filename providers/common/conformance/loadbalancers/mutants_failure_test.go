package loadbalancers

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

func ownerMutants() map[string]mutant {
	const decoys, known = "resources of others are left alone", "resources of others are no load balancer of the Service"
	const apart, copied = "two clusters in one account do not touch each other's load balancers",
		"a copied cluster does not touch the original's load balancers"

	return map[string]mutant{
		"finds its own by the prefix":    {faulty(func(s *balancers) { s.byPrefix = true }), "changed", []string{decoys}},
		"treats similar ones as its own": {faulty(func(s *balancers) { s.byPrefix = true }), "", []string{known}},
		"treats same names as its own":   {faulty(func(s *balancers) { s.unowned = true }), "", []string{copied}},
		"names by name":                  {byName(), "not as wanted", []string{apart}},
	}
}

// byName builds a provider that confuses the Services of one name in all clusters.
func byName() build {
	build := replacing(func(w *balancersWith, correct *balancers) {
		named := func(service *v1.Service) *v1.Service {
			service = service.DeepCopy()
			service.UID = types.UID("of-" + service.Name)

			return service
		}
		w.name = func(service *v1.Service) string {
			return correct.GetLoadBalancerName(context.Background(), "", named(service))
		}
		w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
			return correct.GetLoadBalancer(ctx, cluster, named(service))
		}
		w.ensure = func(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			return correct.EnsureLoadBalancer(ctx, ourCluster, named(service), nodes)
		}
	})
	build.faulty = func(s *balancers) { s.unowned = true }

	return build
}

func loadMutants() map[string]mutant {
	const many, one, race = "many Services are served at once", "calls for one Service at once end in order",
		"an update that races a deletion creates nothing again"

	return map[string]mutant{
		"serves a few at once":    {busy(), "busy", []string{many, "a resync of many Services writes nothing and costs few calls"}},
		"changes twice at a time": {faulty(func(s *balancers) { s.unlocked, s.duplicates = true, true }), "2 load balancers", []string{one}},
		"creates again":           {faulty(func(s *balancers) { s.upserts = true }), "left behind", []string{race}},
		"reads too often": {replacing(func(w *balancersWith, correct *balancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				for range 5 {
					_, _, _ = correct.GetLoadBalancer(ctx, cluster, service)
				}

				return correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "the budget is", []string{
			"creating a load balancer costs few calls", "a resync of many Services writes nothing and costs few calls",
		}},
		"writes in every resync": {
			faulty(func(s *balancers) { s.rewrites = true }), "writes",
			[]string{"a resync of many Services writes nothing and costs few calls"},
		},
	}
}

// busy builds a provider that rejects more than a few calls at a time.
func busy() build {
	return replacing(func(w *balancersWith, correct *balancers) {
		var running atomic.Int32
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			defer running.Add(-1)
			if running.Add(1) > 5 {
				return nil, errors.New("busy")
			}

			return correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

func failureMutants() map[string]mutant {
	outages := harness.Select(failureCases(), "then recovers")
	endless := faulty(func(s *balancers) { s.endless = true })

	return map[string]mutant{
		"an error is no load balancer": {replacing(func(w *balancersWith, correct *balancers) {
			w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
				status, exists, _ := correct.GetLoadBalancer(ctx, cluster, service)

				return status, exists, nil
			}
		}), "GetLoadBalancer", outages},
		"an error is a deletion": {removing(func(ctx context.Context, correct *balancers, cluster string, service *v1.Service) error {
			_ = correct.EnsureLoadBalancerDeleted(ctx, cluster, service)

			return nil
		}), "EnsureLoadBalancerDeleted", outages},
		"an error is an update": {replacing(func(w *balancersWith, correct *balancers) {
			w.update = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
				_ = correct.UpdateLoadBalancer(ctx, cluster, service, nodes)

				return nil
			}
		}), "UpdateLoadBalancer", outages},
		"an error is a creation": {replacing(func(w *balancersWith, correct *balancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				status, err := correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
				if err != nil {
					status = &v1.LoadBalancerStatus{}
				}

				return status, nil
			}
		}), "EnsureLoadBalancer", outages},
		"gives up forever": {replacing(func(w *balancersWith, correct *balancers) {
			var failed atomic.Bool
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				if failed.Load() {
					return nil, errors.New("never again")
				}
				status, err := correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
				failed.Store(err != nil)

				return status, err
			}
		}), "never again", outages},
		"ignores cancellation":       {endless, "goes on after it was canceled", []string{"a canceled call for a Service returns"}},
		"begins when it is too late": {endless, "was canceled before", []string{"a call for a Service that was canceled before changes nothing"}},
		"has no deadline":            {endless, "did not return", harness.Select(failureCases(), "hanging")},
	}
}

// pageMutants are about pages of proxies.
func pageMutants() map[string]mutant {
	return map[string]mutant{
		"a page is a conflict": {removing(func(ctx context.Context, correct *balancers, cluster string, service *v1.Service) error {
			err := correct.EnsureLoadBalancerDeleted(ctx, cluster, service)
			if _, ok := errors.AsType[sim.PageError](err); ok {
				err = apierr.Mark(apierr.ErrConflict, errors.New(err.Error()))
			}

			return err
		}), "means conflict", harness.Select(failureCases(), "behind a proxy")},
	}
}

// faultMutants are about operations that are not finished.
func faultMutants() map[string]mutant {
	named := func(parts ...string) []string { return harness.Select(faultCases(), parts...) }
	shallow := faulty(func(s *balancers) { s.shallow, s.premature = true, true })

	return map[string]mutant{
		"notes that it is done before it is": {
			faulty(func(s *balancers) { s.assumes = true }), "call",
			slices.Concat(named("a creation is recovered"), named("an edit is recovered"), named("a change of the nodes is recovered")),
		},
		"notes what it deletes too late": {
			faulty(func(s *balancers) { s.assumes = true }), "call", named("a deletion that is reverted"),
		},
		"ignores the rest without the balancer": {shallow, "call", named("a deletion is recovered")},
		"finds only what is finished": {
			faulty(func(s *balancers) { s.complete = true }), "left behind", named("a creation that is given up"),
		},
		"deletes the rules of the edit alone": {
			faulty(func(s *balancers) { s.narrow = true }), "call", named("an edit that is given up"),
		},
		"ignores that a port failed": {
			faulty(func(s *balancers) { s.ignoresErrors = true }), "returned no error but is not done",
			slices.Concat(named("a creation is recovered", "one call is failed"), named("an edit is recovered", "one call is failed")),
		},
		"creates another without a response": {
			faulty(func(s *balancers) { s.duplicates = true }), "load balancer",
			slices.Concat(named("a creation is recovered", "lost"), named("a creation that is given up", "lost")),
		},
	}
}
