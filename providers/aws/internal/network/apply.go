package network

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// The steps about the load balancer itself.
var (
	_ change.Step = createLoadBalancer{}
	_ change.Step = setSecurityGroups{}
	_ change.Step = addTags{}
	_ change.Step = modifyAttributes{}
	_ change.Step = deleteLoadBalancer{}
)

// createLoadBalancer makes the load balancer, and learns its ARN and DNS name.
type createLoadBalancer struct {
	name     string
	cluster  cluster.ID
	internal bool
	mappings []Mapping
	groups   []plan.Ref
	tags     map[string]string
}

func (s createLoadBalancer) Kind() string { return "CreateLoadBalancer" }

func (s createLoadBalancer) String() string {
	places := make([]string, 0, len(s.mappings))
	for _, mapping := range s.mappings {
		places = append(places, mapping.String())
	}
	return fmt.Sprintf("create %s load balancer %s in %s, security groups %s, tags %s",
		s.scheme(), s.name, strings.Join(places, " "), refs(s.groups), pairs(s.tags))
}

func (s createLoadBalancer) scheme() elbv2types.LoadBalancerSchemeEnum {
	if s.internal {
		return elbv2types.LoadBalancerSchemeEnumInternal
	}
	return elbv2types.LoadBalancerSchemeEnumInternetFacing
}

func (s createLoadBalancer) Apply(ctx context.Context, env *change.Env) error {
	groups, err := env.Resolve(s.groups)
	if err != nil {
		return err
	}
	input := &elbv2.CreateLoadBalancerInput{
		Name:           aws.String(s.name),
		Type:           elbv2types.LoadBalancerTypeEnumNetwork,
		SecurityGroups: groups,
		SubnetMappings: toMappings(s.mappings),
		Tags:           toTags(s.tags),
	}
	if s.internal {
		input.Scheme = elbv2types.LoadBalancerSchemeEnumInternal
	}
	out, err := env.ELBV2.CreateLoadBalancer(ctx, input)
	if _, exists := errors.AsType[*elbv2types.DuplicateLoadBalancerNameException](err); exists {
		return s.adopt(ctx, env, groups)
	}
	if err != nil {
		return err
	}
	if len(out.LoadBalancers) == 0 {
		return apierr.Mark(apierr.ErrUnavailable, errors.New("the answer names no load balancer"))
	}
	s.learn(env, toLoadBalancer(out.LoadBalancers[0]))
	return nil
}

func (s createLoadBalancer) learn(env *change.Env, balancer *LoadBalancer) {
	env.IDs.Learn(LoadBalancerKey(s.name), balancer.ARN)
	env.IDs.Learn(HostnameKey(s.name), balancer.DNSName)
}

// adopt goes on with a load balancer that could not be seen before, if it is
// ours.
func (s createLoadBalancer) adopt(ctx context.Context, env *change.Env, groups []string) error {
	seen, err := Observe(ctx, env.ELBV2, Query{Name: s.name, Cluster: s.cluster, Brief: true})
	if err != nil {
		return err
	}
	if err := seen.Refusal(); err != nil {
		return err
	}
	if seen.LoadBalancer == nil {
		return apierr.Mark(apierr.ErrConflict, errors.New("it exists already, but cannot be seen yet"))
	}
	s.learn(env, seen.LoadBalancer)
	if have := seen.SecurityGroups(); len(groups) == 0 || len(have) == 0 || slices.Equal(sorted(groups), sorted(have)) {
		return nil
	}
	return setSecurityGroups{name: s.name, ref: plan.Ref{ID: seen.LoadBalancer.ARN}, groups: s.groups}.Apply(ctx, env)
}

// setSecurityGroups replaces the security groups of the load balancer.
type setSecurityGroups struct {
	name   string
	ref    plan.Ref
	groups []plan.Ref
}

func (s setSecurityGroups) Kind() string { return "SetSecurityGroups" }

func (s setSecurityGroups) String() string {
	return fmt.Sprintf("set security groups of load balancer %s to %s", s.name, refs(s.groups))
}

func (s setSecurityGroups) Apply(ctx context.Context, env *change.Env) error {
	balancer, err := env.IDs.Resolve(s.ref)
	if err != nil {
		return err
	}
	groups, err := env.Resolve(s.groups)
	if err != nil {
		return err
	}
	_, err = env.ELBV2.SetSecurityGroups(ctx, &elbv2.SetSecurityGroupsInput{
		LoadBalancerArn: &balancer, SecurityGroups: groups,
	})
	return err
}

// addTags adds tags to one thing.
type addTags struct {
	thing, arn string
	tags       map[string]string
}

func (s addTags) Kind() string   { return "AddTags" }
func (s addTags) String() string { return "add to " + s.thing + " the tags " + pairs(s.tags) }

func (s addTags) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELBV2.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: []string{s.arn}, Tags: toTags(s.tags)})
	return err
}

// modifyAttributes changes attributes of the load balancer.
type modifyAttributes struct {
	name   string
	ref    plan.Ref
	values map[string]string
}

func (s modifyAttributes) Kind() string { return "ModifyLoadBalancerAttributes" }

func (s modifyAttributes) String() string {
	return fmt.Sprintf("modify attributes of load balancer %s: %s", s.name, pairs(s.values))
}

func (s modifyAttributes) Apply(ctx context.Context, env *change.Env) error {
	balancer, err := env.IDs.Resolve(s.ref)
	if err != nil {
		return err
	}
	input := &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: &balancer}
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		input.Attributes = append(input.Attributes,
			elbv2types.LoadBalancerAttribute{Key: aws.String(key), Value: aws.String(s.values[key])})
	}
	_, err = env.ELBV2.ModifyLoadBalancerAttributes(ctx, input)
	return err
}

// deleteLoadBalancer deletes the load balancer, and its listeners with it.
type deleteLoadBalancer struct{ name, arn string }

func (s deleteLoadBalancer) Kind() string   { return "DeleteLoadBalancer" }
func (s deleteLoadBalancer) String() string { return "delete load balancer " + s.name }

func (s deleteLoadBalancer) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELBV2.DeleteLoadBalancer(ctx, &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &s.arn})
	return ignoreNotFound(err)
}

// ignoreNotFound takes what is not there as deleted.
func ignoreNotFound(err error) error {
	if errors.Is(err, apierr.ErrNotFound) {
		return nil
	}
	return err
}

func toMappings(mappings []Mapping) []elbv2types.SubnetMapping {
	list := make([]elbv2types.SubnetMapping, 0, len(mappings))
	for _, mapping := range mappings {
		out := elbv2types.SubnetMapping{SubnetId: aws.String(mapping.Subnet)}
		if mapping.Allocation != "" {
			out.AllocationId = aws.String(mapping.Allocation)
		}
		if mapping.PrivateIPv4 != "" {
			out.PrivateIPv4Address = aws.String(mapping.PrivateIPv4)
		}
		list = append(list, out)
	}
	return list
}

// String is the subnet, with the address if it is chosen.
func (m Mapping) String() string {
	address := strings.TrimSpace(m.Allocation + " " + m.PrivateIPv4)
	if address == "" {
		return m.Subnet
	}
	return m.Subnet + "(" + address + ")"
}

// refs lists references in a line.
func refs(list []plan.Ref) string {
	if len(list) == 0 {
		return "none"
	}
	words := make([]string, 0, len(list))
	for _, ref := range list {
		words = append(words, ref.String())
	}
	return strings.Join(words, " ")
}

// pairs lists keys and values in a line.
func pairs(values map[string]string) string {
	words := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		words = append(words, key+"="+values[key])
	}
	return strings.Join(words, " ")
}
