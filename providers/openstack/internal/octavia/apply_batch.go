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

// batch is a call about several members, which Octavia carries out for all of them or for
// none. If it refuses members without naming one, halves of them are tried, down to single
// ones:
//
//	of 100 members are refused  requests that are refused
//	1                           at most 7
//	3                           at most 17
//	all                         28, and the next sync goes on
//
// What is refused is stored, so that the next sync leaves it out.
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
	// full means that not even one more member fits into a quota, and quota is its error.
	full  bool
	quota error
	// left is how many more requests with members may be refused.
	left int
	// refused are members that Octavia refuses, with its messages. untried are those for
	// which no request was left.
	refused []refusedMember
	untried []DesiredMember
}

// refusedMember is a member that Octavia refuses, with its message.
type refusedMember struct {
	member DesiredMember
	cause  string
}

// refusalsPerHalving is how many requests may be refused for each time that the members can
// be halved: enough for three members that are refused.
const refusalsPerHalving = 4

// mayRefuse is how many requests may be refused in one sync until these members are there.
func mayRefuse(members []DesiredMember) int { return refusalsPerHalving * bits.Len(uint(len(members))) }

// apply makes the calls for all members that Octavia accepts. It returns errors that concern
// no members.
func (b *batch) apply(ctx context.Context, members []DesiredMember) error {
	b.left = mayRefuse(members)
	err := b.add(ctx, members)
	if err == nil && b.due {
		err = b.send(ctx, nil)
	}

	return cmp.Or(err, b.report())
}

// add adds members, unless they are refused.
func (b *batch) add(ctx context.Context, members []DesiredMember) error {
	switch {
	case len(members) == 0:
		return nil
	case b.full:
		b.refuse(members, b.quota)

		return nil
	case b.left == 0:
		b.untried = append(b.untried, members...)

		return nil
	}
	err := b.send(ctx, members)
	if err == nil || !isMemberRefusal(err) {
		return err
	}
	isProof := b.additive || b.alone || len(members) > 1
	b.left--
	b.alone = true
	if !isProof {
		return b.add(ctx, members)
	}

	return b.split(ctx, members, err)
}

// split adds those members of a request that was refused that are not the reason.
//
//	Octavia names members  the others are added
//	it names none          half of them, and the others; if the first ones are accepted, it
//	                       is known that the others are not
func (b *batch) split(ctx context.Context, members []DesiredMember, refusal error) error {
	text := change.Message(refusal)
	isNamed := func(m DesiredMember) bool { return mentions(text, m.Address.String()) || mentions(text, m.SubnetID) }
	named, rest := lists.Split(members, isNamed)
	if len(named) > 0 {
		b.refuse(named, refusal)

		return b.add(ctx, rest)
	}
	if len(members) == 1 {
		b.refuse(members, refusal)
		b.full, b.quota = errors.Is(refusal, apierr.ErrQuota), refusal

		return nil
	}
	half, before := len(members)/2, b.left
	if err := b.add(ctx, members[:half]); err != nil {
		return err
	}
	rest = members[half:]
	if accepted := b.left == before && before > 0 && !b.full; accepted && len(rest) > 1 {
		return b.split(ctx, rest, refusal)
	}

	return b.add(ctx, rest)
}

// send makes one call.
func (b *batch) send(ctx context.Context, members []DesiredMember) error {
	if b.alone && !b.additive && len(members) == 1 {
		err := b.postMember(ctx, b.env, members[0])
		if err == nil || isDuplicate(err) { // one that is there already is done
			b.base = append(b.base, members[0].spec())

			return nil
		}

		return err
	}
	specs := slices.Concat(b.base, lists.Map(members, DesiredMember.spec))
	err := b.writePool(ctx, b.env, func(ctx context.Context, pool string) error {
		if b.additive {
			return b.env.Octavia.AddMembers(ctx, pool, specs)
		}

		return b.env.Octavia.UpdateMembers(ctx, pool, specs)
	})
	if err == nil && !b.additive {
		b.base, b.due = specs, false
	}

	return err
}

// refuse stores members that Octavia refuses. What exceeds a quota may fit later, and is not
// left out by the next sync; nor is a duplicate, which may be the member itself.
func (b *batch) refuse(members []DesiredMember, cause error) {
	if errors.Is(cause, apierr.ErrQuota) {
		names := plan.FewCommas(members)
		b.env.Lack("members of "+b.port.key().String()+" over a quota", fmt.Sprintf("port %s: members over a quota: %s", b.port.key(), names))
		_ = b.env.WarnOfQuota(b.loadBalancer, fmt.Sprintf("members %s for port %s", names, b.port.key()), cause)
		b.untried = append(b.untried, members...)

		return
	}
	pool, unknown := b.poolID(b.env)
	for _, m := range members {
		b.refused = append(b.refused, refusedMember{m, change.Message(cause)})
		if unknown == nil && errors.Is(cause, apierr.ErrInvalid) {
			b.env.Refused.AddMember(pool, m.key(), change.Message(cause))
		}
	}
}

// report warns of members that the pool does not have. It returns an error if the pool is to
// replace one that has them.
func (b *batch) report() error {
	found := b.refusals(b.refused)
	for _, w := range found.Warnings {
		b.env.Warn(w)
	}
	for _, gap := range found.Gaps {
		b.env.Lack(gap.Key, gap.Text)
	}
	if len(b.untried) > 0 && !b.full {
		text := fmt.Sprintf("port %s: members that are not added yet, since Octavia refuses others without naming them: %s",
			b.port.key(), plan.FewCommas(b.untried))
		b.env.Lack("members of "+b.port.key().String()+" that were not tried", text)
		b.env.Warn(service.Warn(change.TargetRefused, "Load balancer %s, %s", b.loadBalancer, text))
	}

	return b.loses()
}

// loses returns an error if the pool is to replace one that has a member that it lacks.
func (b *batch) loses() error {
	if !b.moves() || b.attached == nil {
		return nil
	}
	serving := map[string]bool{}
	for _, m := range b.attached.Members {
		serving[m.pair().String()] = true
	}
	missing := slices.Concat(b.untried, lists.Map(b.refused, func(r refusedMember) DesiredMember { return r.member }))
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

// postMembers adds members one by one. One that is there already is done.
func (t *target) postMembers(ctx context.Context, env *change.Env, members []DesiredMember) error {
	b := &batch{target: t, env: env, alone: true, left: mayRefuse(members)}
	var err error
	for len(members) > 0 && err == nil && !b.full {
		err, members = b.add(ctx, members[:1]), members[1:]
	}
	if b.full {
		err = cmp.Or(err, b.add(ctx, members))
	}

	return cmp.Or(err, b.report())
}
