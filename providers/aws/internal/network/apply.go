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

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// createLoadBalancer creates the load balancer, and stores its ARN and DNS name.
func createLoadBalancer(m *Model) change.Step {
	text := fmt.Sprintf("create %s load balancer %s in %s, security groups %s, tags %s",
		m.scheme(), m.Name, plan.Words(m.Mappings), plan.Words(m.SecurityGroups), plan.Pairs(m.Tags))

	return plan.NewStep("CreateLoadBalancer", text, func(ctx context.Context, env *change.Env) error {
		return makeLoadBalancer(ctx, env, m)
	})
}

func (m *Model) scheme() elbv2types.LoadBalancerSchemeEnum {
	if m.Internal {
		return elbv2types.LoadBalancerSchemeEnumInternal
	}

	return elbv2types.LoadBalancerSchemeEnumInternetFacing
}

func makeLoadBalancer(ctx context.Context, env *change.Env, m *Model) error {
	input := &elbv2.CreateLoadBalancerInput{
		Name:           aws.String(m.Name),
		Type:           elbv2types.LoadBalancerTypeEnumNetwork,
		SubnetMappings: toMappings(m.Mappings),
		Tags:           awstype.ELBV2Tags(m.Tags),
	}
	if m.Internal {
		input.Scheme = elbv2types.LoadBalancerSchemeEnumInternal
	}
	var out *elbv2.CreateLoadBalancerOutput
	err := env.WithGroups(ctx, m.SecurityGroups, func(ids []string) (err error) {
		input.SecurityGroups = ids
		out, err = env.ELBV2.CreateLoadBalancer(ctx, input)

		return err
	})
	if _, exists := errors.AsType[*elbv2types.DuplicateLoadBalancerNameException](err); exists {
		return adopt(ctx, env, m, input.SecurityGroups)
	}
	if err != nil {
		return err
	}
	if len(out.LoadBalancers) == 0 {
		return apierr.Mark(apierr.ErrUnavailable, errors.New("the response names no load balancer"))
	}
	store(env, m.Name, toLoadBalancer(out.LoadBalancers[0]))

	return nil
}

// store stores what later steps and the status of the Service need.
func store(env *change.Env, name string, balancer *LoadBalancer) {
	env.IDs.Set(loadBalancerKey(name), balancer.ARN)
	env.IDs.Set(HostnameKey(name), balancer.DNSName)
}

// adopt continues with a load balancer that was not visible before, if it is
// ours. Security groups that it lacks are added, and the ones that it has are
// kept until the next run.
func adopt(ctx context.Context, env *change.Env, m *Model, groups []string) error {
	seen, err := identify(ctx, env.ELBV2, m.Name, m.Cluster)
	if err != nil {
		return err
	}
	if err := seen.NotOwned(); err != nil {
		return err
	}
	if seen.LoadBalancer == nil {
		return apierr.Mark(apierr.ErrConflict, errors.New("it exists already, but cannot be seen yet"))
	}
	store(env, m.Name, seen.LoadBalancer)
	have := seen.SecurityGroups()
	if len(groups) == 0 || len(have) == 0 || slices.Equal(plan.Sorted(groups), plan.Sorted(have)) {
		return nil
	}
	extra := lists.Without(have, groups)
	all := slices.Concat(m.SecurityGroups, lists.Map(extra, plan.ID))
	if err := replaceSecurityGroups(ctx, env, plan.Ref{ID: seen.LoadBalancer.ARN}, all); err != nil || len(extra) == 0 {
		return err
	}

	return plan.Partial(change.ErrNotAsWanted)
}

// setSecurityGroups replaces the security groups of the load balancer. Have are
// the previous ones.
func setSecurityGroups(balancer named, groups []plan.Ref, have []string) change.Step {
	text := fmt.Sprintf("set security groups of load balancer %s to %s", balancer.name, plan.Words(groups))
	step := plan.NewStep("SetSecurityGroups", text, func(ctx context.Context, env *change.Env) error {
		return replaceSecurityGroups(ctx, env, balancer.ref, groups)
	})
	step.Removes = len(change.Detached(have, groups)) > 0

	return step
}

func replaceSecurityGroups(ctx context.Context, env *change.Env, balancer plan.Ref, groups []plan.Ref) error {
	arn, err := env.IDs.Resolve(balancer)
	if err != nil {
		return err
	}

	return env.WithGroups(ctx, groups, func(ids []string) error {
		_, err := env.ELBV2.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{LoadBalancerArn: &arn, SecurityGroups: ids})

		return err
	})
}

// addTags adds tags to one resource.
func addTags(thing, arn string, tags map[string]string) change.Step {
	text := "add to " + thing + " the tags " + plan.Pairs(tags)

	return plan.NewStep("AddTags", text, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELBV2.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{arn}, Tags: awstype.ELBV2Tags(tags)})

		return err
	})
}

// modifyAttributes changes attributes of the load balancer.
func modifyAttributes(balancer named, values map[string]string) change.Step {
	text := fmt.Sprintf("modify attributes of load balancer %s: %s", balancer.name, plan.Pairs(values))

	return plan.NewStep("ModifyLoadBalancerAttributes", text, func(ctx context.Context, env *change.Env) error {
		arn, err := env.IDs.Resolve(balancer.ref)
		if err != nil {
			return err
		}
		attribute := func(key, value string) elbv2types.LoadBalancerAttribute {
			return elbv2types.LoadBalancerAttribute{Key: &key, Value: &value}
		}
		_, err = env.ELBV2.ModifyLoadBalancerAttributes(ctx, &elbv2.ModifyLoadBalancerAttributesInput{
			LoadBalancerArn: &arn, Attributes: awstype.ToList(values, attribute),
		})

		return err
	})
}

// deleteLoadBalancer deletes the load balancer, and its listeners with it.
func deleteLoadBalancer(name, arn string) change.Step {
	return plan.NewStep("DeleteLoadBalancer", "delete load balancer "+name, func(ctx context.Context, env *change.Env) error {
		_, err := env.ELBV2.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &arn})

		return change.DeletionError(err)
	}).Removal()
}

// ignoreNotFound treats a resource that is not found as deleted.
func ignoreNotFound(err error) error {
	if errors.Is(err, apierr.ErrNotFound) {
		return nil
	}

	return err
}

func toMappings(mappings []Mapping) []elbv2types.SubnetMapping {
	return lists.Map(mappings, func(mapping Mapping) elbv2types.SubnetMapping {
		return elbv2types.SubnetMapping{
			SubnetId:           &mapping.Subnet,
			AllocationId:       awstype.Optional(mapping.Allocation),
			PrivateIPv4Address: awstype.Optional(mapping.PrivateIPv4),
		}
	})
}

// String formats the subnet, with the address if one is chosen.
func (m Mapping) String() string {
	address := strings.TrimSpace(m.Allocation + " " + m.PrivateIPv4)
	if address == "" {
		return m.Subnet
	}

	return m.Subnet + "(" + address + ")"
}
