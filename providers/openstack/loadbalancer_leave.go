package openstack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// hostnameAge is for how long a new address is published before the former one ends, if the
// status has a hostname instead: others look it up, and change its DNS records.
const hostnameAge = 5 * time.Minute

// reasonLeft is a load balancer that the Service no longer uses.
const reasonLeft service.Reason = "LoadBalancerLeft"

var (
	// errNotPublished means that the Service does not have its new address yet.
	errNotPublished = apierr.Mark(apierr.ErrConflict, errors.New("the new address is not in the status yet"))
	// errHostname means that the hostname of the Service may still lead to its former address.
	errHostname = apierr.Mark(apierr.ErrConflict, fmt.Errorf("the hostname may lead there until the new address has been published for %s", hostnameAge))
)

// leave removes the Service from the load balancers that it used before, once the new address
// is published. It does not affect the new one if that fails.
func (r *run) leave(ctx context.Context) error {
	if len(r.others) == 0 || !r.create {
		return nil
	}
	r.warnOfLeaving()
	err := r.checkPublished()
	if err != nil {
		err = r.withFormer(ctx, err)
	} else {
		err = r.leaveOthers(ctx, r.others)
	}
	if err != nil {
		text := fmt.Sprintf("the Service still has parts in load balancer %s: %v", plan.Commas(r.others), err)

		return r.services.Incomplete(r.operation(), []service.Gap{{Key: "others", Text: text}}, err)
	}

	return r.hasLeft(ctx)
}

// warnOfLeaving tells users which load balancers the Service leaves.
func (r *run) warnOfLeaving() {
	for _, id := range lists.Without(r.others, []string{request.Requested}) {
		r.warn(service.Warn(reasonLeft, "The Service uses load balancer %s: what it has in load balancer %s is removed", r.current, id))
	}
}

// checkPublished returns an error unless the Service that the service controller has synced has
// the address already, and clients of its hostname had time to look it up again.
func (r *run) checkPublished() error {
	addr := r.addr.String()
	isEqual := helpers.LoadBalancerStatusEqual(&r.service.Status.LoadBalancer, statusOf(r.request, r.addr))
	if !r.addr.IsValid() || r.existing.Published != addr || !isEqual {
		return errNotPublished
	}
	if r.request.Hostname == "" {
		return nil
	}
	if elapsed, _ := r.moved.lasts(r.service.UID, r.current, addr); elapsed < hostnameAge {
		return errHostname
	}

	return nil
}

// hasLeft ends the move to another load balancer: the security group only allows what that one
// needs, and it is the only one in the record.
func (r *run) hasLeft(ctx context.Context) error {
	r.others = nil
	r.moved.drop(r.service.UID)
	var err error
	if r.tighten != nil {
		err = r.tighten(ctx)
	}

	return r.publish(ctx, r.current, r.incomplete(nil, err))
}

// incomplete returns the error about what a sync leaves. If the Service is still to leave load
// balancers, that is reported last.
func (r *run) incomplete(gaps []service.Gap, err error) error {
	if len(gaps) == 0 && err == nil && r.create && len(r.others) > 0 {
		return nil
	}

	return r.services.Incomplete(r.operation(), gaps, err)
}

// withFormer syncs the members of the load balancers that the Service is to leave, since its
// clients may still use them, and adds what fails to the error for which it has not left.
func (r *run) withFormer(ctx context.Context, cause error) error {
	for _, id := range lists.Without(r.others, []string{request.Requested}) {
		if err := r.updateFormer(ctx, id); err != nil {
			cause = errors.Join(cause, fmt.Errorf("update the members in load balancer %s, which the Service is to leave: %w", id, err))
		}
	}

	return cause
}

// updateFormer does what an update does to a load balancer that the Service is to leave, which
// is nothing if its listeners are not as the Service wants them or it cannot be changed now.
func (r *run) updateFormer(ctx context.Context, id string) error {
	in := r.input
	in.create, in.deletes = false, true
	former := &run{loadBalancer: r.loadBalancer, input: in, others: r.others}
	found, err := r.get(ctx, in, id)
	if certainty.ResponseOf(err) == certainty.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	defer found.release()
	if found.info == nil || found.info.Provisioning != client.ProvisioningActive {
		return nil
	}
	steps, err := former.planUpdate(ctx, found)
	if err != nil || len(steps) == 0 {
		return err
	}
	r.lists.Wrote(id)
	defer r.lists.Wrote(id)
	err = former.apply(ctx, former.env(), steps)
	r.warn(former.warnings...)

	return err
}

// planUpdate plans the members of a load balancer, and what the security group lacks for them.
func (r *run) planUpdate(ctx context.Context, found *balancer) (change.Plan, error) {
	o, err := r.observe(ctx, found)
	if err != nil {
		return nil, err
	}
	d, err := r.build(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.group, err = r.observeGroup(ctx, r.Network, d.group); err != nil {
		return nil, err
	}
	steps, err := r.diff(o, d)
	if errors.Is(err, errListeners) {
		return nil, nil
	}

	return steps, err
}

// leaveOthers removes the Service from some load balancers, and deletes those that were made
// for it, as when the Service is deleted.
func (r *run) leaveOthers(ctx context.Context, ids []string) error {
	var errs []error
	for _, id := range ids {
		errs = append(errs, r.leaveOne(ctx, id))
	}

	return errors.Join(errs...)
}

// leaveOne removes the Service from one of them. The published address is not that of this one,
// so that no floating IP with it is looked for.
func (r *run) leaveOne(ctx context.Context, id string) error {
	left := &run{loadBalancer: r.loadBalancer, input: r.input}
	left.deletes, left.existing.Published = true, ""
	found, err := r.former(ctx, left.input, id)
	if err != nil {
		return err
	}
	defer found.release()
	if found.info == nil {
		return nil
	}
	err = left.removeBalancer(ctx, found, new(securitygroup.Observed))
	r.warn(left.warnings...)
	r.lists.Drop(found.info.ID)
	if err == nil {
		r.stalled.end(r.service.UID, found.info.ID)
	}

	return err
}

// former returns a load balancer that the Service may have parts in although it does not use
// it, locked. It is empty if it certainly does not exist, or is that of another Service.
func (l *loadBalancer) former(ctx context.Context, in input, id string) (*balancer, error) {
	if id == request.Requested {
		found, err := l.findByName(ctx, in)
		if err == nil && found.info == nil {
			err = l.checkRequested(in)
		}

		return found, err
	}
	found, err := l.get(ctx, in, id)
	if certainty.ResponseOf(err) == certainty.NotFound {
		in.id = id

		return &balancer{}, l.confirmAbsent(ctx, in, certainty.NotFound)
	}

	return found, err
}
