package openstack

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
)

// unclearAge is for how long a load balancer may be missing in lists although it was
// created: reads may come from another node of the database (galeracluster.com:
// causality checks).
const unclearAge = time.Minute

// change turns a load balancer that exists into the desired one.
func (r *run) change(ctx context.Context, found *balancer) error {
	id := found.info.ID
	o, err := r.observe(ctx, found)
	if err == nil {
		o, err = r.rename(ctx, o)
	}
	if err != nil {
		return r.publish(ctx, id, r.explain(id, err))
	}
	d, err := r.build(o)
	r.warn(d.warnings...)
	if err != nil {
		return r.publish(ctx, id, err)
	}
	if err := r.checkShared(o, d); err != nil {
		return err
	}
	if o.group, err = r.observeGroup(ctx, r.Network, d.group); err != nil {
		return r.publish(ctx, id, err)
	}
	planned, err := r.plan(o, d)
	if err != nil {
		return err
	}
	if r.create && !o.whole && !planned.isEmpty() {
		if err := r.record(ctx, id); err != nil {
			return err
		}
	}

	return r.finish(ctx, o, d, planned)
}

// plan is diff with the warnings reported.
func (r *run) plan(o *observed, d *desired) (*changes, error) {
	planned, err := r.diff(o, d)
	if err != nil {
		return nil, err
	}
	r.warn(planned.warnings...)
	if r.create && !o.created && !o.parts.Shared {
		r.state.memberSubnet = r.memberSubnet()
	}

	return planned, nil
}

// rename gives a load balancer of the Service, or what it has in one of another Service, the
// names of this cluster, if they are those of a cluster of another name, and reads it again then.
func (r *run) rename(ctx context.Context, o *observed) (*observed, error) {
	if !o.owner && o.renamed == nil || !r.create || o.created {
		return o, nil
	}
	old := o.info.Name
	if o.renamed != nil {
		old = o.renamed.LoadBalancer()
	}
	steps, warnings := octavia.Rename(o.parts, r.names, old)
	if len(steps) == 0 {
		return o, nil
	}
	r.warn(warnings...)
	if err := r.record(ctx, o.info.ID); err != nil {
		return nil, err
	}
	if err := r.apply(ctx, r.env(), steps); err != nil {
		return nil, err
	}
	info, err := r.Octavia.GetLoadBalancer(ctx, o.info.ID)
	if err != nil {
		return nil, err
	}
	o.info, o.facts, o.renamed = info, r.factsOf(info, o.facts.Pinned, true), nil

	return r.observe(ctx, o.balancer)
}

// finish applies the plans for a load balancer that exists, and publishes the result.
func (r *run) finish(ctx context.Context, o *observed, d *desired, planned *changes) error {
	env := r.env()
	if !planned.isEmpty() {
		r.lists.Wrote(o.info.ID)
		defer r.lists.Wrote(o.info.ID)
	}
	err := r.applyAll(ctx, env, planned)
	r.complete = true
	gaps := slices.Concat(d.gaps(planned, err), env.Gaps())
	if env.RulesOverQuota && !r.state.rulesOverQuota {
		gaps = append(gaps, service.Gap{Key: "rules over a quota", Text: "the next sync removes rules that are not wanted before it adds others", Soon: true})
	}
	r.state.rulesOverQuota = env.RulesOverQuota || r.state.rulesOverQuota && err != nil
	r.state.repaired = sets.New(env.Repaired...).Union(o.stillBroken(r.state.repaired))
	if planned.isEmpty() && !o.created {
		r.lists.Keep(o.parts)
	}
	r.addr = r.publishedAddress()
	if o.floating != nil {
		r.addr = r.addressOf(o, planned, floatingip.Address(o.floating, &env.IDs), err)
	}
	if errors.Is(err, pending.ErrPending) || errors.Is(err, pending.ErrFailed) {
		return r.publish(ctx, o.info.ID, r.explain(o.info.ID, err))
	}

	return r.publish(ctx, o.info.ID, r.services.Incomplete(r.operation(), gaps, err))
}

// stillBroken returns those of some pools that are not ACTIVE.
func (o *observed) stillBroken(pools sets.Set[string]) sets.Set[string] {
	return pools.Clone().Difference(sets.New(lists.Filter(o.pools(), func(id string) bool {
		return o.parts.Pools[id].Provisioning == client.ProvisioningActive
	})...))
}

// applyAll applies plans one after the other. What the security group does not let in keeps nothing of the
// load balancer from being removed, which does not depend on it, but for a service that throttles or is
// down. What it lets in is only taken away if all others have succeeded.
func (r *run) applyAll(ctx context.Context, env *change.Env, planned *changes) error {
	opened := r.apply(ctx, env, planned.opens)
	if ctx.Err() != nil || errors.Is(opened, apierr.ErrThrottled) || errors.Is(opened, apierr.ErrUnavailable) {
		return opened
	}
	changed := r.apply(ctx, env, planned.steps)
	if opened != nil || changed != nil {
		return errors.Join(opened, changed)
	}

	return r.apply(ctx, env, planned.closes)
}

// addressOf returns the address to publish after a plan. A Service whose floating IP was
// planned and is missing has none.
func (in input) addressOf(o *observed, planned *changes, addr netip.Addr, err error) netip.Addr {
	if err != nil && planned.address && addr == o.floating.VIP && !in.request.Internal {
		return netip.Addr{}
	}

	return addr
}

// gaps returns what a plan has left, which ended with an error. One that only the user or
// an administrator can end is a gap: the load balancer serves, and is looked at again ever
// less often.
func (d *desired) gaps(planned *changes, err error) []service.Gap {
	gaps := slices.Concat(d.incomplete, planned.incomplete, d.lasting, planned.lasting)
	if err != nil && isLasting(err) {
		gaps = append(gaps, service.Gap{Key: "refused", Text: err.Error()})
	}

	return gaps
}

// parts are the errors that an error joins.
func parts(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}

	return []error{err}
}

// isLasting reports whether all errors of a plan are refusals that a repetition does not
// change.
func isLasting(err error) bool {
	all := []error{err}
	for range 2 { // those of several plans, and of their steps
		all = slices.Concat(lists.Map(all, parts)...)
	}

	return !slices.ContainsFunc(all, func(err error) bool {
		code := apierr.Code(err)

		return code != apierr.CodeQuota && code != apierr.CodeInvalid && code != apierr.CodeDenied
	})
}
