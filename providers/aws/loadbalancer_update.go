package aws

import (
	"context"
	"errors"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/classic"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// updateTargets registers and deregisters instances of a load balancer that
// this process has synced, and reports whether nothing else is to be done. A
// node that joins or leaves costs one read and one write for each target group,
// and nothing until its instance exists. A call for the same Nodes causes a
// full sync: it is a retry.
func (l *loadBalancer) updateTargets(ctx context.Context, in input, warnings []service.Warning) (done bool, err error) {
	known := in.state.synced
	if known == nil || !known.hasSameRequest(in) || known.isRepeated(in) {
		return false, nil
	}
	f := request.Facts{Config: in.config}
	if err := l.targets(ctx, in, &f); err != nil {
		return false, err
	}
	if nothingKnown(in, f.Unknown) {
		return false, nil
	}
	if !in.config.LeaveNodeSecurityGroups && !known.sameNodeGroups(f) {
		return false, nil
	}
	f.Choose = in.chooseFrom(known.limit, known.serving)
	next, skipped := in.request.Instances(f)
	refused, err := l.syncTargets(ctx, in, known, next)
	if errors.Is(err, apierr.ErrNotFound) {
		return false, nil // the stored state is out of date
	}
	if err != nil {
		return false, err
	}
	l.services.Report(in.service, slices.Concat(warnings, known.warnings, skipped, refused.warnings(), in.overQuota()))
	l.store(in, known.updated(in, next, refused))
	gaps := slices.Concat(awaited(f, false), exceeding(known.shortages, refused.list))

	return true, l.services.Incomplete(in.operation(), gaps, nil)
}

// syncTargets changes the instances of a load balancer to the next ones, and
// returns those that AWS does not accept. They are retried after a while.
func (l *loadBalancer) syncTargets(ctx context.Context, in input, known *syncedState, next request.Instances) (refused, error) {
	left := known.refused.recent().among(next.Registered)
	if next.Equal(known.instances) && len(left.list) == len(known.refused.list) {
		return left, nil
	}
	steps, err := l.planTargets(ctx, in, known, next, left)
	if err != nil {
		return left, err
	}
	env := l.env()
	err = l.apply(ctx, in, env, steps)

	return left.add(env.Refusals()), err
}

// updated returns the state with the next instances. One that has left frees
// quota for those that exceed it.
func (s *syncedState) updated(in input, next request.Instances, refused refused) *syncedState {
	state := *s
	state.request, state.nodes, state.instances, state.refused = in.request, in.nodes, next, refused
	state.serving = servingOf(next, s.serving)
	left := func(id string) bool { return !has(next.Registered, id) }
	if slices.ContainsFunc(s.instances.Registered, left) {
		state.refused = refused.withoutQuota()
	}

	return &state
}

// sameNodeGroups reports whether nodes let load balancers in by the same security
// groups as before.
func (s *syncedState) sameNodeGroups(f request.Facts) bool {
	known := true
	chosen := securitygroup.ChooseNodeGroups(nodesBehind(f), func(id string) bool {
		member, ok := s.members[id]
		known = known && ok

		return member
	})

	return known && chosen.Err == nil && len(chosen.Without) == 0 && slices.Equal(chosen.IDs, s.nodeGroups)
}

// planTargets returns the plan that changes only instances, without those that
// were refused.
func (l *loadBalancer) planTargets(
	ctx context.Context, in input, known *syncedState, next request.Instances, refused refused,
) (change.Plan, error) {
	if in.request.Kind != request.Network {
		lb, err := classic.Identify(ctx, l.ELB, in.request.Name, in.config.Cluster, true)
		if err != nil {
			return nil, err
		}
		if lb == nil {
			return nil, apierr.ErrNotFound
		}

		return classic.DiffInstances(refused.leaveOut(next, ""), lb), nil
	}
	if len(known.groups) == 0 {
		return nil, apierr.ErrNotFound
	}
	var steps change.Plan
	for _, group := range known.groups {
		var err error
		if group.Targets, err = network.ObserveTargets(ctx, l.NLB, group); err != nil {
			return nil, err
		}
		steps = append(steps, network.DiffTargets(in.request.Name, refused.leaveOut(next, group.Name), group)...)
	}

	return steps, nil
}
