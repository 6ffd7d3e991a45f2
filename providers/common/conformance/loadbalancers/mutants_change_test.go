package loadbalancers

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/sim"
)

func editMutants() map[string]mutant {
	all := harness.Select(changeCases(), "and back")

	return map[string]mutant{
		"another address forevery edit": {replaces(), "the address changed", all},
		"keeps old rules": {faulty(func(s *balancers) { s.keepsRules = true }), "changed", []string{
			"another node port is followed, and back", "a port more is followed, and back",
		}},
	}
}

// replaces builds a provider that makes a load balancer anew forevery edit.
func replaces() build {
	return replacing(func(w *balancersWith, correct *balancers) {
		last := map[string]string{}
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			text := fmt.Sprint(service.Spec.Ports)
			if before := last[service.Name]; before != "" && before != text {
				if err := correct.EnsureLoadBalancerDeleted(ctx, cluster, service); err != nil {
					return nil, err
				}
			}
			last[service.Name] = text

			return correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

func nodeMutants() map[string]mutant {
	const part = "a Service may have a part of the nodes, which stays"
	const follows, invalidNode, gone = "UpdateLoadBalancer follows the nodes",
		"nodes that cannot be targets do not keep out the others", "nodes whose instances are gone are removed"
	updating := func(update func(correct *balancers) func(context.Context, string, *v1.Service, []*v1.Node) error) build {
		return replacing(func(w *balancersWith, correct *balancers) { w.update = update(correct) })
	}

	return map[string]mutant{
		"Update keeps the last nodes": {updating(func(correct *balancers) func(context.Context, string, *v1.Service, []*v1.Node) error {
			return func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
				if len(nodes) == 0 {
					return nil
				}

				return correct.UpdateLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "not as wanted", []string{follows, "EnsureLoadBalancer follows the nodes"}},
		"keeps targets that are no nodes": {updating(func(*balancers) func(context.Context, string, *v1.Service, []*v1.Node) error {
			return func(context.Context, string, *v1.Service, []*v1.Node) error { return nil }
		}), "not as wanted", []string{gone}},
		"registers all nodes": {faulty(func(s *balancers) { s.all = true }), "want 4 to 4", []string{part}},
		"chooses others":      {faulty(func(s *balancers) { s.forgets = true }), "writes", []string{part}},
		"registers no node beside an invalid one": {replacing(func(w *balancersWith, correct *balancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				for _, node := range nodes {
					if len(node.Spec.ProviderID) != len(sim.Scheme)+8 { // no ID of this cloud
						nodes = nil
					}
				}

				return correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "are missing in", []string{invalidNode}},
		"takes machines that are no nodes": {
			eachListener(func(l *listener) { l.targets = append([]string{"sim://00000005"}, l.targets...) }), "is no node",
			[]string{invalidNode},
		},
	}
}

// removing builds a provider with another deletion.
func removing(remove func(ctx context.Context, correct *balancers, cluster string, service *v1.Service) error) build {
	return replacing(func(w *balancersWith, correct *balancers) {
		w.remove = func(ctx context.Context, cluster string, service *v1.Service) error {
			return remove(ctx, correct, cluster, service)
		}
	})
}

// skipping builds a provider that does not delete some Services' load balancers.
func skipping(skip func(service *v1.Service) bool) build {
	return removing(func(ctx context.Context, correct *balancers, cluster string, service *v1.Service) error {
		if skip(service) {
			return nil
		}

		return correct.EnsureLoadBalancerDeleted(ctx, cluster, service)
	})
}

func deleteMutants() map[string]mutant {
	const (
		all     = "a deleted load balancer leaves nothing, and may be deleted again"
		nothing = "deleting what never was succeeds"
		edited  = "a Service edited before its deletion leaves nothing"
		remains = "what is left of a load balancer deleted by a user is deleted"
	)

	return map[string]mutant{
		"deletes nothing": {skipping(func(*v1.Service) bool { return true }), "left behind", []string{all}},
		"missing is an error": {removing(func(ctx context.Context, correct *balancers, cluster string, service *v1.Service) error {
			if _, exists, err := correct.GetLoadBalancer(ctx, cluster, service); !exists {
				return errors.Join(err, apierr.Mark(apierr.ErrNotFound, sim.ErrMissing))
			}

			return correct.EnsureLoadBalancerDeleted(ctx, cluster, service)
		}), "deleting", []string{all, nothing}},
		"writes to delete nothing": {removing(func(ctx context.Context, correct *balancers, cluster string, service *v1.Service) error {
			_ = correct.cloud.changeRules(ctx, nil, nil)

			return correct.EnsureLoadBalancerDeleted(ctx, cluster, service)
		}), "writes", []string{all, nothing}},
		"deletes the rules of today": {
			faulty(func(s *balancers) { s.narrow = true }), "GetLoadBalancer", []string{edited},
		},
		"deletes the class of today": {
			skipping(func(s *v1.Service) bool { return s.Annotations[annotationClass] != "big" }), "left behind",
			[]string{"annotations edited before the deletion leave nothing"},
		},
		"Get looks at the balancer alone": {faulty(func(s *balancers) { s.shallow = true }), "while there is", []string{remains}},
		"never creates again":             {neverAgain(), "gone for good", []string{"a Service may be created again after its deletion"}},
	}
}

// neverAgain builds a provider that stores what it deleted.
func neverAgain() build {
	return replacing(func(w *balancersWith, correct *balancers) {
		gone := map[string]bool{}
		w.remove = func(ctx context.Context, cluster string, service *v1.Service) error {
			gone[string(service.UID)] = true

			return correct.EnsureLoadBalancerDeleted(ctx, cluster, service)
		}
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			if gone[string(service.UID)] {
				return nil, errors.New("it is gone for good")
			}

			return correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

func refusalMutants() map[string]mutant {
	accepting := replacing(func(w *balancersWith, correct *balancers) {
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			status, err := correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
			if status == nil || err != nil {
				status = &v1.LoadBalancerStatus{}
			}

			return status, nil
		}
	})
	early := faulty(func(s *balancers) { s.early = true })
	special := []string{
		"refused: session affinity", "refused: ports of several protocols",
		"refused: ports of protocol UDP", "refused: ports of protocol SCTP",
	}
	plain := []string{
		"refused: a Service without ports", "refused: an unknown protocol", "refused: a malformed source range",
		"refused: a malformed source range in the annotation", "refused: a requested address", "refused: invalid annotations",
	}

	return map[string]mutant{
		"takes everything":         {accepting, "is no error", plain},
		"takes everything special": {sparsely(accepting), "is no error", special},
		"writes before it looks":   {early, "writes", plain},
		"wraps the error": {replacing(func(w *balancersWith, correct *balancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				status, err := correct.EnsureLoadBalancer(ctx, cluster, service, nodes)
				if err != nil {
					err = fmt.Errorf("ensure load balancer: %w", err)
				}

				return status, err
			}
		}), "Unmanaged[0]", []string{"a Service left to another controller is left alone"}},
	}
}
