package client

import (
	"context"
	"fmt"
	"net/url"
	"slices"
)

// poolPage is how many pools a page has at most: each has the IDs of all its members.
const poolPage = 100

// EachPool calls a function with each pool of the project, while the response is read: it
// must be quick, and keep no more than it needs. If a page fails, the function was called
// with those before.
func (s *LoadBalancerService) EachPool(ctx context.Context, fn func(*Pool)) error {
	return eachLBObject(ctx, s, lbQuery[Pool]{path: "pools", key: "pools", limit: poolPage}, fn)
}

// PoolsByLoadBalancer returns the pools of a load balancer, also those that no listener
// uses.
func (s *LoadBalancerService) PoolsByLoadBalancer(ctx context.Context, lb string) ([]*Pool, error) {
	if err := checkID(keyLoadBalancer, lb); err != nil {
		return nil, err
	}

	return listLBObjects(ctx, s, lbQuery[Pool]{
		path: "pools", key: "pools", filters: url.Values{"loadbalancer_id": {lb}}, limit: poolPage,
		wanted: func(p *Pool) bool { return slices.Contains(p.LoadBalancers, lb) },
	})
}

// CreatePool makes a pool of a load balancer, which must be ACTIVE. No listener uses it
// until one has it as its default pool. Members and monitor follow in calls of their own.
func (s *LoadBalancerService) CreatePool(ctx context.Context, lb string, pool PoolCreate) (*Pool, error) {
	if err := checkID(keyLoadBalancer, lb); err != nil {
		return nil, err
	}
	if pool.Members != nil || pool.Monitor != nil {
		return nil, fmt.Errorf("create pool: %w", errOnlyInside)
	}
	type request struct {
		PoolCreate

		LoadBalancerID string `json:"loadbalancer_id"`
	}

	return createLBObject[Pool](ctx, s, keyPool, request{pool, lb}, "pools")
}

// UpdatePool changes a pool. A pool in ERROR is repaired by it, if its load balancer is
// ACTIVE.
func (s *LoadBalancerService) UpdatePool(ctx context.Context, id string, change PoolUpdate) (*Pool, error) {
	return updateLBObject[Pool](ctx, s, keyPool, change, "pools", id)
}

// DeletePool begins the deletion of a pool with its members and its monitor. One that does
// not exist is no error; one that an L7 policy uses is an ErrConflict.
func (s *LoadBalancerService) DeletePool(ctx context.Context, id string) error {
	return s.deleteLBObject(ctx, keyPool, "", "pools", id)
}

// ListHealthMonitors returns all health monitors of the project. If a page fails it returns
// those before, along with the error.
func (s *LoadBalancerService) ListHealthMonitors(ctx context.Context) ([]*HealthMonitor, error) {
	return listLBObjects(ctx, s, lbQuery[HealthMonitor]{path: "healthmonitors", key: "healthmonitors", limit: pageSize})
}

// GetHealthMonitor returns a health monitor.
func (s *LoadBalancerService) GetHealthMonitor(ctx context.Context, id string) (*HealthMonitor, error) {
	if err := checkID(keyMonitor, id); err != nil {
		return nil, err
	}

	return getLBObject[HealthMonitor](ctx, s, keyMonitor, "healthmonitors", id)
}

// CreateHealthMonitor makes the health monitor of a pool, which must have none and must be
// ACTIVE.
func (s *LoadBalancerService) CreateHealthMonitor(ctx context.Context, pool string, monitor MonitorCreate) (*HealthMonitor, error) {
	if err := checkID(keyPool, pool); err != nil {
		return nil, err
	}
	type request struct {
		MonitorCreate

		PoolID string `json:"pool_id"`
	}

	return createLBObject[HealthMonitor](ctx, s, keyMonitor, request{monitor, pool}, "healthmonitors")
}

// UpdateHealthMonitor changes a health monitor.
func (s *LoadBalancerService) UpdateHealthMonitor(ctx context.Context, id string, change MonitorUpdate) (*HealthMonitor, error) {
	return updateLBObject[HealthMonitor](ctx, s, keyMonitor, change, "healthmonitors", id)
}

// DeleteHealthMonitor begins the deletion of a health monitor. One that does not exist is no
// error.
func (s *LoadBalancerService) DeleteHealthMonitor(ctx context.Context, id string) error {
	return s.deleteLBObject(ctx, keyMonitor, "", "healthmonitors", id)
}
