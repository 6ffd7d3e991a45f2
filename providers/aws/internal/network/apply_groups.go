package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// createTargetGroup creates a target group of a model for a load balancer, and
// stores its ARN. If there is one with the name and other settings, it is left
// to the next run.
func createTargetGroup(m *Model, group TargetGroup, balancer plan.Ref) change.Step {
	text := fmt.Sprintf("create target group %s for %s port %d, health check %s, tags %s",
		group.Name, group.Protocol, group.Port, group.HealthCheck, plan.Pairs(m.Tags))

	return plan.NewStep("CreateTargetGroup", text, func(ctx context.Context, env *change.Env) error {
		part := fmt.Sprintf("target group for node port %d", group.Port)

		return env.WarnOfQuota(m.Name, part, makeTargetGroup(ctx, env, m, group, balancer))
	})
}

func makeTargetGroup(ctx context.Context, env *change.Env, m *Model, group TargetGroup, ref plan.Ref) error {
	balancer, err := env.IDs.Resolve(ref)
	if err != nil {
		return err
	}
	out, err := env.ELBV2.CreateTargetGroup(ctx, toTargetGroup(m, group))
	if _, exists := errors.AsType[*elbv2types.DuplicateTargetGroupNameException](err); exists {
		return errors.Join(err, ownerError(ctx, env, group.Name, balancer))
	}
	if err != nil {
		return err
	}
	if len(out.TargetGroups) == 0 {
		return apierr.Mark(apierr.ErrUnavailable, errors.New("the response names no target group"))
	}
	// An existing one with the same settings is reused, unless another load balancer
	// uses it.
	made := out.TargetGroups[0]
	if err := unused(made.LoadBalancerArns, balancer); err != nil {
		return err
	}
	env.IDs.Set(targetGroupKey(group.Name), aws.ToString(made.TargetGroupArn))

	return nil
}

func toTargetGroup(m *Model, group TargetGroup) *elbv2.CreateTargetGroupInput {
	check := group.HealthCheck

	return &elbv2.CreateTargetGroupInput{
		Name:                       aws.String(group.Name),
		VpcId:                      aws.String(m.VPC),
		Protocol:                   group.Protocol,
		Port:                       aws.Int32(group.Port),
		TargetType:                 elbv2types.TargetTypeEnumInstance,
		HealthCheckProtocol:        check.Protocol,
		HealthCheckPort:            aws.String(check.Port),
		HealthCheckPath:            awstype.Optional(check.Path),
		HealthCheckIntervalSeconds: aws.Int32(check.Interval),
		HealthCheckTimeoutSeconds:  check.Timeout,
		HealthyThresholdCount:      aws.Int32(check.HealthyThreshold),
		UnhealthyThresholdCount:    aws.Int32(check.UnhealthyThreshold),
		Tags:                       awstype.ELBV2Tags(m.Tags),
	}
}

// ownerError returns an error with the owner of a target group that exists with
// other settings.
func ownerError(ctx context.Context, env *change.Env, name, balancer string) error {
	out, err := env.ELBV2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{Names: []string{name}})
	if err != nil || len(out.TargetGroups) == 0 {
		return ignoreNotFound(err)
	}
	seen := out.TargetGroups[0]
	if err := unused(seen.LoadBalancerArns, balancer); err != nil {
		return err
	}
	arn := aws.ToString(seen.TargetGroupArn)
	tags, err := env.ELBV2.Tags(ctx, []string{arn})
	if err != nil {
		return err
	}

	return apierr.Mark(apierr.ErrConflict, fmt.Errorf("it exists already with other settings: its tags are %s", plan.Pairs(tags[arn])))
}

// unused returns an error if another load balancer uses a target group.
func unused(users []string, balancer string) error {
	for _, user := range users {
		if user != balancer {
			return apierr.Mark(apierr.ErrConflict, fmt.Errorf("it exists already and belongs to load balancer %s", user))
		}
	}

	return nil
}

// modifyTargetGroup changes the health check, all of whose settings can be changed at any time:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/modify-health-check-settings.html
func modifyTargetGroup(name, arn string, check HealthCheck) change.Step {
	text := fmt.Sprintf("modify target group %s: health check %s", name, check)

	return plan.NewStep("ModifyTargetGroup", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELBV2.ModifyTargetGroup(ctx, &elbv2.ModifyTargetGroupInput{
			TargetGroupArn:             &arn,
			HealthCheckProtocol:        check.Protocol,
			HealthCheckPort:            aws.String(check.Port),
			HealthCheckPath:            awstype.Optional(check.Path),
			HealthCheckIntervalSeconds: aws.Int32(check.Interval),
			HealthCheckTimeoutSeconds:  check.Timeout,
			HealthyThresholdCount:      aws.Int32(check.HealthyThreshold),
			UnhealthyThresholdCount:    aws.Int32(check.UnhealthyThreshold),
		})

		return err
	})
}

// modifyGroupAttributes changes attributes of a target group. It stores the ARN
// once more afterwards, for steps that must wait for it.
func modifyGroupAttributes(group named, values map[string]string) change.Step {
	text := fmt.Sprintf("modify attributes of target group %s: %s", group.name, plan.Pairs(values))

	return plan.NewStep("ModifyTargetGroupAttributes", text, func(ctx context.Context, env *change.Env) error {
		arn, err := env.IDs.Resolve(group.ref)
		if err != nil {
			return err
		}
		attribute := func(key, value string) elbv2types.TargetGroupAttribute {
			return elbv2types.TargetGroupAttribute{Key: &key, Value: &value}
		}
		_, err = env.ELBV2.ModifyTargetGroupAttributes(ctx, &elbv2.ModifyTargetGroupAttributesInput{
			TargetGroupArn: &arn, Attributes: awstype.ToList(values, attribute),
		})
		if err != nil {
			return err
		}
		env.IDs.Set(attributesKey(group.name), arn)

		return nil
	})
}

// How long a deleted load balancer may keep its target groups in use, and the
// interval of retries. The timeout must not coincide with a retry.
const (
	patience      = 9 * time.Second
	askWhileInUse = 2 * time.Second
)

// deleteTargetGroup deletes a target group, as soon as it is not in use.
func deleteTargetGroup(name, arn string) change.Step {
	return plan.NewStep("DeleteTargetGroup", "delete target group "+name, func(ctx context.Context, env *change.Env) error {
		return dropTargetGroup(ctx, env, arn)
	}).Removal()
}

func dropTargetGroup(ctx context.Context, env *change.Env, arn string) error {
	return env.Wait.Poll(ctx, askWhileInUse, patience, func() (done bool, err error) {
		_, err = env.ELBV2.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &arn})
		if _, used := errors.AsType[*elbv2types.ResourceInUseException](err); used {
			return false, apierr.Mark(apierr.ErrConflict, err)
		}

		return true, ignoreNotFound(err)
	})
}
