package openstack

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// errNotPublished means that clients may still use a former load balancer of the Service.
var errNotPublished = apierr.Mark(apierr.ErrConflict, errors.New("the published address is not that of the load balancer that is used"))

// leaveFormer removes the Service from its former load balancers: one that was replaced, or that of a
// change of the annotation load-balancer-id that an old version began. The published address must be
// that of the current one.
func (r *run) leaveFormer(ctx context.Context) error {
	ids := r.found.former
	if len(ids) == 0 || !r.create {
		return nil
	}
	err := errNotPublished
	isPublished := helpers.LoadBalancerStatusEqual(&r.service.Status.LoadBalancer, statusOf(r.request, r.addr))
	if r.addr.IsValid() && r.existing.Published == r.addr.String() && isPublished {
		err = r.leave(ctx, former, ids)
	}
	if err != nil {
		text := fmt.Sprintf("the Service still has parts in load balancer %s: %v", plan.Commas(ids), err)

		return r.services.Incomplete(r.operation(), []service.Gap{{Key: "former", Text: text}}, err)
	}
	r.found.former = nil

	return r.publish(ctx, r.found.info.ID, nil)
}

// leaveDuplicates deletes the duplicates, and keeps those that are left for the next sync.
func (r *run) leaveDuplicates(ctx context.Context) error {
	ids := r.found.duplicates
	r.state.duplicates = ids
	if err := r.leave(ctx, duplicate, ids); err != nil {
		text := fmt.Sprintf("duplicates of the load balancer are left: %v", err)

		return r.services.Incomplete(r.operation(), []service.Gap{{Key: "duplicates", Text: text}}, err)
	}
	r.state.duplicates = nil

	return nil
}

// leave removes the Service from load balancers that it does not use, each under its lock and no other.
func (r *run) leave(ctx context.Context, as role, ids []string) error {
	addr := r.addr // that of the current one
	defer func() { r.addr = addr }()
	var errs []error
	for _, id := range ids {
		found, err := r.findOther(ctx, r.input, id)
		if err == nil && found.info != nil {
			found.role = as
			err = r.removeFrom(ctx, found, nil)
			found.release()
		}
		errs = append(errs, err)
	}

	return errors.Join(errs...)
}

// isUnused reports whether a duplicate may be deleted, with an Event if not: it was made for this very
// Service, as by a creation whose response was lost, nothing in it is of another one, and it has neither
// the address of the Service nor a floating IP.
func (r *run) isUnused(ctx context.Context, found *balancer) (bool, error) {
	info, addr := found.info, r.publishedAddress()
	unused := request.UIDOf(info.Tags) == r.names.UID && info.VIPPortID != "" && (!addr.IsValid() || !hasVIP(info, addr))
	var err error
	if unused {
		unused, err = r.isOurs(ctx, r.input, found)
	}
	if unused && err == nil {
		var floating []*client.FloatingIP
		if floating, err = r.Network.FloatingIPsByPort(ctx, []string{info.VIPPortID}); err != nil {
			err = fmt.Errorf("find floating IP of load balancer %s: %w", info.ID, err)
		}
		unused = len(floating) == 0
	}
	if err == nil && !unused {
		r.warn(service.Warn(reasonDuplicate,
			"Load balancer %s has the name %s of this Service, which uses another one: delete it if nothing else does", info.ID, info.Name))
	}

	return unused, err
}
