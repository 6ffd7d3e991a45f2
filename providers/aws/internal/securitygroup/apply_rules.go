package securitygroup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// authorizes is the kind of the steps that add rules.
const authorizes = "AuthorizeSecurityGroupIngress"

// Adds reports whether a step adds rules.
func Adds(step change.Step) bool { return step.Kind == authorizes }

// authorize adds rules to a group with a number of rules, up to its quota.
func authorize(group plan.Ref, rules Rules, have int) change.Step {
	text := fmt.Sprintf("add to security group %s the rules %s", group, rules)

	return plan.NewStep(authorizes, text, func(ctx context.Context, env *change.Env) error {
		return authorizeRules(ctx, env, group, rules, have)
	})
}

func authorizeRules(ctx context.Context, env *change.Env, group plan.Ref, rules Rules, have int) error {
	id, err := env.IDs.Resolve(group)
	if err != nil {
		return err
	}
	// An earlier step has created it, and it may not be visible everywhere in
	// EC2 yet.
	fresh := group.ID == ""

	return env.Wait.Poll(ctx, askForGroup, patience, func() (done bool, err error) {
		err = fill(ctx, env, id, rules, have)

		return !fresh || !hasCode(err, codeGroupMissing), err
	})
}

// authorizeAll adds all rules in one call, or else each by its own call: EC2
// rejects all if one exists already.
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

// revoke removes rules from a group with a number of rules, and adds the
// missing ones that exceeded the quota before.
func revoke(group plan.Ref, rules, missing Rules, have int) change.Step {
	text := fmt.Sprintf("remove from security group %s the rules %s", group, rules)

	return plan.NewStep("RevokeSecurityGroupIngress", text, func(ctx context.Context, env *change.Env) error {
		if err := revokeRules(ctx, env, group, rules); err != nil {
			return err
		}
		id, err := env.IDs.Resolve(group)
		if err != nil || !env.HasShortage(quotaOf(id)) {
			return err
		}
		env.ClearShortage(quotaOf(id))

		return authorizeRules(ctx, env, group, missing, have-len(rules))
	}).Removal()
}

// revokeRules removes all rules in one call, or else each by its own call: EC2
// rejects all if one does not exist. In that case, rules that name no load
// balancer are removed first: as long as one that does is left, a later run
// removes the rest.
func revokeRules(ctx context.Context, env *change.Env, group plan.Ref, rules Rules) error {
	id, err := env.IDs.Resolve(group)
	if err != nil {
		return err
	}
	err = revokeCall(ctx, env, id, rules)
	if !hasCode(err, codeRuleMissing) {
		return gone(err)
	}
	order := rules.sorted()
	slices.SortStableFunc(order, func(a, b Rule) int { return rank(rules[a]) - rank(rules[b]) })

	return each(rules, order, func(one Rules) error { return gone(revokeCall(ctx, env, id, one)) })
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

// gone treats rules that do not exist as removed.
func gone(err error) error {
	if hasCode(err, codeRuleMissing, codeGroupMissing) {
		return nil
	}

	return err
}

// describeRules changes the descriptions of rules, which contain their purpose.
func describeRules(group plan.Ref, rules Rules) change.Step {
	text := fmt.Sprintf("describe in security group %s the rules %s", group, rules)

	return plan.NewStep("UpdateSecurityGroupRuleDescriptionsIngress", text, func(ctx context.Context, env *change.Env) error {
		return updateDescriptions(ctx, env, group, rules)
	})
}

func updateDescriptions(ctx context.Context, env *change.Env, group plan.Ref, rules Rules) error {
	id, err := env.IDs.Resolve(group)
	if err != nil {
		return err
	}
	_, err = env.EC2.UpdateSecurityGroupRuleDescriptionsIngress(ctx, &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{
		GroupId: aws.String(id), IpPermissions: rules.permissions(true),
	})
	if errors.Is(err, apierr.ErrDenied) || hasCode(err, codeRuleMissing) {
		// The usual IAM policies may not allow this action. A rule that no
		// longer has a description of its own is created again.
		return recreateRules(ctx, env, id, rules)
	}

	return err
}

// Timeout and interval of adding rules again that were removed only to change
// their descriptions.
const (
	restoreLimit    = 10 * time.Second
	restoreInterval = time.Second
)

// LostRulesError means that rules that another load balancer needs were
// removed, and could not be added again.
type LostRulesError struct {
	// Group is the ID of the security group that lacks the rules.
	Group string
	Rules Rules
	// Err is why they could not be added.
	Err error
}

// Error implements error.
func (e *LostRulesError) Error() string {
	return fmt.Sprintf("add the rules %s to security group %s again: %v", e.Rules, e.Group, e.Err)
}

// Unwrap returns the cause.
func (e *LostRulesError) Unwrap() error { return e.Err }

// recreateRules removes rules and adds them again with other descriptions.
// Adding them is retried for a short time, even if ctx has ended: other load
// balancers need them.
func recreateRules(ctx context.Context, env *change.Env, group string, rules Rules) error {
	ref := plan.Ref{ID: group}
	revoked := revokeRules(ctx, env, ref, rules)
	restoring, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
	defer cancel()
	added := env.Wait.Poll(restoring, restoreInterval, restoreLimit, func() (done bool, err error) {
		err = authorizeAll(restoring, env, group, rules)
		final := errors.Is(err, apierr.ErrDenied) || errors.Is(err, apierr.ErrInvalid) || hasCode(err, codeGroupMissing)

		return err == nil || final, err
	})
	if added != nil && !hasCode(added, codeGroupMissing) {
		added = &LostRulesError{Group: group, Rules: rules, Err: added}
	}

	return errors.Join(revoked, added)
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
