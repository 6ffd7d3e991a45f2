package network

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// The steps about target groups.
var (
	_ change.Step = createTargetGroup{}
	_ change.Step = modifyTargetGroup{}
	_ change.Step = modifyGroupAttributes{}
	_ change.Step = deregisterTargets{}
	_ change.Step = registerTargets{}
	_ change.Step = deleteTargetGroup{}
)

// createTargetGroup makes a target group and learns its ARN.
type createTargetGroup struct {
	group    TargetGroup
	vpc      string
	tags     map[string]string
	service  types.NamespacedName
	cluster  cluster.ID
	balancer plan.Ref
}

func (s createTargetGroup) Kind() string { return "CreateTargetGroup" }

func (s createTargetGroup) String() string {
	return fmt.Sprintf("create target group %s for %s port %d, health check %s, tags %s",
		s.group.Name, s.group.Protocol, s.group.Port, s.group.HealthCheck, pairs(s.tags))
}

func (s createTargetGroup) Apply(ctx context.Context, env *change.Env) error {
	balancer, err := env.IDs.Resolve(s.balancer)
	if err != nil {
		return err
	}
	out, err := env.ELBV2.CreateTargetGroup(ctx, s.input())
	if _, exists := errors.AsType[*elbv2types.DuplicateTargetGroupNameException](err); exists {
		if err := s.clear(ctx, env, balancer); err != nil {
			return err
		}
		out, err = env.ELBV2.CreateTargetGroup(ctx, s.input())
	}
	if err != nil {
		return err
	}
	if len(out.TargetGroups) == 0 {
		return apierr.Mark(apierr.ErrUnavailable, errors.New("the answer names no target group"))
	}
	// One with the same settings is as good as new, unless it is in use.
	made := out.TargetGroups[0]
	if err := s.free(made.LoadBalancerArns, balancer); err != nil {
		return err
	}
	env.IDs.Learn(targetGroupKey(s.group.Name), aws.ToString(made.TargetGroupArn))
	return nil
}

func (s createTargetGroup) input() *elbv2.CreateTargetGroupInput {
	check := s.group.HealthCheck
	return &elbv2.CreateTargetGroupInput{
		Name:                       aws.String(s.group.Name),
		VpcId:                      aws.String(s.vpc),
		Protocol:                   s.group.Protocol,
		Port:                       aws.Int32(s.group.Port),
		TargetType:                 elbv2types.TargetTypeEnumInstance,
		HealthCheckProtocol:        check.Protocol,
		HealthCheckPort:            aws.String(check.Port),
		HealthCheckPath:            optional(check.Path),
		HealthCheckIntervalSeconds: aws.Int32(check.Interval),
		HealthCheckTimeoutSeconds:  check.Timeout,
		HealthyThresholdCount:      aws.Int32(check.HealthyThreshold),
		UnhealthyThresholdCount:    aws.Int32(check.UnhealthyThreshold),
		Tags:                       toTags(s.tags),
	}
}

// clear deletes a target group of ours that has the name and other settings.
func (s createTargetGroup) clear(ctx context.Context, env *change.Env, balancer string) error {
	out, err := env.ELBV2.DescribeTargetGroups(ctx, &elbv2.DescribeTargetGroupsInput{Names: []string{s.group.Name}})
	if err != nil {
		return ignoreNotFound(err)
	}
	reader := reader{api: env.ELBV2, query: Query{Service: s.service, Cluster: s.cluster}}
	for _, in := range out.TargetGroups {
		seen := toGroup(in)
		if err := s.free(in.LoadBalancerArns, balancer); err != nil {
			return err
		}
		tags, err := reader.allTags(ctx, []string{seen.ARN})
		if err != nil {
			return err
		}
		seen.Tags, seen.Attached = tags[seen.ARN], len(in.LoadBalancerArns) > 0
		switch {
		case seen.Attached:
			return apierr.Mark(apierr.ErrConflict, errors.New("it exists already with other settings and is in use"))
		case !reader.owned(seen):
			return apierr.Mark(apierr.ErrConflict, fmt.Errorf("it exists already and is not ours: its tags are %s", pairs(seen.Tags)))
		}
		if err := (deleteTargetGroup{name: seen.Name, arn: seen.ARN}).Apply(ctx, env); err != nil {
			return err
		}
	}
	return nil
}

// free is an error if another load balancer uses a target group.
func (s createTargetGroup) free(users []string, balancer string) error {
	for _, user := range users {
		if user != balancer {
			return apierr.Mark(apierr.ErrConflict, fmt.Errorf("it exists already and belongs to load balancer %s", user))
		}
	}
	return nil
}

// modifyTargetGroup changes the health check, as far as it can be changed.
type modifyTargetGroup struct {
	name, arn string
	check     HealthCheck
}

func (s modifyTargetGroup) Kind() string { return "ModifyTargetGroup" }

func (s modifyTargetGroup) String() string {
	return fmt.Sprintf("modify target group %s: health check %s", s.name, s.check)
}

func (s modifyTargetGroup) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELBV2.ModifyTargetGroup(ctx, &elbv2.ModifyTargetGroupInput{
		TargetGroupArn:            &s.arn,
		HealthCheckPort:           aws.String(s.check.Port),
		HealthCheckPath:           optional(s.check.Path),
		HealthCheckTimeoutSeconds: s.check.Timeout,
		HealthyThresholdCount:     aws.Int32(s.check.HealthyThreshold),
		UnhealthyThresholdCount:   aws.Int32(s.check.UnhealthyThreshold),
	})
	return err
}

// modifyGroupAttributes changes attributes of a target group.
type modifyGroupAttributes struct {
	name   string
	ref    plan.Ref
	values map[string]string
}

func (s modifyGroupAttributes) Kind() string { return "ModifyTargetGroupAttributes" }

func (s modifyGroupAttributes) String() string {
	return fmt.Sprintf("modify attributes of target group %s: %s", s.name, pairs(s.values))
}

func (s modifyGroupAttributes) Apply(ctx context.Context, env *change.Env) error {
	group, err := env.IDs.Resolve(s.ref)
	if err != nil {
		return err
	}
	input := &elbv2.ModifyTargetGroupAttributesInput{TargetGroupArn: &group}
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		input.Attributes = append(input.Attributes,
			elbv2types.TargetGroupAttribute{Key: aws.String(key), Value: aws.String(s.values[key])})
	}
	_, err = env.ELBV2.ModifyTargetGroupAttributes(ctx, input)
	return err
}

// deregisterTargets takes targets out of a target group.
type deregisterTargets struct {
	group, arn string
	targets    []Target
}

func (s deregisterTargets) Kind() string { return "DeregisterTargets" }

func (s deregisterTargets) String() string {
	return fmt.Sprintf("deregister from %s %s", s.group, list(s.targets))
}

func (s deregisterTargets) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELBV2.DeregisterTargets(ctx, &elbv2.DeregisterTargetsInput{
		TargetGroupArn: &s.arn, Targets: toTargets(s.targets),
	})
	return err
}

// registerTargets puts targets into a target group.
type registerTargets struct {
	group   string
	ref     plan.Ref
	targets []Target
}

func (s registerTargets) Kind() string { return "RegisterTargets" }

func (s registerTargets) String() string {
	return fmt.Sprintf("register at %s %s", s.group, list(s.targets))
}

func (s registerTargets) Apply(ctx context.Context, env *change.Env) error {
	group, err := env.IDs.Resolve(s.ref)
	if err != nil {
		return err
	}
	_, err = env.ELBV2.RegisterTargets(ctx, &elbv2.RegisterTargetsInput{
		TargetGroupArn: &group, Targets: toTargets(s.targets),
	})
	return err
}

func toTargets(targets []Target) []elbv2types.TargetDescription {
	list := make([]elbv2types.TargetDescription, 0, len(targets))
	for _, target := range targets {
		list = append(list, elbv2types.TargetDescription{Id: aws.String(target.ID), Port: aws.Int32(target.Port)})
	}
	return list
}

// listed is how many targets a text names: it becomes part of errors.
const listed = 5

func list(targets []Target) string {
	words := make([]string, 0, listed)
	for _, target := range targets[:min(len(targets), listed)] {
		words = append(words, target.String())
	}
	text := strings.Join(words, " ")
	if more := len(targets) - listed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// How long a deleted load balancer may hold its target groups, and how often to
// ask.
const (
	patience      = 9 * time.Second
	askWhileInUse = 2 * time.Second
)

// deleteTargetGroup deletes a target group, as soon as nothing uses it.
type deleteTargetGroup struct{ name, arn string }

func (s deleteTargetGroup) Kind() string   { return "DeleteTargetGroup" }
func (s deleteTargetGroup) String() string { return "delete target group " + s.name }

func (s deleteTargetGroup) Apply(ctx context.Context, env *change.Env) error {
	return env.Wait.Poll(ctx, askWhileInUse, patience, func() (done bool, err error) {
		_, err = env.ELBV2.DeleteTargetGroup(ctx, &elbv2.DeleteTargetGroupInput{TargetGroupArn: &s.arn})
		if _, used := errors.AsType[*elbv2types.ResourceInUseException](err); used {
			return false, apierr.Mark(apierr.ErrConflict, err)
		}
		return true, ignoreNotFound(err)
	})
}
