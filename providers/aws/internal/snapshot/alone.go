package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// alone is what was read by its own call.
type alone[T any] struct {
	found T
	at    time.Time
}

// readAlone reads a load balancer by name.
func (s *Snapshot) readAlone(ctx context.Context, name string) (*types.LoadBalancer, error) {
	start := time.Now()
	found, err := s.describeOne(ctx, name)
	if err == nil && found != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		maps.DeleteFunc(s.alone, func(_ string, one alone[*types.LoadBalancer]) bool { return start.Sub(one.at) >= s.options.MaxAge })
		s.alone[name] = alone[*types.LoadBalancer]{found, start}
	}

	return found, err
}

// recent returns a load balancer that was read by its own call within MaxAge,
// and was not written since.
func (s *Snapshot) recent(name string, now time.Time) *types.LoadBalancer {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.alone[name]
	if !ok || now.Sub(one.at) >= s.options.MaxAge || s.writtenSince(name, one.at) {
		return nil
	}

	return one.found
}

// Exists reports whether there is a load balancer with a name, without the
// cache.
func (s *Snapshot) Exists(ctx context.Context, name string) (bool, error) {
	found, err := s.describeOne(ctx, name)

	return found != nil, err
}

// describeOne reads a load balancer by name, nil if there is none.
func (s *Snapshot) describeOne(ctx context.Context, name string) (*types.LoadBalancer, error) {
	out, err := s.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{name}})
	if errors.Is(err, apierr.ErrNotFound) {
		return nil, nil //nolint:nilnil // absence is a result
	}
	if err != nil {
		return nil, fmt.Errorf("describe load balancer %s: %w", name, err)
	}
	for i := range out.LoadBalancers {
		if aws.ToString(out.LoadBalancers[i].LoadBalancerName) == name {
			return &out.LoadBalancers[i], nil
		}
	}

	return nil, nil //nolint:nilnil // as above
}

// readGroupsAlone reads the target groups of a load balancer by its ARN.
func (s *Snapshot) readGroupsAlone(ctx context.Context, balancer string) ([]types.TargetGroup, error) {
	start := time.Now()
	pages := elbv2.NewDescribeTargetGroupsPaginator(s.ELBV2, &elbv2.DescribeTargetGroupsInput{
		LoadBalancerArn: aws.String(balancer), PageSize: aws.Int32(pageSize),
	})
	groups, err := client.All(ctx, pages, targetGroups)
	if err != nil {
		return nil, fmt.Errorf("describe the target groups of %s: %w", balancer, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.aloneGroups, func(_ string, one alone[[]types.TargetGroup]) bool { return start.Sub(one.at) >= s.options.MaxAge })
	s.aloneGroups[balancer] = alone[[]types.TargetGroup]{groups, start}

	return groups, nil
}

// recentGroups returns the target groups of a load balancer that were read by
// their own call within MaxAge, if neither it nor they were written since.
func (s *Snapshot) recentGroups(balancer string, now time.Time) ([]types.TargetGroup, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.aloneGroups[balancer]
	if !ok || now.Sub(one.at) >= s.options.MaxAge || s.writtenSince(balancer, one.at) {
		return nil, false
	}
	for _, group := range one.found {
		if s.writtenSince(aws.ToString(group.TargetGroupArn), one.at) {
			return nil, false
		}
	}

	return slices.Clone(one.found), true
}

// writtenSince reports whether a name or an ARN was written since then. The
// caller holds mu.
func (s *Snapshot) writtenSince(key string, then time.Time) bool {
	at, ok := s.written[key]

	return ok && !at.Before(then)
}
