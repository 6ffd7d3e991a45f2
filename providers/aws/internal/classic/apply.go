package classic

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// The steps about the load balancer itself.
var (
	_ change.Step = createLoadBalancer{}
	_ change.Step = deleteLoadBalancer{}
	_ change.Step = attachSubnets{}
	_ change.Step = detachSubnets{}
	_ change.Step = applySecurityGroups{}
	_ change.Step = addTags{}
	_ change.Step = modifyAttributes{}
)

// createLoadBalancer makes the load balancer with its listeners and tags, and
// learns its DNS name.
type createLoadBalancer struct{ model *Model }

func (s createLoadBalancer) Kind() string { return "CreateLoadBalancer" }

func (s createLoadBalancer) String() string {
	m := s.model
	scheme := "internet-facing"
	if m.Internal {
		scheme = internal
	}
	return fmt.Sprintf("create %s classic load balancer %s in %s, security groups %s, listeners %s, tags %s",
		scheme, m.Name, words(subnetIDs(m.Subnets)), words(m.SecurityGroups), commas(m.Listeners), pairs(m.Tags))
}

func (s createLoadBalancer) Apply(ctx context.Context, env *change.Env) error {
	m := s.model
	groups, err := env.Resolve(m.SecurityGroups)
	if err != nil {
		return err
	}
	input := &elb.CreateLoadBalancerInput{
		LoadBalancerName: aws.String(m.Name),
		Listeners:        toListeners(m.Listeners),
		Subnets:          subnetIDs(m.Subnets),
		SecurityGroups:   groups,
		Tags:             toTags(m.Tags),
	}
	if m.Internal {
		input.Scheme = aws.String(internal)
	}
	out, err := env.ELB.CreateLoadBalancer(ctx, input)
	if _, exists := errors.AsType[*types.DuplicateAccessPointNameException](err); exists {
		return s.adopt(ctx, env)
	}
	if err != nil {
		return err
	}
	if err := s.confirm(ctx, env); err != nil {
		return err
	}
	env.IDs.Learn(HostnameKey(m.Name), aws.ToString(out.DNSName))
	return nil
}

// confirm asks whose load balancer it is. AWS answers to the creation of one that
// exists already as if it were new when nothing is different, and does not say
// whether tags count. What cannot be seen yet is new.
func (s createLoadBalancer) confirm(ctx context.Context, env *change.Env) error {
	tags, err := readTags(ctx, env.ELB, s.model.Name)
	if errors.Is(err, apierr.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return (&LoadBalancer{Name: s.model.Name, Cluster: s.model.Cluster, Tags: tags}).Refusal()
}

// adopt goes on with a load balancer that could not be seen before, if it is
// ours: it is made what is wanted.
func (s createLoadBalancer) adopt(ctx context.Context, env *change.Env) error {
	lb, err := Observe(ctx, env.ELB, s.model.Name, s.model.Cluster)
	if err != nil {
		return err
	}
	if lb == nil {
		return apierr.Mark(apierr.ErrConflict, errors.New("it exists already, but cannot be seen yet"))
	}
	env.IDs.Learn(HostnameKey(lb.Name), lb.DNSName)
	wanted := *s.model
	groups, err := env.Resolve(wanted.SecurityGroups)
	if err != nil {
		return err
	}
	wanted.SecurityGroups = nil
	for _, id := range groups {
		wanted.SecurityGroups = append(wanted.SecurityGroups, plan.Ref{ID: id})
	}
	return Diff(&wanted, lb).Apply(ctx, env, nil)
}

// deleteLoadBalancer deletes the load balancer with its listeners and policies.
// AWS takes it for done if there is none.
type deleteLoadBalancer struct{ name string }

func (s deleteLoadBalancer) Kind() string   { return "DeleteLoadBalancer" }
func (s deleteLoadBalancer) String() string { return "delete classic load balancer " + s.name }

func (s deleteLoadBalancer) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.DeleteLoadBalancer(ctx, &elb.DeleteLoadBalancerInput{LoadBalancerName: &s.name})
	if errors.Is(err, apierr.ErrNotFound) {
		return nil
	}
	return err
}

// attachSubnets adds subnets.
type attachSubnets struct {
	name    string
	subnets []string
}

func (s attachSubnets) Kind() string { return "AttachLoadBalancerToSubnets" }

func (s attachSubnets) String() string {
	return fmt.Sprintf("attach load balancer %s to subnets %s", s.name, words(s.subnets))
}

func (s attachSubnets) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.AttachLoadBalancerToSubnets(ctx, &elb.AttachLoadBalancerToSubnetsInput{
		LoadBalancerName: &s.name, Subnets: s.subnets,
	})
	return err
}

// detachSubnets removes subnets.
type detachSubnets struct {
	name    string
	subnets []string
}

func (s detachSubnets) Kind() string { return "DetachLoadBalancerFromSubnets" }

func (s detachSubnets) String() string {
	return fmt.Sprintf("detach load balancer %s from subnets %s", s.name, words(s.subnets))
}

func (s detachSubnets) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.DetachLoadBalancerFromSubnets(ctx, &elb.DetachLoadBalancerFromSubnetsInput{
		LoadBalancerName: &s.name, Subnets: s.subnets,
	})
	return err
}

// applySecurityGroups replaces all security groups.
type applySecurityGroups struct {
	name   string
	groups []plan.Ref
}

func (s applySecurityGroups) Kind() string { return "ApplySecurityGroupsToLoadBalancer" }

func (s applySecurityGroups) String() string {
	return fmt.Sprintf("apply security groups %s to load balancer %s", words(s.groups), s.name)
}

func (s applySecurityGroups) Apply(ctx context.Context, env *change.Env) error {
	groups, err := env.Resolve(s.groups)
	if err != nil {
		return err
	}
	_, err = env.ELB.ApplySecurityGroupsToLoadBalancer(ctx, &elb.ApplySecurityGroupsToLoadBalancerInput{
		LoadBalancerName: &s.name, SecurityGroups: groups,
	})
	return err
}

// addTags adds tags, or changes their values.
type addTags struct {
	name string
	tags map[string]string
}

func (s addTags) Kind() string { return "AddTags" }

func (s addTags) String() string {
	return fmt.Sprintf("add tags to load balancer %s: %s", s.name, pairs(s.tags))
}

func (s addTags) Apply(ctx context.Context, env *change.Env) error {
	_, err := env.ELB.AddTags(ctx, &elb.AddTagsInput{LoadBalancerNames: []string{s.name}, Tags: toTags(s.tags)})
	return err
}

// modifyAttributes sets all attributes.
type modifyAttributes struct {
	name       string
	attributes Attributes
}

func (s modifyAttributes) Kind() string { return "ModifyLoadBalancerAttributes" }

func (s modifyAttributes) String() string {
	return fmt.Sprintf("modify attributes of load balancer %s: %s", s.name, s.attributes)
}

func (s modifyAttributes) Apply(ctx context.Context, env *change.Env) error {
	a := s.attributes
	attributes := &types.LoadBalancerAttributes{
		CrossZoneLoadBalancing: &types.CrossZoneLoadBalancing{Enabled: a.CrossZone},
		ConnectionSettings:     &types.ConnectionSettings{IdleTimeout: &a.IdleTimeout},
		ConnectionDraining:     &types.ConnectionDraining{Enabled: a.Draining},
		AccessLog:              &types.AccessLog{Enabled: a.AccessLog},
	}
	if a.Draining {
		attributes.ConnectionDraining.Timeout = &a.DrainingTimeout
	}
	if a.AccessLog {
		attributes.AccessLog = &types.AccessLog{
			Enabled: true, EmitInterval: &a.AccessLogInterval, S3BucketName: &a.AccessLogBucket, S3BucketPrefix: &a.AccessLogPrefix,
		}
	}
	_, err := env.ELB.ModifyLoadBalancerAttributes(ctx, &elb.ModifyLoadBalancerAttributesInput{
		LoadBalancerName: &s.name, LoadBalancerAttributes: attributes,
	})
	return err
}

func subnetIDs(subnets []Subnet) []string {
	ids := make([]string, 0, len(subnets))
	for _, subnet := range subnets {
		ids = append(ids, subnet.ID)
	}
	return ids
}

func toTags(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}

// words lists things in a line.
func words[T any](list []T) string { return join(list, " ") }

// commas lists things that have blanks in them.
func commas[T any](list []T) string { return join(list, ", ") }

func join[T any](list []T, separator string) string {
	if len(list) == 0 {
		return "none"
	}
	texts := make([]string, 0, len(list))
	for _, item := range list {
		texts = append(texts, fmt.Sprint(item))
	}
	return strings.Join(texts, separator)
}

// pairs lists keys and values in a line.
func pairs(values map[string]string) string {
	list := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		list = append(list, key+"="+values[key])
	}
	return words(list)
}
