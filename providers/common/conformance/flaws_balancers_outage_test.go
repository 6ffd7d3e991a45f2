package conformance

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func balancerOwnerFlaws() map[string]flaw {
	const planted, known = "what others made is left alone", "what others made is no load balancer of the Service"
	const apart, copied = "two clusters in one account do not touch each other's load balancers",
		"a copied cluster does not touch the original's load balancers"

	return map[string]flaw{
		"knows its own by the beginning": {sloppily(func(s *simBalancers) { s.greedy = true }), "changed", []string{planted}},
		"takes the like for its own":     {sloppily(func(s *simBalancers) { s.greedy = true }), "", []string{known}},
		"takes what is named so":         {sloppily(func(s *simBalancers) { s.unowned = true }), "", []string{copied}},
		"names by name":                  {byName(), "not as wanted", []string{apart}},
	}
}

// byName builds a provider that takes the Services of one name for one, whatever
// cluster they are in.
func byName() simBuild {
	build := balancing(func(w *balancersWith, whole *simBalancers) {
		named := func(service *v1.Service) *v1.Service {
			service = service.DeepCopy()
			service.UID = types.UID("of-" + service.Name)

			return service
		}
		w.name = func(service *v1.Service) string {
			return whole.GetLoadBalancerName(context.Background(), "", named(service))
		}
		w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
			return whole.GetLoadBalancer(ctx, cluster, named(service))
		}
		w.ensure = func(ctx context.Context, _ string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			return whole.EnsureLoadBalancer(ctx, ourCluster, named(service), nodes)
		}
	})
	build.sloppy = func(s *simBalancers) { s.unowned = true }

	return build
}

func balancerLoadFlaws() map[string]flaw {
	const many, one, race = "many Services are served at once", "calls for one Service at once end in order",
		"an update that races a deletion makes nothing again"

	return map[string]flaw{
		"serves a few at once":  {busy(), "busy", []string{many, "a resync of many Services writes nothing and costs few calls"}},
		"works twice at a time": {sloppily(func(s *simBalancers) { s.unlocked, s.twins = true, true }), "2 load balancers", []string{one}},
		"heals twice at a time": {sloppily(func(s *simBalancers) { s.unlocked, s.heals = true, true }), "left behind", []string{race}},
		"makes again":           {sloppily(func(s *simBalancers) { s.adopts = true }), "left behind", []string{race}},
		"asks too often": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				for range 5 {
					_, _, _ = whole.GetLoadBalancer(ctx, cluster, service)
				}

				return whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "the budget is", []string{
			"creating a load balancer costs few calls", "a resync of many Services writes nothing and costs few calls",
		}},
		"writes in every resync": {
			sloppily(func(s *simBalancers) { s.rewrites = true }), "writes",
			[]string{"a resync of many Services writes nothing and costs few calls"},
		},
	}
}

// busy builds a provider that refuses more than a few calls at a time.
func busy() simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		var running atomic.Int32
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			defer running.Add(-1)
			if running.Add(1) > 5 {
				return nil, errors.New("busy")
			}

			return whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

func balancerOutageFlaws() map[string]flaw {
	outages := balancerNames(balancerOutageCases(), "then recovers")
	deaf := sloppily(func(s *simBalancers) { s.deaf = true })

	return map[string]flaw{
		"an error is no load balancer": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.get = func(ctx context.Context, cluster string, service *v1.Service) (*v1.LoadBalancerStatus, bool, error) {
				status, exists, _ := whole.GetLoadBalancer(ctx, cluster, service)

				return status, exists, nil
			}
		}), "GetLoadBalancer", outages},
		"an error is a deletion": {removing(func(ctx context.Context, whole *simBalancers, cluster string, service *v1.Service) error {
			_ = whole.EnsureLoadBalancerDeleted(ctx, cluster, service)

			return nil
		}), "EnsureLoadBalancerDeleted", outages},
		"an error is an update": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.update = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
				_ = whole.UpdateLoadBalancer(ctx, cluster, service, nodes)

				return nil
			}
		}), "UpdateLoadBalancer", outages},
		"an error is a creation": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				status, err := whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
				if err != nil {
					status = &v1.LoadBalancerStatus{}
				}

				return status, nil
			}
		}), "EnsureLoadBalancer", outages},
		"gives up for ever": {balancing(func(w *balancersWith, whole *simBalancers) {
			var failed atomic.Bool
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				if failed.Load() {
					return nil, errors.New("never again")
				}
				status, err := whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
				failed.Store(err != nil)

				return status, err
			}
		}), "never again", outages},
		"does not hear its caller": {deaf, "goes on after", []string{"a caller for a Service that gives up is let go"}},
		"begins what is too late":  {deaf, "gave up before", []string{"a caller for a Service that gave up before changes nothing"}},
		"has no deadline":          {deaf, "did not return", balancerNames(balancerOutageCases(), "hanging")},
	}
}

// disturbedFlaws are about work that is not finished.
func disturbedFlaws() map[string]flaw {
	named := func(parts ...string) []string { return balancerNames(balancerDisturbedCases(), parts...) }
	shallow := sloppily(func(s *simBalancers) { s.shallow, s.hasty = true, true })

	return map[string]flaw{
		"notes that it is done before it is": {
			sloppily(func(s *simBalancers) { s.presumes = true }), "not as wanted",
			slices.Concat(named("a creation is"), named("an edit is"), named("a change of the nodes is")),
		},
		"notes what it deletes too late": {
			sloppily(func(s *simBalancers) { s.presumes = true }), "call", named("a deletion that is taken back"),
		},
		"forgets the rest without the balancer": {shallow, "call", named("a deletion is")},
		"knows only what is finished": {
			sloppily(func(s *simBalancers) { s.ripe = true }), "left behind", named("a creation that is given up"),
		},
		"deletes the rules of the edit alone": {
			sloppily(func(s *simBalancers) { s.narrow = true }), "call", named("an edit that is given up"),
		},
		"says done when a port failed": {
			sloppily(func(s *simBalancers) { s.swallows = true }), "says it is done",
			slices.Concat(named("a creation is", "one call is failed"), named("an edit is", "one call is failed")),
		},
		"makes another when it hears nothing": {
			sloppily(func(s *simBalancers) { s.twins = true }), "load balancer",
			slices.Concat(named("a creation is", "lost"), named("a creation that is given up", "lost")),
		},
	}
}
