package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// targetGroups returns the target groups that may belong to the Service: the
// ones that the load balancer uses, and the ones that no other one uses and
// whose names match.
func (r reader) targetGroups(ctx context.Context, balancer *LoadBalancer) ([]GroupState, error) {
	var groups []GroupState
	used := map[string]bool{}
	if balancer != nil {
		list, err := r.api.TargetGroupsOf(ctx, balancer.ARN)
		if err != nil {
			return nil, err
		}
		for _, in := range list {
			group := toGroup(in)
			group.Attached, used[group.ARN] = true, true
			groups = append(groups, group)
		}
	}
	named, err := r.api.TargetGroupsNamed(ctx, request.NamePrefix(r.query.Service), balancer == nil && r.query.Unknown)
	if err != nil {
		return nil, err
	}
	for _, in := range named {
		if group := toGroup(in); !used[group.ARN] && r.unused(in) {
			groups = append(groups, group)
		}
	}
	slices.SortFunc(groups, func(a, b GroupState) int { return strings.Compare(a.Name, b.Name) })

	return groups, nil
}

// unused reports whether no other load balancer uses a target group in the VPC.
func (r reader) unused(group elbv2types.TargetGroup) bool {
	other := func(balancer string) bool { return snapshot.NameOf(balancer) != r.query.Name }

	return !slices.ContainsFunc(group.LoadBalancerArns, other) &&
		(r.query.VPC == "" || aws.ToString(group.VpcId) == r.query.VPC)
}

func toGroup(in elbv2types.TargetGroup) GroupState {
	return GroupState{
		Name:     aws.ToString(in.TargetGroupName),
		ARN:      aws.ToString(in.TargetGroupArn),
		Protocol: in.Protocol,
		Port:     aws.ToInt32(in.Port),
		Type:     in.TargetType,
		HealthCheck: HealthCheck{
			Protocol:           in.HealthCheckProtocol,
			Port:               aws.ToString(in.HealthCheckPort),
			Path:               aws.ToString(in.HealthCheckPath),
			Interval:           aws.ToInt32(in.HealthCheckIntervalSeconds),
			Timeout:            in.HealthCheckTimeoutSeconds,
			HealthyThreshold:   aws.ToInt32(in.HealthyThresholdCount),
			UnhealthyThreshold: aws.ToInt32(in.UnhealthyThresholdCount),
		},
	}
}

// contents reads the content of the target groups. A group that was deleted in
// the meantime, and that no listener uses, is left out.
func (r reader) contents(ctx context.Context, o *Observed) error {
	groups := o.TargetGroups
	o.TargetGroups = groups[:0]
	for _, group := range groups {
		err := r.content(ctx, o, &group)
		if errors.Is(err, apierr.ErrNotFound) && !group.Attached {
			continue
		}
		if err != nil {
			return err
		}
		o.TargetGroups = append(o.TargetGroups, group)
	}

	return nil
}

// content reads the targets of a group, and its attributes if they are needed.
// After a missing permission, attributes are not read for the next group.
func (r reader) content(ctx context.Context, o *Observed, group *GroupState) error {
	var err error
	if group.Targets, err = ObserveTargets(ctx, r.api, *group); err != nil || !r.query.Attributes || o.AttributesDenied {
		return err
	}
	group.Attributes, err = r.api.TargetGroupAttributes(ctx, group.ARN)
	if r.query.AttributesOptional && errors.Is(err, apierr.ErrDenied) {
		o.AttributesDenied = true

		return nil
	}

	return err
}

// ObserveTargets reads the targets of a group that are not being deregistered.
func ObserveTargets(ctx context.Context, api client.NetworkReads, group GroupState) ([]Target, error) {
	out, err := api.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group.ARN})
	if err != nil {
		return nil, fmt.Errorf("describe targets of %s: %w", group.Name, err)
	}
	var targets []Target
	for _, health := range out.TargetHealthDescriptions {
		leaving := health.TargetHealth != nil &&
			health.TargetHealth.Reason == elbv2types.TargetHealthReasonEnumDeregistrationInProgress
		if health.Target != nil && !leaving {
			target := Target{ID: aws.ToString(health.Target.Id), Port: group.Port}
			if health.Target.Port != nil {
				target.Port = *health.Target.Port
			}
			targets = append(targets, target)
		}
	}
	slices.SortFunc(targets, compareTargets)

	return targets, nil
}
