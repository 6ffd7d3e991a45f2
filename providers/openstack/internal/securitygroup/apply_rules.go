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

// ruleChange is the change of the rules of a group. It makes two steps, between which the
// ports get the group.
type ruleChange struct {
	group           groupRef
	wanted, missing []Rule
	extra           []ownRule
	// unread means that the group is new: the rules that it has from the start are read
	// when they are to be deleted.
	unread bool
	// left are missing rules that exceed a quota. The first step stores them for the
	// second one, which has room for them after it has deleted others.
	left []Rule
}

// additions returns the step that creates the missing rules. If the other step makes room,
// rules that exceed the quota are no error of this one.
func (c *ruleChange) additions() change.Plan {
	if len(c.missing) == 0 {
		return nil
	}
	text := fmt.Sprintf("add to security group %s the rules %s", c.group, plan.Commas(c.missing))
	step := plan.NewStep("CreateSecurityGroupRule", text, func(ctx context.Context, env *change.Env) error {
		quota, err := c.create(ctx, env)

		return errors.Join(err, quota)
	})
	if c.removes() {
		step = step.OrRemove(func(ctx context.Context, env *change.Env) error {
			_, err := c.create(ctx, env)

			return err
		})
	}

	return change.Plan{step.Dispensable()}
}

func (c *ruleChange) removes() bool { return c.unread || len(c.extra) > 0 }

// removals returns the step that deletes rules which are not wanted.
func (c *ruleChange) removals() change.Plan {
	if !c.removes() {
		return nil
	}
	rules := "that it has from the start"
	if !c.unread {
		rules = plan.Commas(c.extra)
	}
	text := fmt.Sprintf("remove from security group %s the rules %s", c.group, rules)

	return change.Plan{plan.NewStep("DeleteSecurityGroupRule", text, c.delete).Removal().Dispensable()}
}

// create creates the missing rules. The error about a quota is returned apart from others.
func (c *ruleChange) create(ctx context.Context, env *change.Env) (quota, err error) {
	id, err := env.IDs.Resolve(c.group.Ref)
	if err != nil {
		return nil, err
	}
	w := &ruleWriter{network: env.Network, group: id}
	err = w.send(ctx, c.missing)
	c.left = w.left
	w.warn(env, c.group)

	return w.quota, errors.Join(err, w.refusal)
}

// delete deletes rules, and creates those that exceeded the quota before.
func (c *ruleChange) delete(ctx context.Context, env *change.Env) error {
	id, err := env.IDs.Resolve(c.group.Ref)
	if err != nil {
		return err
	}
	extra := c.extra
	if c.unread {
		have, err := env.Network.SecurityGroupRules(ctx, id)
		if err != nil {
			return err
		}
		_, extra = compareRules(c.wanted, have)
	}
	var errs []error
	for _, rule := range extra {
		if err := env.Network.DeleteSecurityGroupRule(ctx, rule.id); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", rule, err))
			if concernsAll(ctx, err) {
				return errors.Join(errs...)
			}
		}
	}
	if len(c.left) == 0 {
		return errors.Join(errs...)
	}
	again := ruleChange{group: c.group, missing: c.left}
	quota, err := again.create(ctx, env)

	return errors.Join(append(errs, err, quota)...)
}

// ruleWriter creates rules in a group. Neutron creates all rules of a call or none.
type ruleWriter struct {
	network *client.NetworkService
	group   string

	// left are the rules that exceed a quota, refused those that Neutron does not take.
	left, refused []Rule
	// quota and refusal are the errors about them.
	quota, refusal error
	// reread means that the rules of the group were read.
	reread bool
}

// send creates rules:
//
//	Neutron refuses           then
//	rules that exist          those that are missing are sent, once
//	one rule that exists      it is there
//	rules for another reason  each half of them is sent
//	one rule for a quota      it and the following ones are left
//	one rule                  it is refused
func (w *ruleWriter) send(ctx context.Context, rules []Rule) error {
	if len(rules) == 0 {
		return nil
	}
	if len(w.left) > 0 {
		w.left = append(w.left, rules...)

		return nil
	}
	_, err := w.network.CreateSecurityGroupRules(ctx, lists.Map(rules, func(r Rule) client.SecurityGroupRule { return r.request(w.group) }))
	if errors.Is(err, apierr.ErrConflict) && !w.reread {
		return w.sendMissing(ctx, rules)
	}
	if len(rules) > 1 && isRefusal(err) {
		half := len(rules) / 2
		if err := w.send(ctx, rules[:half]); err != nil {
			return err
		}

		return w.send(ctx, rules[half:])
	}

	return w.leaveOut(rules, err)
}

// isRefusal reports whether an error may be about one of the rules that were sent.
func isRefusal(err error) bool {
	return errors.Is(err, apierr.ErrConflict) || errors.Is(err, apierr.ErrQuota) || errors.Is(err, apierr.ErrInvalid)
}

// leaveOut stores a rule that Neutron has not created, unless it is there already. It
// returns other errors.
func (w *ruleWriter) leaveOut(rules []Rule, err error) error {
	switch {
	case !isRefusal(err):
		return err
	case errors.Is(err, apierr.ErrConflict):
	case errors.Is(err, apierr.ErrQuota):
		w.left, w.quota = append(w.left, rules...), err
	default:
		w.refused, w.refusal = append(w.refused, rules...), errors.Join(w.refusal, err)
	}

	return nil
}

// sendMissing creates those rules that the group does not have by now.
func (w *ruleWriter) sendMissing(ctx context.Context, rules []Rule) error {
	w.reread = true
	have, err := w.network.SecurityGroupRules(ctx, w.group)
	if err != nil {
		return err
	}
	missing, _ := compareRules(rules, have)

	return w.send(ctx, missing)
}

// warn warns of the rules that were not created.
func (w *ruleWriter) warn(env *change.Env, group groupRef) {
	if len(w.left) > 0 {
		env.Warn(service.Warn(change.QuotaExceeded, "Security group %s lacks rules that exceed a quota of the project: %s (%s)",
			group.name, plan.FewCommas(w.left), change.Message(w.quota)))
	}
	if len(w.refused) > 0 {
		env.Warn(service.Warn(RuleRefused, "Security group %s lacks rules that Neutron refuses: %s (%s)",
			group.name, plan.FewCommas(w.refused), change.Message(w.refusal)))
	}
}
