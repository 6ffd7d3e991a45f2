package client

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// errOnlyInside means that an object was to be made along with another one, which the
// service does only within a new load balancer.
var errOnlyInside = apierr.Mark(apierr.ErrInvalid, errors.New("has parts that are only made along with a load balancer"))

// ListListeners returns all listeners of the project. If a page fails it returns those
// before, along with the error.
func (s *LoadBalancerService) ListListeners(ctx context.Context) ([]*Listener, error) {
	return listLBObjects(ctx, s, lbQuery[Listener]{path: "listeners", key: "listeners", limit: pageSize})
}

// ListenersByLoadBalancer returns the listeners of a load balancer.
func (s *LoadBalancerService) ListenersByLoadBalancer(ctx context.Context, lb string) ([]*Listener, error) {
	if err := checkID(keyLoadBalancer, lb); err != nil {
		return nil, err
	}

	return listLBObjects(ctx, s, lbQuery[Listener]{
		path: "listeners", key: "listeners", filters: url.Values{"load_balancer_id": {lb}}, limit: pageSize,
		wanted: func(l *Listener) bool { return slices.Contains(l.LoadBalancers, lb) },
	})
}

// CreateListener makes a listener of a load balancer, which must be ACTIVE.
func (s *LoadBalancerService) CreateListener(ctx context.Context, lb string, listener ListenerCreate) (*Listener, error) {
	if err := checkID(keyLoadBalancer, lb); err != nil {
		return nil, err
	}
	if listener.DefaultPool != nil {
		return nil, fmt.Errorf("create listener: %w", errOnlyInside)
	}
	type request struct {
		ListenerCreate

		LoadBalancerID string `json:"loadbalancer_id"`
	}

	return createLBObject[Listener](ctx, s, keyListener, request{listener, lb}, "listeners")
}

// UpdateListener changes a listener.
func (s *LoadBalancerService) UpdateListener(ctx context.Context, id string, change ListenerUpdate) (*Listener, error) {
	return updateLBObject[Listener](ctx, s, keyListener, change, "listeners", id)
}

// DeleteListener begins the deletion of a listener. Its pool stays. One that does not exist
// is no error.
func (s *LoadBalancerService) DeleteListener(ctx context.Context, id string) error {
	return s.deleteLBObject(ctx, keyListener, "", "listeners", id)
}
