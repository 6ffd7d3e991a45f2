package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The keys of objects in requests and responses.
const (
	keyLoadBalancer = "loadbalancer"
	keyListener     = "listener"
	keyPool         = "pool"
	keyMember       = "member"
	keyMonitor      = "healthmonitor"
)

// LoadBalancerQuery selects load balancers of the project.
type LoadBalancerQuery struct {
	// Name is the exact name. It is empty for all.
	Name string
	// Tags are those that a load balancer must have. They need version 2.5.
	Tags []string
}

func (q LoadBalancerQuery) filters() (url.Values, error) {
	if err := checkFilter(q.Tags...); err != nil {
		return nil, fmt.Errorf("list loadbalancers: %w", err)
	}
	filters := url.Values{}
	if q.Name != "" {
		filters.Set("name", q.Name)
	}
	if len(q.Tags) > 0 {
		filters.Set("tags", strings.Join(q.Tags, ","))
	}

	return filters, nil
}

// fits reports whether a load balancer is one of those. The service compares names without
// regard to case.
func (q LoadBalancerQuery) fits(lb *LoadBalancerInfo) bool {
	lacks := func(tag string) bool { return !slices.Contains(lb.Tags, tag) }

	return (q.Name == "" || lb.Name == q.Name) && !slices.ContainsFunc(q.Tags, lacks)
}

// ListLoadBalancers returns load balancers of the project, also those that are being
// deleted. If a page fails it returns those before, along with the error.
func (s *LoadBalancerService) ListLoadBalancers(ctx context.Context, q LoadBalancerQuery) ([]*LoadBalancerInfo, error) {
	filters, err := q.filters()
	if err != nil {
		return nil, err
	}

	return listLBObjects(ctx, s, lbQuery[LoadBalancerInfo]{path: "loadbalancers", key: "loadbalancers", filters: filters, limit: pageSize, wanted: q.fits})
}

// GetLoadBalancer returns a load balancer. The error is an ErrNotFound if there is none
// with this ID in any project, and an ErrDenied or [ErrOtherProject] for one of another
// project.
func (s *LoadBalancerService) GetLoadBalancer(ctx context.Context, id string) (*LoadBalancerInfo, error) {
	if err := checkID(keyLoadBalancer, id); err != nil {
		return nil, err
	}

	return getLBObject[LoadBalancerInfo](ctx, s, keyLoadBalancer, "loadbalancers", id)
}

// CreateLoadBalancer makes a load balancer, with all its parts or empty. One that was
// refused is not there; whether one is there after an unclear error is found by its name.
func (s *LoadBalancerService) CreateLoadBalancer(ctx context.Context, lb LoadBalancerCreate) (*LoadBalancerInfo, error) {
	return createLBObject[LoadBalancerInfo](ctx, s, keyLoadBalancer, lb, "loadbalancers")
}

// UpdateLoadBalancer changes a load balancer, which must be ACTIVE.
func (s *LoadBalancerService) UpdateLoadBalancer(ctx context.Context, id string, change LoadBalancerUpdate) (*LoadBalancerInfo, error) {
	return updateLBObject[LoadBalancerInfo](ctx, s, keyLoadBalancer, change, "loadbalancers", id)
}

// DeleteLoadBalancer begins the deletion of a load balancer, with all its parts if cascade
// is set; with parts and without cascade it is an ErrInvalid. One that does not exist is no
// error. [ConflictOf] names what is in the way of a deletion.
func (s *LoadBalancerService) DeleteLoadBalancer(ctx context.Context, id string, cascade bool) error {
	query := ""
	if cascade {
		query = "cascade=true"
	}

	return s.deleteLBObject(ctx, keyLoadBalancer, query, "loadbalancers", id)
}

// GetStatusTree returns the states of a load balancer and its parts in one call.
func (s *LoadBalancerService) GetStatusTree(ctx context.Context, id string) (*StatusTree, error) {
	if err := checkID(keyLoadBalancer, id); err != nil {
		return nil, err
	}
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	tree := new(StatusTree)
	err = readStream(ctx, client, client.ServiceURL("loadbalancers", id, "status"), func(d *json.Decoder) error {
		return readObject(d, fields{"statuses": func() error { return readObject(d, fields{"loadbalancer": tree}) }})
	})
	if err != nil {
		return nil, fmt.Errorf("get status of loadbalancer: %w", err)
	}
	if !strings.EqualFold(tree.ID, id) {
		return nil, badResponse(s.name, http.MethodGet, fmt.Errorf("response has another loadbalancer than %s", id))
	}

	return tree, nil
}
