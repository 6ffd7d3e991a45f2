package securitygroup

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// propagation is how long reads of EC2 may lag behind writes. What was written
// within it counts as written, whatever is read:
// https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
const propagation = time.Minute

// tracked is a client that takes its own writes of rules into account in what it
// reads.
type tracked struct {
	client.EC2
	// written is called after each write of security groups, or attempt at one.
	written func()

	mu sync.Mutex
	// rules are the last writes of rules by the IDs of their groups.
	rules map[string]map[Rule]ruleWrite
}

// ruleWrite is a write of a rule: it exists since then, or does not.
type ruleWrite struct {
	exists      bool
	description string
	at          time.Time
}

// note keeps what a call has written. A call of which it is not known whether it
// has written anything makes the rules unknown.
func (t *tracked) note(group string, permissions []types.IpPermission, exists bool, err error) {
	defer t.written()
	unclear := err != nil && !refused(err)
	if err != nil && !unclear {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prune()
	for rule, description := range rulesOf(permissions) {
		switch {
		case unclear:
			delete(t.rules[group], rule)
			continue
		case t.rules[group] == nil:
			t.rules[group] = map[Rule]ruleWrite{}
		}
		t.rules[group][rule] = ruleWrite{exists, description, time.Now()}
	}
}

// refused reports whether EC2 itself says that it has done nothing.
func refused(err error) bool {
	return slices.ContainsFunc(
		[]error{apierr.ErrInvalid, apierr.ErrDenied, apierr.ErrConflict, apierr.ErrThrottled, apierr.ErrNotFound},
		func(class error) bool { return errors.Is(err, class) })
}

// prune drops writes that reads show by now. The caller holds mu.
func (t *tracked) prune() {
	for group, rules := range t.rules {
		maps.DeleteFunc(rules, func(_ Rule, write ruleWrite) bool { return time.Since(write.at) >= propagation })
		if len(rules) == 0 {
			delete(t.rules, group)
		}
	}
}

// recent returns the IDs of the groups with rules that were written lately.
func (t *tracked) recent() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prune()
	return slices.Sorted(maps.Keys(t.rules))
}

// DescribeSecurityGroups implements client.SecurityGroups.
func (t *tracked) DescribeSecurityGroups(
	ctx context.Context, in *ec2.DescribeSecurityGroupsInput, options ...func(*ec2.Options),
) (*ec2.DescribeSecurityGroupsOutput, error) {
	out, err := t.EC2.DescribeSecurityGroups(ctx, in, options...)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prune()
	result := *out
	result.SecurityGroups = slices.Clone(out.SecurityGroups) // others may share what was read
	for i := range result.SecurityGroups {
		group := &result.SecurityGroups[i]
		if writes := t.rules[aws.ToString(group.GroupId)]; len(writes) > 0 {
			group.IpPermissions = afterWrites(rulesOf(group.IpPermissions), writes).permissions(true)
		}
	}
	return &result, nil
}

// afterWrites returns the rules as they are after writes.
func afterWrites(rules Rules, writes map[Rule]ruleWrite) Rules {
	for rule, write := range writes {
		if write.exists {
			rules[rule] = write.description
		} else {
			delete(rules, rule)
		}
	}
	return rules
}

// AuthorizeSecurityGroupIngress implements client.SecurityGroups.
func (t *tracked) AuthorizeSecurityGroupIngress(
	ctx context.Context, in *ec2.AuthorizeSecurityGroupIngressInput, options ...func(*ec2.Options),
) (*ec2.AuthorizeSecurityGroupIngressOutput, error) {
	out, err := t.EC2.AuthorizeSecurityGroupIngress(ctx, in, options...)
	t.note(aws.ToString(in.GroupId), in.IpPermissions, true, err)
	return out, err
}

// RevokeSecurityGroupIngress implements client.SecurityGroups.
func (t *tracked) RevokeSecurityGroupIngress(
	ctx context.Context, in *ec2.RevokeSecurityGroupIngressInput, options ...func(*ec2.Options),
) (*ec2.RevokeSecurityGroupIngressOutput, error) {
	out, err := t.EC2.RevokeSecurityGroupIngress(ctx, in, options...)
	t.note(aws.ToString(in.GroupId), in.IpPermissions, false, err)
	return out, err
}

// UpdateSecurityGroupRuleDescriptionsIngress implements client.SecurityGroups.
func (t *tracked) UpdateSecurityGroupRuleDescriptionsIngress(
	ctx context.Context, in *ec2.UpdateSecurityGroupRuleDescriptionsIngressInput, options ...func(*ec2.Options),
) (*ec2.UpdateSecurityGroupRuleDescriptionsIngressOutput, error) {
	out, err := t.EC2.UpdateSecurityGroupRuleDescriptionsIngress(ctx, in, options...)
	t.note(aws.ToString(in.GroupId), in.IpPermissions, true, err)
	return out, err
}

// CreateSecurityGroup implements client.SecurityGroups.
func (t *tracked) CreateSecurityGroup(
	ctx context.Context, in *ec2.CreateSecurityGroupInput, options ...func(*ec2.Options),
) (*ec2.CreateSecurityGroupOutput, error) {
	defer t.written()
	return t.EC2.CreateSecurityGroup(ctx, in, options...)
}

// DeleteSecurityGroup implements client.SecurityGroups.
func (t *tracked) DeleteSecurityGroup(
	ctx context.Context, in *ec2.DeleteSecurityGroupInput, options ...func(*ec2.Options),
) (*ec2.DeleteSecurityGroupOutput, error) {
	defer t.written()
	out, err := t.EC2.DeleteSecurityGroup(ctx, in, options...)
	if err == nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.rules, aws.ToString(in.GroupId))
	}
	return out, err
}

// CreateTags implements client.Tags: load balancers tag nothing in EC2 but security
// groups.
func (t *tracked) CreateTags(ctx context.Context, in *ec2.CreateTagsInput, options ...func(*ec2.Options)) (*ec2.CreateTagsOutput, error) {
	defer t.written()
	return t.EC2.CreateTags(ctx, in, options...)
}
