package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

func editFlaws() map[string]flaw {
	all := balancerNames(balancerChangeCases(), "and back")

	return map[string]flaw{
		"another address for every edit": {replaces(), "the address changed", all},
		"keeps old ports": {sloppily(func(s *simBalancers) { s.keepsPorts = true }), "not as wanted", []string{
			"a port more is followed, and back", "a port less is followed, and back", "another port is followed, and back",
			"only other ports is followed, and back", "a port that changes its protocol is followed, and back",
		}},
		"keeps old rules": {sloppily(func(s *simBalancers) { s.keepsRules = true }), "changed", []string{
			"another node port is followed, and back", "a port more is followed, and back",
		}},
		"knows ports by their place": {seeingPlaces(), "not as wanted", []string{"node ports swapped is followed, and back"}},
	}
}

// replaces builds a provider that makes a load balancer anew for every edit.
func replaces() simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		last := map[string]string{}
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			text := fmt.Sprint(service.Spec.Ports)
			if before := last[service.Name]; before != "" && before != text {
				if err := whole.EnsureLoadBalancerDeleted(ctx, cluster, service); err != nil {
					return nil, err
				}
			}
			last[service.Name] = text

			return whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

// seeingPlaces builds a provider that takes the node ports in the order in which
// they first were.
func seeingPlaces() simBuild {
	first := map[string][]v1.ServicePort{}
	var mu sync.Mutex

	return seeing(func(service *v1.Service) {
		mu.Lock()
		defer mu.Unlock()
		key := string(service.UID)
		if first[key] == nil {
			first[key] = service.Spec.Ports
		}
		for i := range min(len(first[key]), len(service.Spec.Ports)) {
			service.Spec.Ports[i].NodePort = first[key][i].NodePort
		}
	})
}

func balancerNodeFlaws() map[string]flaw {
	const follows, odd, gone = "UpdateLoadBalancer follows the nodes",
		"nodes that cannot be targets do not keep out the others", "nodes whose instances are gone are taken out"
	updating := func(update func(whole *simBalancers) func(context.Context, string, *v1.Service, []*v1.Node) error) simBuild {
		return balancing(func(w *balancersWith, whole *simBalancers) { w.update = update(whole) })
	}

	return map[string]flaw{
		"Update does nothing": {updating(func(*simBalancers) func(context.Context, string, *v1.Service, []*v1.Node) error {
			return func(context.Context, string, *v1.Service, []*v1.Node) error { return nil }
		}), "UpdateLoadBalancer", []string{"UpdateLoadBalancer of what is not there is an error and makes nothing"}},
		"Update only adds": {updating(func(whole *simBalancers) func(context.Context, string, *v1.Service, []*v1.Node) error {
			var seen []*v1.Node

			return func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
				for _, node := range nodes {
					if !hasNode(seen, node) {
						seen = append(seen, node)
					}
				}

				return whole.UpdateLoadBalancer(ctx, cluster, service, seen)
			}
		}), "not as wanted", []string{follows}},
		"Update keeps the last nodes": {updating(func(whole *simBalancers) func(context.Context, string, *v1.Service, []*v1.Node) error {
			return func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
				if len(nodes) == 0 {
					return nil
				}

				return whole.UpdateLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "not as wanted", []string{follows, "EnsureLoadBalancer follows the nodes"}},
		"takes every node": {sloppily(func(s *simBalancers) { s.trusting = true }), "with a node", []string{odd}},
		"fails for a dead node": {updating(func(whole *simBalancers) func(context.Context, string, *v1.Service, []*v1.Node) error {
			return func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) error {
				_, running, err := whole.cloud.ruleList(ctx)
				for _, node := range nodes {
					if !slices.Contains(running, node.Spec.ProviderID) {
						return errors.Join(err, errMissing)
					}
				}

				return whole.UpdateLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "with a node", []string{odd, gone}},
		"keeps targets that are no nodes": {updating(func(*simBalancers) func(context.Context, string, *v1.Service, []*v1.Node) error {
			return func(context.Context, string, *v1.Service, []*v1.Node) error { return nil }
		}), "not as wanted", []string{gone}},
		"takes no node beside an odd one": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				for _, node := range nodes {
					if node.Spec.ProviderID == "" || isForeign(node) || isMalformed(node) {
						nodes = nil
					}
				}

				return whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
			}
		}), "are missing in", []string{odd}},
		"takes machines that are no nodes": {
			eachListener(func(l *simListener) { l.targets = append([]string{"sim://00000005"}, l.targets...) }), "is no node",
			[]string{odd},
		},
	}
}

// hasNode says that a node of that name is in the list.
func hasNode(nodes []*v1.Node, node *v1.Node) bool {
	for _, n := range nodes {
		if n.Name == node.Name {
			return true
		}
	}

	return false
}

// removing builds a provider with another deletion.
func removing(remove func(ctx context.Context, whole *simBalancers, cluster string, service *v1.Service) error) simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		w.remove = func(ctx context.Context, cluster string, service *v1.Service) error {
			return remove(ctx, whole, cluster, service)
		}
	})
}

// skipping builds a provider that does not delete some Services' load balancers.
func skipping(skip func(service *v1.Service) bool) simBuild {
	return removing(func(ctx context.Context, whole *simBalancers, cluster string, service *v1.Service) error {
		if skip(service) {
			return nil
		}

		return whole.EnsureLoadBalancerDeleted(ctx, cluster, service)
	})
}

func deleteFlaws() map[string]flaw {
	const (
		all     = "a deleted load balancer leaves nothing, and may be deleted again"
		nothing = "deleting what never was succeeds"
		edited  = "a Service edited before its deletion leaves nothing"
		remains = "what is left of a load balancer removed by a user is deleted"
	)

	return map[string]flaw{
		"deletes nothing": {skipping(func(*v1.Service) bool { return true }), "left behind", []string{all}},
		"missing is an error": {removing(func(ctx context.Context, whole *simBalancers, cluster string, service *v1.Service) error {
			if _, exists, err := whole.GetLoadBalancer(ctx, cluster, service); !exists {
				return errors.Join(err, apierr.Mark(apierr.ErrNotFound, errMissing))
			}

			return whole.EnsureLoadBalancerDeleted(ctx, cluster, service)
		}), "deleting", []string{all, nothing}},
		"writes to delete nothing": {removing(func(ctx context.Context, whole *simBalancers, cluster string, service *v1.Service) error {
			_ = whole.cloud.changeRules(ctx, nil, nil)

			return whole.EnsureLoadBalancerDeleted(ctx, cluster, service)
		}), "writes", []string{all, nothing}},
		"deletes the balancer alone": {removing(func(ctx context.Context, whole *simBalancers, _ string, service *v1.Service) error {
			return whole.cloud.deleteBalancer(ctx, whole.GetLoadBalancerName(ctx, "", service))
		}), "left behind", []string{all}},
		"deletes LoadBalancers only": {
			skipping(func(s *v1.Service) bool { return s.Spec.Type != v1.ServiceTypeLoadBalancer }), "left behind", []string{edited},
		},
		"deletes the rules of today": {
			sloppily(func(s *simBalancers) { s.narrow = true }), "GetLoadBalancer", []string{edited},
		},
		"deletes the class of today": {
			skipping(func(s *v1.Service) bool { return s.Annotations[simClass] != "big" }), "left behind",
			[]string{"annotations edited before the deletion leave nothing"},
		},
		"Get looks at the balancer alone":      {sloppily(func(s *simBalancers) { s.shallow = true }), "while there is", []string{remains}},
		"deletes nothing without the balancer": {sloppily(func(s *simBalancers) { s.hasty = true }), "left behind", []string{remains}},
		"never makes again":                    {neverAgain(), "gone for good", []string{"a Service may be made again after its deletion"}},
	}
}

// neverAgain builds a provider that remembers what it deleted.
func neverAgain() simBuild {
	return balancing(func(w *balancersWith, whole *simBalancers) {
		gone := map[string]bool{}
		w.remove = func(ctx context.Context, cluster string, service *v1.Service) error {
			gone[string(service.UID)] = true

			return whole.EnsureLoadBalancerDeleted(ctx, cluster, service)
		}
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			if gone[string(service.UID)] {
				return nil, errors.New("it is gone for good")
			}

			return whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
		}
	})
}

func refusalFlaws() map[string]flaw {
	agreeable := balancing(func(w *balancersWith, whole *simBalancers) {
		w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
			status, err := whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
			if status == nil || err != nil {
				status = &v1.LoadBalancerStatus{}
			}

			return status, nil
		}
	})
	rash := sloppily(func(s *simBalancers) { s.rash = true })
	special := []string{
		"refused: session affinity", "refused: ports of several protocols",
		"refused: ports of protocol UDP", "refused: ports of protocol SCTP",
	}
	plain := []string{
		"refused: a Service without ports", "refused: an unknown protocol", "refused: a malformed source range",
		"refused: a malformed source range in the annotation", "refused: a requested address", "refused: annotations that cannot be",
	}

	return map[string]flaw{
		"takes everything":            {agreeable, "is no error", plain},
		"takes everything special":    {sparsely(agreeable), "is no error", special},
		"writes before it looks":      {rash, "writes", plain},
		"writes before it looks well": {sparsely(rash), "writes", special},
		"refuses by deferring": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				status, err := whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
				if err != nil {
					err = cloudprovider.ImplementedElsewhere
				}

				return status, err
			}
		}), "implemented elsewhere", plain[:1]},
		"wraps the error": {balancing(func(w *balancersWith, whole *simBalancers) {
			w.ensure = func(ctx context.Context, cluster string, service *v1.Service, nodes []*v1.Node) (*v1.LoadBalancerStatus, error) {
				status, err := whole.EnsureLoadBalancer(ctx, cluster, service, nodes)
				if err != nil {
					err = fmt.Errorf("ensure load balancer: %w", err)
				}

				return status, err
			}
		}), "Elsewhere[0]", []string{"a Service left to another controller is left alone"}},
	}
}
