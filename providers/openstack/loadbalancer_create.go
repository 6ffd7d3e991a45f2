package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// makeNew creates the load balancer, and returns it, locked. What else the Service is to have follows as
// for any other one.
//
// That it is requested is recorded first, so that the next process does not request another one before
// lists must have it. One that was lost stays in the record: the annotation has its ID, which is not a
// mistake of the user.
func (r *run) makeNew(ctx context.Context) (*balancer, error) {
	if !r.create {
		return nil, errMissing
	}
	o, err := r.observe(ctx, r.found)
	if err != nil {
		return nil, err
	}
	if errors.Is(o.placeErr, apierr.ErrInvalid) {
		return nil, o.placeErr // a mistake in the settings: no load balancer without an address is left
	}
	d, err := r.build(o)
	r.warn(d.warnings...)
	if err != nil {
		return nil, err
	}
	recorded := []string{request.Requested}
	if r.found.lost != "" {
		recorded = append(recorded, r.found.lost)
	}
	if err := r.record(ctx, recorded...); err != nil {
		return nil, err
	}
	empty := d.balancer.Serial || r.state.empty
	env := r.env()
	err = r.apply(ctx, env, change.Plan{octavia.Create(d.balancer, empty)})
	r.state.requested = &lastCreation{at: time.Now()}
	if env.Created == nil {
		r.complete = true

		return nil, r.notCreated(empty, err)
	}
	r.state.empty = false
	whole := !empty && len(d.incomplete)+len(d.lasting) == 0
	made, err := r.takeNew(ctx, env.Created, whole, err)
	if err != nil {
		return nil, r.publish(ctx, env.Created.ID, err)
	}
	made.former = r.found.former

	return made, nil
}

// takeNew returns a load balancer that was just created, with the error of that. One in ERROR is
// returned, too.
func (r *run) takeNew(ctx context.Context, info *client.LoadBalancerInfo, whole bool, err error) (*balancer, error) {
	r.seen.Store(info.ID, time.Now())
	r.lists.Wrote(info.ID)
	switch {
	case errors.Is(err, pending.ErrPending):
		if whole {
			r.state.created = r.patch(published(info.ID, netip.Addr{}))
		}

		return nil, r.pending(info.ID)
	case err != nil && !errors.Is(err, pending.ErrFailed):
		return nil, err
	}
	free, err := r.lock(ctx, info.ID)
	if err != nil {
		return nil, err
	}
	made, err := r.take(ctx, r.input, info, free)
	if err != nil {
		free()

		return nil, err
	}
	made.fresh, made.whole = true, whole

	return made, nil
}

// notCreated returns the error of a creation without a load balancer. If one with all its parts is
// refused, an empty one is requested next, and the parts one by one: what is refused costs itself.
func (r *run) notCreated(empty bool, err error) error {
	if client.MayBeApplied(err) {
		return err
	}
	r.state.empty = !empty && octavia.IsAboutParts(err)
	if r.state.empty {
		next := fmt.Sprintf("load balancer %s is created without its listeners next, which follow one by one", r.names.LoadBalancer())
		err = fmt.Errorf("%w: %w", api.NewRetryError(next, minRetryAfter), err)
	}
	r.state.requested = &lastCreation{over: true}

	return err
}

// lastCreation is when a load balancer was requested. Over means that this is not unclear any
// more: it was refused, or what was made is being deleted.
type lastCreation struct {
	at   time.Time
	over bool
}

// checkRequested returns an error as long as a load balancer of the Service may have been
// requested that lists do not show yet. What an earlier process has requested is recorded, but
// not by the upstream controller, and counts from the beginning of this one.
func (l *loadBalancer) checkRequested(in input) error {
	var last lastCreation
	if in.state.requested != nil {
		last = *in.state.requested
	} else if slices.Contains(in.existing.Recorded, request.Requested) || l.hasOther(in) {
		last.at = l.began
	}
	if age := time.Since(last.at); !last.over && age < l.Tuning.unclear() {
		return api.NewRetryError("it is not certain whether the load balancer was created", min(l.Tuning.unclear()-age, minRetryAfter))
	}

	return nil
}

// hasOther reports whether another process may have begun to create the load balancer of a
// Service that has nothing of it yet: the service controller adds its finalizer before it first
// calls EnsureLoadBalancer, which gets the Service without it
// (k8s.io/cloud-provider: controllers/service, syncLoadBalancerIfNeeded).
func (l *loadBalancer) hasOther(in input) bool {
	return len(in.existing.Recorded) == 0 && !in.hadAddress() && helpers.HasLBFinalizer(in.service) &&
		in.service.CreationTimestamp.Time.Before(l.began)
}
