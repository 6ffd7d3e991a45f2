package octavia

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// errLoses means that a pool lacks members of the one that it is to replace.
var errLoses = apierr.Mark(apierr.ErrInvalid, errors.New("the pool that serves stays in use, since the new one lacks members of it"))

// batch adds members, in calls about several members. What is refused is stored, so that the next
// sync leaves it out.
//
// Without additive updates each call has the members that are there as well. If one of those
// is the reason for a refusal, it must not keep others away: single members are then added
// by a call that has nothing else.
type batch struct {
	*target

	env      *change.Env
	additive bool
	// base are members that are in each call, besides those that were accepted.
	base []client.MemberSpec
	// due means that a call is needed even if it adds no member.
	due bool
	// alone means that single members are added by a call of their own: a request was
	// refused.
	alone bool
	// page is how many members a call has at most, 0 for no limit.
	page int
}

// refusedMember is a member that Octavia refuses, with its message.
type refusedMember struct {
	member DesiredMember
	cause  string
}

// refusalsPerHalving is how many requests may be refused for each time that the members can
// be halved: enough for three members that are refused.
const refusalsPerHalving = 4

// apply makes the calls for all members that Octavia accepts. It returns errors that concern
// no members.
func (b *batch) apply(ctx context.Context, members []DesiredMember) error {
	added, err := plan.Bulk[DesiredMember]{
		Send:      b.send,
		IsRefusal: isMemberRefusal,
		IsQuota:   func(err error) bool { return errors.Is(err, apierr.ErrQuota) },
		Names: func(err error, m DesiredMember) bool {
			text := change.Message(err)

			return mentions(text, m.Address.String()) || mentions(text, m.SubnetID)
		},
		Page: b.page,
		Most: refusalsPerHalving * bits.Len(uint(len(members))),
	}.Do(ctx, members)
	if err == nil && b.due {
		err = b.send(ctx, nil)
	}

	return cmp.Or(err, b.report(added))
}

// send makes one call.
func (b *batch) send(ctx context.Context, members []DesiredMember) error {
	if b.alone && !b.additive && len(members) == 1 {
		return b.sendAlone(ctx, members[0])
	}
	specs := slices.Concat(b.base, lists.Map(members, DesiredMember.spec))
	err := b.writePool(ctx, b.env, func(ctx context.Context, pool string) error {
		if b.additive {
			return b.env.Octavia.AddMembers(ctx, pool, specs)
		}

		return b.env.Octavia.UpdateMembers(ctx, pool, specs)
	})
	switch {
	case err == nil && !b.additive:
		b.base, b.due = specs, false
	case err != nil && isMemberRefusal(err) && !b.alone:
		if b.alone = true; len(members) == 1 && !b.additive {
			return b.sendAlone(ctx, members[0])
		}
	}

	return err
}

// sendAlone adds one member by a call of its own. One that is there already is done.
func (b *batch) sendAlone(ctx context.Context, m DesiredMember) error {
	err := b.writePool(ctx, b.env, func(ctx context.Context, pool string) error {
		_, err := b.env.Octavia.CreateMember(ctx, pool, m.spec())

		return err
	})
	if err != nil && !isDuplicate(err) {
		return err
	}
	b.base = append(b.base, m.spec())

	return nil
}

// report stores and warns of members that the pool does not have. It returns an error if the pool is to
// replace one that has them. What exceeds a quota may fit later, and is not left out by the next
// sync; nor is a duplicate, which may be the member itself.
func (b *batch) report(added plan.Outcome[DesiredMember]) error {
	port := b.port.key()
	if len(added.Excess) > 0 {
		names := plan.FewCommas(added.Excess)
		b.env.Lack("members of "+port.String()+" over a quota", fmt.Sprintf("port %s: members over a quota: %s", port, names))
		_ = b.env.WarnOfQuota(b.loadBalancer, fmt.Sprintf("members %s for port %s", names, port), added.Quota)
	}
	pool, unknown := b.poolID(b.env)
	refused := make([]refusedMember, 0, len(added.Refused))
	for _, r := range added.Refused {
		refused = append(refused, refusedMember{r.Item, change.Message(r.Cause)})
		if unknown == nil && errors.Is(r.Cause, apierr.ErrInvalid) {
			b.env.Refused.AddMember(pool, r.Item.key(), change.Message(r.Cause))
		}
	}
	found := b.refusals(refused)
	for _, w := range found.Warnings {
		b.env.Warn(w)
	}
	for _, gap := range found.Gaps {
		b.env.Lack(gap.Key, gap.Text)
	}
	if len(added.Untried) > 0 {
		text := fmt.Sprintf("port %s: members that are not added yet, since Octavia refuses others without naming them: %s", port, plan.FewCommas(added.Untried))
		b.env.Lack("members of "+port.String()+" that were not tried", text)
		b.env.Warn(service.Warn(change.TargetRefused, "Load balancer %s, %s", b.loadBalancer, text))
	}

	return b.loses(slices.Concat(added.Untried, added.Excess, lists.Map(refused, func(r refusedMember) DesiredMember { return r.member })))
}

// loses returns an error if the pool is to replace one that has a member that it lacks.
func (b *batch) loses(missing []DesiredMember) error {
	if !b.moves() || b.attached == nil {
		return nil
	}
	serving := map[string]bool{}
	for _, m := range b.attached.Members {
		serving[m.pair().String()] = true
	}
	if lost := lists.Filter(missing, func(m DesiredMember) bool { return serving[m.pair().String()] }); len(lost) > 0 {
		return fmt.Errorf("%w: %s", errLoses, plan.FewCommas(lost))
	}

	return nil
}

// refusals are the findings about members that Octavia refuses: one warning for each of its
// messages.
func (t *target) refusals(refused []refusedMember) Findings {
	if len(refused) == 0 {
		return Findings{}
	}
	byCause := map[string][]string{}
	var causes, names []string
	for _, r := range refused {
		if byCause[r.cause] == nil {
			causes = append(causes, r.cause)
		}
		byCause[r.cause] = append(byCause[r.cause], r.member.String())
		names = append(names, r.member.String())
	}
	names = plan.Sorted(names)
	found := Findings{Gaps: []service.Gap{{
		Key:  "members of " + t.port.key().String() + " " + plan.Words(names),
		Text: fmt.Sprintf("port %s: members that Octavia refuses: %s", t.port.key(), plan.FewCommas(names)),
	}}}
	for _, cause := range plan.Sorted(causes) {
		found.Warnings = append(found.Warnings, change.RefusedTargets(t.loadBalancer, byCause[cause], cause))
	}

	return found
}
