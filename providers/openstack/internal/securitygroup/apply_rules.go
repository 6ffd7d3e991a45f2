package securitygroup

import (
	"context"
	"errors"
	"fmt"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// typeRuleExists is the type of the error of Neutron about a rule that exists (neutron:
// extensions/securitygroup.py).
const typeRuleExists = "SecurityGroupRuleExists"

// addRules returns the step that creates rules. Neutron creates all rules of a call or none; one that
// exists is done.
func addRules(group groupRef, rules []Rule) change.Plan {
	if len(rules) == 0 {
		return nil
	}
	text := fmt.Sprintf("add to security group %s the rules %s", group, plan.Commas(rules))

	return change.Plan{plan.NewStep("CreateSecurityGroupRule", text, func(ctx context.Context, env *change.Env) error {
		id, err := env.IDs.Resolve(group.Ref)
		if err != nil {
			return err
		}
		made, err := plan.Bulk[Rule]{
			Send: func(ctx context.Context, some []Rule) error {
				_, err := env.Network.CreateSecurityGroupRules(ctx, lists.Map(some, func(r Rule) client.SecurityGroupRule { return r.request(id) }))
				if refusal, ok := errors.AsType[*client.Error](err); ok && len(some) == 1 && refusal.Type == typeRuleExists {
					return nil
				}

				return err
			},
			IsRefusal: func(err error) bool { return errors.Is(err, apierr.ErrConflict) || errors.Is(err, apierr.ErrInvalid) },
			IsQuota:   func(err error) bool { return errors.Is(err, apierr.ErrQuota) },
		}.Do(ctx, rules)

		return errors.Join(err, lackRules(env, group, made))
	}).Dispensable()}
}

// lackRules warns of the rules that were not created, and returns the errors.
func lackRules(env *change.Env, group groupRef, made plan.Outcome[Rule]) error {
	if made.Quota != nil {
		env.RulesOverQuota = true
		env.Warn(service.Warn(change.QuotaExceeded, "Security group %s lacks rules that exceed a quota of the project: %s (%s)",
			group.name, plan.FewCommas(made.Excess), change.Message(made.Quota)))
	}
	var refused []Rule
	var errs []error
	for _, r := range made.Refused {
		refused, errs = append(refused, r.Item), append(errs, r.Cause)
	}
	if err := errors.Join(errs...); err != nil {
		env.Warn(service.Warn(RuleRefused, "Security group %s lacks rules that Neutron refuses: %s (%s)",
			group.name, plan.FewCommas(refused), change.Message(err)))
	}

	return errors.Join(append(errs, made.Quota)...)
}

// removeRules returns the step that deletes rules which are not wanted.
func removeRules(group groupRef, rules []ownRule) change.Plan {
	if len(rules) == 0 {
		return nil
	}
	text := fmt.Sprintf("remove from security group %s the rules %s", group, plan.Commas(rules))

	return change.Plan{plan.NewStep(kindDeleteRule, text, func(ctx context.Context, env *change.Env) error {
		return deleteRules(ctx, env, rules)
	}).Removal().Dispensable()}
}

// removeFirstRules returns the step that deletes the rules which a new group has from the start and
// which are not wanted.
func removeFirstRules(group groupRef, wanted []Rule) change.Plan {
	text := fmt.Sprintf("remove from security group %s the rules that it has from the start", group)

	return change.Plan{plan.NewStep(kindDeleteRule, text, func(ctx context.Context, env *change.Env) error {
		id, err := env.IDs.Resolve(group.Ref)
		if err != nil {
			return err
		}
		have, err := env.Network.SecurityGroupRules(ctx, id)
		if err != nil {
			return err
		}
		_, extra := compareRules(wanted, have)

		return deleteRules(ctx, env, extra)
	}).Removal().Dispensable()}
}

const kindDeleteRule = "DeleteSecurityGroupRule"

func deleteRules(ctx context.Context, env *change.Env, rules []ownRule) error {
	var errs []error
	for _, rule := range rules {
		if err := env.Network.DeleteSecurityGroupRule(ctx, rule.id); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", rule, err))
			if concernsAll(ctx, err) {
				break
			}
		}
	}

	return errors.Join(errs...)
}
