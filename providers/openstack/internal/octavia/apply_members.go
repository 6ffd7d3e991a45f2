package octavia

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// errUnknownMembers means that a list of all members would change what users have set.
var errUnknownMembers = apierr.Mark(apierr.ErrUnavailable, errors.New("the settings of the members that stay are not known"))

// membersStep returns a step that changes the members of the pool. It stores the ID of the
// pool once it has the members.
func (t *target) membersStep(kind, text string, do func(context.Context, *change.Env) error) change.Step {
	return t.step(kind, text+"; "+t.poolText(), t.membersDo(do))
}

func (t *target) membersDo(do func(context.Context, *change.Env) error) func(context.Context, *change.Env) error {
	return func(ctx context.Context, env *change.Env) error {
		if err := do(ctx, env); err != nil {
			return err
		}
		pool, err := t.poolID(env)
		if err == nil {
			env.IDs.Set(t.key(keyMembers), pool)
		}

		return err
	}
}

// diff compares the members of the pool with those that the port wants by now. Those with an
// address that is to be kept are not removed. Those that Octavia has refused lately are not added, unless
// the pool is to replace another one, where they may serve.
func (t *target) diff() memberDiff {
	var seen []Member
	if t.pool != nil {
		seen = t.pool.Members
	}

	diff := diffMembers(seen, t.port.Pool.Members, t.desired.Serial)
	kept, removed := lists.Split(diff.remove, func(m Member) bool { return t.desired.Keep.Has(m.Address.Unmap()) })
	diff.keep, diff.remove = slices.Concat(diff.keep, kept), removed
	if t.pool != nil && !t.moves() {
		diff.leaveOut(t.desired.Refused[t.pool.ID])
	}

	return diff
}

// addMembers returns a step that adds members. The others are not in the request.
func (t *target) addMembers(diff memberDiff) change.Step {
	text := "add members " + plan.FewCommas(diff.add)

	return t.membersStep(kindAddMembers, text, func(ctx context.Context, env *change.Env) error {
		b := &batch{target: t, env: env, additive: true}

		return b.apply(ctx, diff.add)
	})
}

// updateMembers returns a step that writes all members, none of which goes.
func (t *target) updateMembers(diff memberDiff) change.Step {
	return t.membersStep(kindUpdateMembers, "update members: "+diff.text(), t.putMembers(diff))
}

// replaceMembers returns a step that writes all members. Where nothing may be removed it
// leaves the members that are not wanted.
func (t *target) replaceMembers(diff memberDiff) change.Step {
	step := t.updateMembers(diff)
	all := diff
	all.keep, all.remove = slices.Concat(diff.keep, diff.remove), nil
	replace := t.updateMembers(all).OrRemove(step.Do)
	replace.Text = step.Text

	return replace
}

// putMembers writes all members in one call, but for those that are to be removed. Those that stay
// keep what users have set.
func (t *target) putMembers(diff memberDiff) func(context.Context, *change.Env) error {
	return func(ctx context.Context, env *change.Env) error {
		if !diff.isKnown() {
			return errUnknownMembers
		}
		b := &batch{target: t, env: env, due: len(diff.update)+len(diff.remove) > 0}
		for _, m := range diff.keep {
			b.base = append(b.base, m.Full.Spec())
		}
		for _, u := range diff.update {
			b.base = append(b.base, u.spec())
		}

		return b.apply(ctx, diff.add)
	}
}

// isMemberRefusal reports whether a refusal may be about single members.
func isMemberRefusal(err error) bool {
	conflict, ok := client.ConflictOf(err)

	return errors.Is(err, apierr.ErrInvalid) || errors.Is(err, apierr.ErrQuota) ||
		ok && conflict.Kind == client.KindMember && conflict.Reason == client.ReasonDuplicate
}

// createMembers returns a step that adds members one by one.
func (t *target) createMembers(members []DesiredMember) change.Step {
	text := "add members one by one: " + plan.FewCommas(members)

	return t.membersStep(kindAddMembers, text, func(ctx context.Context, env *change.Env) error {
		return t.addAlone(ctx, env, members)
	})
}

func isDuplicate(err error) bool {
	conflict, ok := client.ConflictOf(err)

	return ok && conflict.Reason == client.ReasonDuplicate
}

// addAlone adds members one by one.
func (t *target) addAlone(ctx context.Context, env *change.Env, members []DesiredMember) error {
	b := &batch{target: t, env: env, alone: true, page: 1}

	return b.apply(ctx, members)
}

// recreateMembers returns a step that changes members one by one. Octavia permits no second
// member with the same address and port, so that each is deleted first.
func (t *target) recreateMembers(updates []memberUpdate) change.Step {
	text := "change members one by one: " + plan.FewCommas(lists.Map(updates, func(u memberUpdate) DesiredMember { return u.want }))

	return t.membersStep(kindUpdateMembers, text, func(ctx context.Context, env *change.Env) error {
		for _, u := range updates {
			if err := t.dropMember(ctx, env, u.seen); err != nil {
				return err
			}
			if err := t.addAlone(ctx, env, []DesiredMember{u.want}); err != nil {
				return fmt.Errorf("create member %s again: %w", u.want, err)
			}
		}

		return nil
	})
}

// deleteMembers returns a step that removes members one by one.
func (t *target) deleteMembers(members []Member) change.Step {
	text := "remove members one by one: " + plan.FewCommas(members)

	return t.membersStep(kindDeleteMembers, text, func(ctx context.Context, env *change.Env) error {
		for _, m := range members {
			if err := t.dropMember(ctx, env, m); err != nil {
				return err
			}
		}

		return nil
	})
}

func (t *target) dropMember(ctx context.Context, env *change.Env, m Member) error {
	return t.writePool(ctx, env, func(ctx context.Context, pool string) error {
		return env.Octavia.DeleteMember(ctx, pool, m.ID)
	})
}
