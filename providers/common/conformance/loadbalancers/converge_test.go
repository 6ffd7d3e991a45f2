package loadbalancers

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// create creates the balancer, or returns the existing one if it is ours.
func (s *balancers) create(ctx context.Context, want *model) (*balancer, error) {
	err := s.cloud.createBalancer(ctx, balancer{
		name: want.name, cluster: want.cluster, internal: want.internal, affinity: want.affinity, dual: want.dual,
	}, s.duplicates)
	if err != nil && s.duplicates {
		err = s.cloud.createBalancer(ctx, balancer{name: want.name, cluster: want.cluster}, true)
	}
	if err != nil && !errors.Is(err, apierr.ErrConflict) {
		return nil, err
	}
	lb, err := s.cloud.balancer(ctx, want.name)
	if err == nil && (lb == nil || lb.cluster != want.cluster) {
		err = apierr.Mark(apierr.ErrConflict, errors.New("the load balancer is not ours"))
	}
	if err == nil && s.waiting {
		err = api.NewRetryError("the load balancer is not ready yet", time.Second)
	}

	return lb, err
}

// converge changes rules and listeners, what is new first.
func (s *balancers) converge(ctx context.Context, want *model, lb *balancer, rules []rule) error {
	if lb.affinity != want.affinity || lb.dual != want.dual {
		err := s.cloud.changeBalancer(ctx, want.name, func(lb *balancer) error {
			lb.affinity, lb.dual = want.affinity, want.dual

			return nil
		})
		if err != nil {
			return err
		}
	}
	missing := slices.DeleteFunc(slices.Clone(want.rules), func(r rule) bool { return slices.Contains(rules, r) })
	stale := slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return slices.Contains(want.rules, r) || s.keepsRules })
	if len(missing) > 0 {
		if err := s.cloud.changeRules(ctx, missing, nil); err != nil {
			return err
		}
	}
	if err := s.putListeners(ctx, want, lb); err != nil {
		return err
	}
	if len(stale) > 0 {
		return s.cloud.changeRules(ctx, nil, stale)
	}

	return nil
}

// putListeners changes the listeners.
func (s *balancers) putListeners(ctx context.Context, want *model, lb *balancer) error {
	for _, port := range sortedPorts(lb.listeners) {
		if _, ok := want.listeners[port]; ok {
			continue
		}
		err := s.cloud.changeBalancer(ctx, want.name, func(lb *balancer) error {
			delete(lb.listeners, port)

			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, port := range sortedPorts(want.listeners) {
		wanted, seen := want.listeners[port], lb.listeners[port]
		same := seen.nodePort == wanted.nodePort && seen.health == wanted.health && slices.Equal(seen.targets, wanted.targets)
		if same && !s.rewrites {
			continue
		}
		if err := s.cloud.putListener(ctx, want.name, port, wanted); err != nil && !s.ignoresErrors {
			return err
		}
	}

	return nil
}
