package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
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
	d, err := r.build(ctx, o)
	if err != nil {
		return r.publish(ctx, id, err)
	}
	if err := r.checkShared(o, d); err != nil {
		return err
	}
	if o.group, err = r.observeGroup(ctx, r.Network, d.group); err != nil {
		return r.publish(ctx, id, err)
	}
	r.warn(d.warnings...)
	steps, err := r.diff(o, d)
	if err != nil {
		return err
	}
	if r.create && len(steps) > 0 {
		if err := r.record(ctx, id); err != nil {
			return err
		}
	}

	return r.finish(ctx, o, d, steps)
}

// rename gives a load balancer of the Service, or what it has in one of another Service, the
// names of this cluster, if they are those of a cluster of another name, and reads it again then.
func (r *run) rename(ctx context.Context, o *observed) (*observed, error) {
	if !o.owner && o.former == nil || !r.create || o.created {
		return o, nil
	}
	former := o.info.Name
	if o.former != nil {
		former = o.former.LoadBalancer()
	}
	steps, warnings := octavia.Rename(o.parts, r.names, former)
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
	o.info, o.facts, o.former = info, factsOf(info, o.facts.Pinned, true), nil

	return r.observe(ctx, o.balancer)
}

// finish applies the plan for a load balancer that exists, and publishes the result.
func (r *run) finish(ctx context.Context, o *observed, d *desired, steps change.Plan) error {
	env := r.env()
	if len(steps) > 0 {
		r.lists.Wrote(o.info.ID)
		defer r.lists.Wrote(o.info.ID)
	}
	err := r.apply(ctx, env, steps)
	r.complete = true
	if len(steps) == 0 && !o.created {
		r.lists.Keep(o.parts)
	}
	r.addr = r.publishedAddress()
	if o.floating != nil {
		r.addr = addressOf(o, d, floatingip.Address(o.floating, &env.IDs), err)
	}
	if errors.Is(err, pending.ErrPending) || errors.Is(err, pending.ErrFailed) {
		return r.publish(ctx, o.info.ID, r.explain(o.info.ID, err))
	}

	return r.publish(ctx, o.info.ID, r.services.Incomplete(r.operation(), append(d.gaps(err), env.Gaps()...), err))
}

// addressOf returns the address to publish after a plan. A Service whose floating IP was
// planned and is missing has none.
func addressOf(o *observed, d *desired, addr netip.Addr, err error) netip.Addr {
	if err != nil && d.plansFloatingIP && addr == o.floating.VIP && !d.floating.Request.Internal {
		return netip.Addr{}
	}

	return addr
}

// gaps returns what a plan has left, which ended with an error. One that only the user or
// an administrator can end is a gap: the load balancer serves, and is looked at again ever
// less often.
func (d *desired) gaps(err error) []service.Gap {
	gaps := slices.Concat(d.incomplete, d.lasting)
	if err != nil && isLasting(err) {
		gaps = append(gaps, service.Gap{Key: "refused", Text: err.Error()})
	}

	return gaps
}

// isLasting reports whether all errors of a plan are refusals that a repetition does not
// change.
func isLasting(err error) bool {
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}

	return !slices.ContainsFunc(all, func(err error) bool {
		code := apierr.Code(err)

		return code != apierr.CodeQuota && code != apierr.CodeInvalid && code != apierr.CodeDenied
	})
}

// make creates the load balancer. That it is requested is recorded first, so that the next
// process does not request another one before lists must have it. One that was lost stays in
// the record: the annotation has its ID, which is not a mistake of the user.
func (r *run) make(ctx context.Context, found *balancer) error {
	o, err := r.observe(ctx, found)
	if err != nil {
		return err
	}
	if errors.Is(o.placeErr, apierr.ErrInvalid) {
		return o.placeErr // a mistake in the settings: no load balancer without an address is left
	}
	d, err := r.build(ctx, o)
	if err != nil {
		return err
	}
	group, err := r.newGroup(ctx, o, d)
	if err != nil {
		return err
	}
	if r.placeFollows(o) {
		d.floating.FindPlace = r.findPlace
	}
	recorded := []string{request.Requested}
	if found.lost != "" {
		recorded = append(recorded, found.lost)
	}
	if err := r.record(ctx, recorded...); err != nil {
		return err
	}
	r.warn(d.warnings...)
	ref := plan.Ref{Key: octavia.KeyLoadBalancer}
	steps := change.Plan{octavia.Create(d.balancer), floatingip.Allocate(d.floating, ref)}

	return r.finishNew(ctx, d, append(steps, group...))
}

// newGroup plans the security group of a Service whose load balancer is created first.
func (r *run) newGroup(ctx context.Context, o *observed, d *desired) (change.Plan, error) {
	if d.group == nil {
		return nil, nil
	}
	if r.choosesSubnet(o) {
		return change.Plan{r.syncGroup(o, d)}, nil
	}
	var err error
	if o.group, err = r.observeGroup(ctx, r.Network, d.group); err != nil {
		return nil, err
	}

	return r.diffGroup(o, d), nil
}

// syncGroup returns the step that makes the security group for a load balancer that an earlier
// step creates: its rules need the subnet that Octavia has chosen.
func (r *run) syncGroup(o *observed, d *desired) change.Step {
	text := "make security group " + r.names.SecurityGroup() + " as it should be"

	return plan.NewStep("SyncSecurityGroup", text, func(ctx context.Context, env *change.Env) error {
		id, err := env.IDs.Get(octavia.KeyLoadBalancer)
		if err != nil {
			return err
		}
		made, err := env.Octavia.GetLoadBalancer(ctx, id)
		if err != nil {
			return err
		}
		o.balancer = &balancer{info: made, owner: true}
		if d.group, err = r.buildGroup(ctx, o, d.balancer); err != nil {
			return err
		}
		if o.group, err = r.observeGroup(ctx, r.Network, d.group); err != nil {
			return err
		}

		return r.diffGroup(o, d).Apply(ctx, env, nil)
	}).Isolate()
}

// finishNew applies the plan for a new load balancer, and publishes the result.
func (r *run) finishNew(ctx context.Context, d *desired, steps change.Plan) error {
	env := r.env()
	err := r.apply(ctx, env, steps)
	r.complete = true
	id, unknown := env.IDs.Get(octavia.KeyLoadBalancer)
	r.state.requested = &lastCreation{at: time.Now()}
	if unknown != nil || errors.Is(err, octavia.ErrDiscarded) {
		if !client.MayBeApplied(err) {
			r.refused(ctx, err)
		}

		return err
	}
	r.seen.Store(id, time.Now())
	r.lists.Wrote(id)
	switch {
	case errors.Is(err, pending.ErrFailed): // the next sync deletes it, unless it serves
		return r.publish(ctx, id, fmt.Errorf("load balancer %s: %w", id, err))
	case errors.Is(err, pending.ErrPending):
		r.state.created = r.patch(published(id, netip.Addr{}))

		return r.publish(ctx, id, r.pending(id))
	}
	r.addr = floatingip.Address(nil, &env.IDs)
	if err != nil {
		r.addr = netip.Addr{}
	}

	return r.publish(ctx, id, r.services.Incomplete(r.operation(), append(d.gaps(err), env.Gaps()...), err))
}

// removeSurplus deletes other load balancers that were made for the Service: a creation
// whose response was lost may have been repeated by an old version. One with a floating IP
// may serve, and stays.
func (r *run) removeSurplus(ctx context.Context, found *balancer) error {
	var errs []error
	for _, info := range found.surplus {
		if err := r.removeOne(ctx, info); err != nil {
			errs = append(errs, fmt.Errorf("surplus load balancer %s: %w", info.ID, err))
		}
	}

	return errors.Join(errs...)
}

// removeOne deletes one of them. It is read again with its lock: it was listed before.
func (r *run) removeOne(ctx context.Context, listed *client.LoadBalancerInfo) error {
	free, err := r.lock(ctx, listed.ID)
	if err != nil {
		return err
	}
	defer free()
	info, err := r.Octavia.GetLoadBalancer(ctx, listed.ID)
	if errors.Is(err, apierr.ErrNotFound) || err == nil && info.Provisioning.IsDeleted() {
		return nil
	}
	if err != nil {
		return err
	}
	own, err := r.isSurplus(ctx, info)
	if err != nil {
		return err
	}
	if !own {
		r.warn(service.Warn(reasonSurplus,
			"Load balancer %s has the name %s of this Service, which uses another one: delete it if nothing else does", info.ID, info.Name))

		return nil
	}
	steps, err := r.deletion(ctx, info)
	if err != nil {
		return err
	}

	return r.apply(ctx, r.env(), steps)
}
