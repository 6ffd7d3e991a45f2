package snapshot

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// write records that names or ARNs have changed, or may have.
func (s *Snapshot) write(keys ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		s.written[key] = time.Now()
	}
}

// grow records a write that adds to a list or changes it.
func (s *Snapshot) grow(keys ...string) {
	s.write(keys...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.grown = time.Now()
}

// Refresh invalidates the lists of load balancers and target groups: they
// contradict each other.
func (s *Snapshot) Refresh() { s.grow() }

// CreateLoadBalancer implements client.NetworkWrites.
func (s *Snapshot) CreateLoadBalancer(
	ctx context.Context, in *elbv2.CreateLoadBalancerInput, options ...func(*elbv2.Options),
) (*elbv2.CreateLoadBalancerOutput, error) {
	defer s.grow(aws.ToString(in.Name))

	return s.ELBV2.CreateLoadBalancer(ctx, in, options...)
}

// DeleteLoadBalancer implements client.NetworkWrites.
func (s *Snapshot) DeleteLoadBalancer(
	ctx context.Context, in *elbv2.DeleteLoadBalancerInput, options ...func(*elbv2.Options),
) (*elbv2.DeleteLoadBalancerOutput, error) {
	arn := aws.ToString(in.LoadBalancerArn)
	defer s.forgetBalancer(arn)
	out, err := s.ELBV2.DeleteLoadBalancer(ctx, in, options...)
	if err == nil || errors.Is(err, apierr.ErrNotFound) {
		s.attachments.end(arn)
	}

	return out, err
}

// SetSecurityGroups implements client.NetworkWrites.
func (s *Snapshot) SetSecurityGroups(
	ctx context.Context, in *elbv2.SetSecurityGroupsInput, options ...func(*elbv2.Options),
) (*elbv2.SetSecurityGroupsOutput, error) {
	defer s.forgetBalancer(aws.ToString(in.LoadBalancerArn))

	return s.ELBV2.SetSecurityGroups(ctx, in, options...)
}

// ModifyLoadBalancerAttributes implements client.NetworkWrites.
func (s *Snapshot) ModifyLoadBalancerAttributes(
	ctx context.Context, in *elbv2.ModifyLoadBalancerAttributesInput, options ...func(*elbv2.Options),
) (*elbv2.ModifyLoadBalancerAttributesOutput, error) {
	defer s.attributes.forget(aws.ToString(in.LoadBalancerArn))

	return s.ELBV2.ModifyLoadBalancerAttributes(ctx, in, options...)
}

// AddTags implements client.NetworkWrites.
func (s *Snapshot) AddTags(ctx context.Context, in *elbv2.AddTagsInput, options ...func(*elbv2.Options)) (*elbv2.AddTagsOutput, error) {
	defer s.tags.forget(in.ResourceArns...)

	return s.ELBV2.AddTags(ctx, in, options...)
}

// CreateListener implements client.NetworkWrites.
func (s *Snapshot) CreateListener(
	ctx context.Context, in *elbv2.CreateListenerInput, options ...func(*elbv2.Options),
) (*elbv2.CreateListenerOutput, error) {
	balancer := aws.ToString(in.LoadBalancerArn)
	defer s.grow(balancer)
	out, err := s.ELBV2.CreateListener(ctx, in, options...)
	if !apierr.IsRefusal(err) {
		s.attachments.attach(balancer, in.DefaultActions)
	}

	return out, err
}

// ModifyListener implements client.NetworkWrites.
func (s *Snapshot) ModifyListener(
	ctx context.Context, in *elbv2.ModifyListenerInput, options ...func(*elbv2.Options),
) (*elbv2.ModifyListenerOutput, error) {
	balancer := balancerOf(aws.ToString(in.ListenerArn))
	defer s.grow(balancer)
	out, err := s.ELBV2.ModifyListener(ctx, in, options...)
	if !apierr.IsRefusal(err) {
		s.attachments.attach(balancer, in.DefaultActions)
	}

	return out, err
}

// DeleteListener implements client.NetworkWrites.
func (s *Snapshot) DeleteListener(
	ctx context.Context, in *elbv2.DeleteListenerInput, options ...func(*elbv2.Options),
) (*elbv2.DeleteListenerOutput, error) {
	defer s.write(balancerOf(aws.ToString(in.ListenerArn)))

	return s.ELBV2.DeleteListener(ctx, in, options...)
}

// CreateTargetGroup implements client.TargetGroups.
func (s *Snapshot) CreateTargetGroup(
	ctx context.Context, in *elbv2.CreateTargetGroupInput, options ...func(*elbv2.Options),
) (*elbv2.CreateTargetGroupOutput, error) {
	out, err := s.ELBV2.CreateTargetGroup(ctx, in, options...)
	_, exists := errors.AsType[*types.DuplicateTargetGroupNameException](err)
	switch {
	case err == nil:
		s.replace(out.TargetGroups)
	case exists, !apierr.IsRefusal(err):
		s.mu.Lock()
		defer s.mu.Unlock()
		s.unclear = time.Now()
	}

	return out, err
}

// replace stores target groups as they are after a write, until they are listed
// again.
func (s *Snapshot) replace(groups []types.TargetGroup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, group := range groups {
		arn := aws.ToString(group.TargetGroupArn)
		s.created[arn], s.written[arn] = group, time.Now()
		delete(s.deleted, arn)
	}
}

// ModifyTargetGroup implements client.TargetGroups.
func (s *Snapshot) ModifyTargetGroup(
	ctx context.Context, in *elbv2.ModifyTargetGroupInput, options ...func(*elbv2.Options),
) (*elbv2.ModifyTargetGroupOutput, error) {
	defer s.grow()
	defer s.forgetGroup(aws.ToString(in.TargetGroupArn))
	out, err := s.ELBV2.ModifyTargetGroup(ctx, in, options...)
	if err == nil {
		s.replace(out.TargetGroups)
	}

	return out, err
}

// ModifyTargetGroupAttributes implements client.TargetGroups.
func (s *Snapshot) ModifyTargetGroupAttributes(
	ctx context.Context, in *elbv2.ModifyTargetGroupAttributesInput, options ...func(*elbv2.Options),
) (*elbv2.ModifyTargetGroupAttributesOutput, error) {
	defer s.attributes.forget(aws.ToString(in.TargetGroupArn))

	return s.ELBV2.ModifyTargetGroupAttributes(ctx, in, options...)
}

// DeleteTargetGroup implements client.TargetGroups.
func (s *Snapshot) DeleteTargetGroup(
	ctx context.Context, in *elbv2.DeleteTargetGroupInput, options ...func(*elbv2.Options),
) (*elbv2.DeleteTargetGroupOutput, error) {
	arn := aws.ToString(in.TargetGroupArn)
	defer s.forgetGroup(arn)
	out, err := s.ELBV2.DeleteTargetGroup(ctx, in, options...)
	if err == nil || errors.Is(err, apierr.ErrNotFound) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.deleted[arn], s.written[arn] = true, time.Now()
		delete(s.created, arn)
		s.attachments.forget(arn)
	}

	return out, err
}

// forgetBalancer drops the state of a load balancer.
func (s *Snapshot) forgetBalancer(arn string) {
	s.write(arn, NameOf(arn))
	s.attributes.forget(arn)
	s.tags.forget(arn)
}

// forgetGroup drops the state of a target group: the load balancers that use it
// are read by their own calls until they are listed again.
func (s *Snapshot) forgetGroup(arn string) {
	s.attributes.forget(arn)
	s.tags.forget(arn)
	list, _, _ := s.groups.Peek()
	s.write(arn)
	s.write(list[arn].LoadBalancerArns...)
}

// balancerOf returns the ARN of the load balancer of a listener such as
// arn:aws:elasticloadbalancing:eu-west-1:111122223333:listener/net/a1/50dc/f2f7.
func balancerOf(listener string) string {
	balancer := strings.Replace(listener, ":listener/", ":loadbalancer/", 1)
	if end := strings.LastIndexByte(balancer, '/'); end >= 0 {
		return balancer[:end]
	}

	return balancer
}

// NameOf returns the name in the ARN of a load balancer, such as
// arn:aws:elasticloadbalancing:eu-west-1:111122223333:loadbalancer/net/a1/50dc.
// Other implementations of the API write other types than net.
func NameOf(balancer string) string {
	_, rest, _ := strings.Cut(balancer, ":loadbalancer/")
	_, rest, _ = strings.Cut(rest, "/")
	name, _, _ := strings.Cut(rest, "/")

	return name
}
