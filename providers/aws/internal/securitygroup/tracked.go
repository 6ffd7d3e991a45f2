package securitygroup

import (
	"context"
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
	// written is called after each write of security groups, or attempt at one that
	// EC2 has not refused.
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
	// found is set if EC2 refused to add the rule because it exists: it may have
	// another description, which is read. Unclear is set if a later call may have
	// written the rule: what is read counts.
	found, unclear bool
}

// note keeps what a call has written:
//
//	EC2 returns                     then
//	done                            the rules exist, or not, as written
//	it is so already, of one rule   the same: an earlier attempt may have written it
//	it is so already, of several    which ones is not known: the rules are as they are read
//	refused                         nothing changes
//	nothing, or an internal error   it may have written: the rules are as they are read
func (t *tracked) note(group string, permissions []types.IpPermission, exists bool, err error) {
	defer t.attempted(err)
	already := hasCode(err, codeRuleExists, codeRuleMissing)
	if !already && apierr.IsRefusal(err) {
		return
	}
	rules := rulesOf(permissions)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prune()
	for rule, description := range rules {
		before, known := t.rules[group][rule]
		write := ruleWrite{exists: exists && !hasCode(err, codeRuleMissing), description: description, at: time.Now()}
		switch {
		case err != nil && (!already || len(rules) > 1):
			if !known {
				continue
			}
			write = before
			write.unclear = true
		case write.exists && already && known && before.exists && !before.unclear:
			continue // it has the description with which it was written
		default:
			// One that was removed before was added by an earlier attempt of this call.
			write.found = already && (!known || before.exists)
		}
		t.put(group, rule, write)
	}
}

// put keeps a write. The caller holds mu.
func (t *tracked) put(group string, rule Rule, write ruleWrite) {
	if t.rules[group] == nil {
		t.rules[group] = map[Rule]ruleWrite{}
	}
	t.rules[group][rule] = write
}

// attempted reports a write, unless EC2 rejected it: what was read is still true
// then. It is not if EC2 refused because something exists, or does not.
func (t *tracked) attempted(err error) {
	if err == nil || !apierr.IsRefusal(err) || hasCode(err, codeGroupExists, codeGroupMissing, codeRuleExists, codeRuleMissing) {
		t.written()
	}
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
		_, read := rules[rule]
		switch {
		case write.unclear:
		case !write.exists:
			delete(rules, rule)
		case !read || !write.found:
			rules[rule] = write.description
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
	out, err := t.EC2.CreateSecurityGroup(ctx, in, options...)
	t.attempted(err)

	return out, err
}

// DeleteSecurityGroup implements client.SecurityGroups.
func (t *tracked) DeleteSecurityGroup(
	ctx context.Context, in *ec2.DeleteSecurityGroupInput, options ...func(*ec2.Options),
) (*ec2.DeleteSecurityGroupOutput, error) {
	out, err := t.EC2.DeleteSecurityGroup(ctx, in, options...)
	defer t.attempted(err)
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
	out, err := t.EC2.CreateTags(ctx, in, options...)
	t.attempted(err)

	return out, err
}
