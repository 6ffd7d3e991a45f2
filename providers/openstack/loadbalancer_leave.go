package openstack

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// errNotPublished means that clients may still use another load balancer of the Service.
var errNotPublished = apierr.Mark(apierr.ErrConflict, errors.New("the published address is not that of the load balancer that is used"))

// leave removes what the Service has in other load balancers: one that was replaced, or the former
// one of a change of the annotation load-balancer-id that an old version began. The published
// address must be that of the load balancer that is used.
func (r *run) leave(ctx context.Context) error {
	if len(r.others) == 0 || !r.create {
		return nil
	}
	err := errNotPublished
	isPublished := helpers.LoadBalancerStatusEqual(&r.service.Status.LoadBalancer, statusOf(r.request, r.addr))
	if r.addr.IsValid() && r.existing.Published == r.addr.String() && isPublished {
		err = r.leaveOthers(ctx, r.others)
	}
	if err != nil {
		text := fmt.Sprintf("the Service still has parts in load balancer %s: %v", plan.Commas(r.others), err)

		return r.services.Incomplete(r.operation(), []service.Gap{{Key: "others", Text: text}}, err)
	}
	r.others = nil

	return r.publish(ctx, r.current, nil)
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
		r.state.endStall(found.info.ID)
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
