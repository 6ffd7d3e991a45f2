package securitygroup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// How long steps wait for a state, and how often they ask.
const (
	patience      = 30 * time.Second
	askForGroup   = time.Second
	askWhileInUse = 5 * time.Second
)

// create makes a group, or takes the one that is there under its name.
type create struct {
	managed *Managed
	vpc     string
	cluster cluster.ID
}

func (create) Kind() string { return "CreateSecurityGroup" }

func (s create) String() string {
	return fmt.Sprintf("create security group %s in %s, description %q, tags %s",
		s.managed.Name, s.vpc, s.managed.Description, tagText(s.managed.Tags))
}

func (s create) Apply(ctx context.Context, env *change.Env) error {
	input := &ec2.CreateSecurityGroupInput{
		GroupName:   aws.String(s.managed.Name),
		Description: aws.String(s.managed.Description),
		VpcId:       aws.String(s.vpc),
	}
	if len(s.managed.Tags) > 0 {
		input.TagSpecifications = []types.TagSpecification{{
			ResourceType: types.ResourceTypeSecurityGroup, Tags: tagList(s.managed.Tags),
		}}
	}
	made, err := env.EC2.CreateSecurityGroup(ctx, input)
	switch {
	case hasCode(err, codeGroupExists):
		return s.adopt(ctx, env)
	case err != nil:
		return err
	}
	env.IDs.Learn(s.managed.ref().Key, aws.ToString(made.GroupId))
	return nil
}

// adopt takes a group that was made before, maybe by a call whose answer was
// lost, maybe without a tag.
func (s create) adopt(ctx context.Context, env *change.Env) error {
	var group *Group
	err := env.Wait.Poll(ctx, askForGroup, patience, func() (done bool, err error) {
		group, err = observeNamed(ctx, env.EC2, s.vpc, s.managed.Name)
		return group != nil || err != nil, err
	})
	if err != nil {
		return fmt.Errorf("find the security group that has the name already: %w", err)
	}
	missing, err := missingTags(group, s.cluster)
	if err != nil {
		return err
	}
	env.IDs.Learn(s.managed.ref().Key, group.ID)
	if len(missing) > 0 {
		if err := (tag{group: plan.Ref{ID: group.ID}, tags: missing}).Apply(ctx, env); err != nil {
			return err
		}
	}
	if surplus := group.Rules.without(s.managed.Rules); len(surplus) > 0 {
		return revoke{group: plan.Ref{ID: group.ID}, rules: surplus}.Apply(ctx, env)
	}
	return nil
}

// tag adds tags to a group that is there.
type tag struct {
	group plan.Ref
	tags  map[string]string
}

func (tag) Kind() string { return "CreateTags" }

func (s tag) String() string {
	return fmt.Sprintf("add to security group %s the tags %s", s.group, tagText(s.tags))
}

func (s tag) Apply(ctx context.Context, env *change.Env) error {
	id, err := env.IDs.Resolve(s.group)
	if err != nil {
		return err
	}
	_, err = env.EC2.CreateTags(ctx, &ec2.CreateTagsInput{Resources: []string{id}, Tags: tagList(s.tags)})
	return err
}

// authorize adds rules.
type authorize struct {
	group plan.Ref
	rules Rules
	// fresh is a group that an earlier step has made, which EC2 may not know
	// everywhere yet.
	fresh bool
}

func (authorize) Kind() string { return "AuthorizeSecurityGroupIngress" }

func (s authorize) String() string {
	return fmt.Sprintf("add to security group %s the rules %s", s.group, s.rules)
}

func (s authorize) Apply(ctx context.Context, env *change.Env) error {
	id, err := env.IDs.Resolve(s.group)
	if err != nil {
		return err
	}
	return env.Wait.Poll(ctx, askForGroup, patience, func() (done bool, err error) {
		err = authorizeAll(ctx, env, id, s.rules)
		return !s.fresh || !hasCode(err, codeGroupMissing), err
	})
}

// authorizeAll adds all rules, or else each of them: EC2 refuses all if one is
// there already.
func authorizeAll(ctx context.Context, env *change.Env, group string, rules Rules) error {
	err := authorizeCall(ctx, env, group, rules)
	if !hasCode(err, codeRuleExists) {
		return err
	}
	return each(rules, rules.sorted(), func(one Rules) error {
		err := authorizeCall(ctx, env, group, one)
		if hasCode(err, codeRuleExists) {
			return nil
		}
		return err
	})
}

func authorizeCall(ctx context.Context, env *change.Env, group string, rules Rules) error {
	_, err := env.EC2.AuthorizeSecurityGroupIngress(ctx, &ec2.AuthorizeSecurityGroupIngressInput{
		GroupId: aws.String(group), IpPermissions: rules.permissions(true),
	})
	return err
}

// revoke takes rules away.
type revoke struct {
	group plan.Ref
	rules Rules
}

func (revoke) Kind() string { return "RevokeSecurityGroupIngress" }

func (s revoke) String() string {
	return fmt.Sprintf("remove from security group %s the rules %s", s.group, s.rules)
}

func (s revoke) Apply(ctx context.Context, env *change.Env) error {
	id, err := env.IDs.Resolve(s.group)
	if err != nil {
		return err
	}
	err = revokeCall(ctx, env, id, s.rules)
	if !hasCode(err, codeRuleMissing) {
		return gone(err)
	}
	// EC2 refuses all if one is not there. What names no load balancer goes
	// first: as long as one is named, somebody comes back for the rest.
	order := s.rules.sorted()
	slices.SortStableFunc(order, func(a, b Rule) int { return rank(s.rules[a]) - rank(s.rules[b]) })
	return each(s.rules, order, func(one Rules) error { return gone(revokeCall(ctx, env, id, one)) })
}

func rank(description string) int {
	if description == mtuDescription {
		return 0
	}
	return 1
}

func revokeCall(ctx context.Context, env *change.Env, group string, rules Rules) error {
	_, err := env.EC2.RevokeSecurityGroupIngress(ctx, &ec2.RevokeSecurityGroupIngressInput{
		GroupId: aws.String(group), IpPermissions: rules.permissions(false),
	})
	return err
}

// gone takes what is not there for what has been taken away.
func gone(err error) error {
	if hasCode(err, codeRuleMissing, codeGroupMissing) {
		return nil
	}
	return err
}

// describeRules changes the descriptions of rules, which says what they are for.
type describeRules struct {
	group plan.Ref
	rules Rules
}

func (describeRules) Kind() string { return "UpdateSecurityGroupRuleDescriptionsIngress" }

func (s describeRules) String() string {
	return fmt.Sprintf("describe in security group %s the rules %s", s.group, s.rules)
}

func (s describeRules) Apply(ctx context.Context, env *change.Env) error {
	id, err := env.IDs.Resolve(s.group)
	if err != nil {
		return err
	}
	_, err = env.EC2.UpdateSecurityGroupRuleDescriptionsIngress(ctx, &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{
		GroupId: aws.String(id), IpPermissions: s.rules.permissions(true),
	})
	switch {
	case errors.Is(err, apierr.ErrDenied), hasCode(err, codeRuleMissing):
		// The action is not among those that IAM policies are known to allow. A
		// rule that has no description of its own any more is made anew.
		if err := revoke(s).Apply(ctx, env); err != nil {
			return err
		}
		return authorize{group: s.group, rules: s.rules}.Apply(ctx, env)
	default:
		return err
	}
}

// remove deletes a group as soon as nothing uses it, if that is soon.
type remove struct{ id, name string }

func (remove) Kind() string { return "DeleteSecurityGroup" }

func (s remove) String() string { return fmt.Sprintf("delete security group %s (%s)", s.id, s.name) }

func (s remove) Apply(ctx context.Context, env *change.Env) error {
	err := env.Wait.Poll(ctx, askWhileInUse, patience, func() (done bool, err error) {
		_, err = env.EC2.DeleteSecurityGroup(ctx, &ec2.DeleteSecurityGroupInput{GroupId: aws.String(s.id)})
		switch {
		case hasCode(err, codeGroupMissing):
			return true, nil
		case hasCode(err, codeInUse):
			return false, err
		default:
			return true, err
		}
	})
	if hasCode(err, codeInUse) {
		return s.explain(ctx, env, err)
	}
	return err
}

// explain adds to an error which groups have rules that refer to the group: those
// of users only they can take away.
func (s remove) explain(ctx context.Context, env *change.Env, cause error) error {
	referring, err := describe(ctx, env.EC2, []types.Filter{filter(filterReferring, s.id)})
	delete(referring, s.id) // its own rules go with it
	if err != nil || len(referring) == 0 {
		return cause
	}
	return fmt.Errorf("%w; it is named by rules of %s", cause, strings.Join(slices.Sorted(maps.Keys(referring)), ", "))
}

// each writes rules one by one, in order.
func each(rules Rules, order []Rule, write func(Rules) error) error {
	for _, rule := range order {
		if err := write(Rules{rule: rules[rule]}); err != nil {
			return fmt.Errorf("%s: %w", rule, err)
		}
	}
	return nil
}

func tagList(tags map[string]string) []types.Tag {
	list := make([]types.Tag, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, types.Tag{Key: aws.String(key), Value: aws.String(tags[key])})
	}
	return list
}

func tagText(tags map[string]string) string {
	list := make([]string, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, key+"="+tags[key])
	}
	return strings.Join(list, " ")
}
