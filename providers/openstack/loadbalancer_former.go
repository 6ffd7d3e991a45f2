package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// checkRequested returns an error as long as a load balancer of the Service may have been
// requested that lists do not show yet. What an earlier process has requested is recorded.
func (l *loadBalancer) checkRequested(in input) error {
	at := time.Time{}
	if stored, ok := l.requested.Load(in.service.UID); ok {
		at = stored.(time.Time)
	} else if slices.Contains(in.existing.Recorded, request.Requested) {
		at = l.began
	}
	if age := time.Since(at); age < l.Tuning.unclear() {
		return api.NewRetryError("it is not certain whether the load balancer was created", min(l.Tuning.unclear()-age, minRetryAfter))
	}

	return nil
}

// othersOf returns the load balancers besides the found one that the Service may have parts
// in: those of the record. A Service of the upstream controller has none: if it has nothing in
// the found one, the annotation may have been changed, and the one with its tag and its
// address is the former one. A tag alone is also that of the Service with the same name in
// another cluster.
func (l *loadBalancer) othersOf(ctx context.Context, in input, found *balancer) ([]string, error) {
	if recorded := in.existing.Recorded; len(recorded) > 0 {
		used := []string{found.lost}
		if found.info != nil {
			used = append(used, found.info.ID)
		}
		if found.info == nil || found.owner {
			used = append(used, request.Requested)
		}

		return lists.Without(recorded, used), nil
	}
	tag := in.names.LoadBalancer()
	if !in.publishedAddress().IsValid() || found.info != nil && (found.owner || slices.Contains(found.info.Tags, tag)) {
		return nil, nil
	}
	rows, err := l.lists.FindByTag(ctx, tag)
	if err != nil {
		return nil, fmt.Errorf("find load balancers with tag %s: %w", tag, err)
	}
	rows = lists.Filter(rows, func(row *client.LoadBalancerInfo) bool {
		return row.ID != found.lost && (found.info == nil || row.ID != found.info.ID)
	})
	former, err := l.withAddress(ctx, in, rows)
	if err != nil || former == nil {
		return nil, err
	}

	return []string{former.ID}, nil
}

// formerNames returns the names that the Service has in the load balancer of another one since
// before the cluster was renamed, nil if nothing proves it: the same Service of a second cluster
// can have such a tag, too. The proof is that the record, which has the UID of the Service, is
// that it uses this load balancer alone, that it has its address, and that the only tag of a
// Service with its name is of another cluster.
func (l *loadBalancer) formerNames(ctx context.Context, in input, found *balancer) (*request.Names, error) {
	tags := request.ServiceTags(found.info.Tags)
	recorded := slices.Equal(in.existing.Recorded, []string{found.info.ID})
	if found.owner || !recorded || slices.Contains(tags, in.names.LoadBalancer()) {
		return nil, nil
	}
	var all []request.Names
	for _, tag := range tags {
		if names, ok := in.names.Former(tag); ok {
			all = append(all, names)
		}
	}
	if len(all) != 1 {
		return nil, nil
	}
	serving, err := l.withAddress(ctx, in, []*client.LoadBalancerInfo{found.info})
	if err != nil || serving == nil {
		return nil, err
	}

	return &all[0], nil
}

// namesIn returns the names that the Service has in a load balancer now.
func (in input) namesIn(found *balancer) request.Names {
	if found.former != nil {
		return *found.former
	}

	return in.names
}

// record stores in the Service that it may have parts in load balancers, before anything is
// written in the first one, so that they are found whatever happens later.
func (r *run) record(ctx context.Context, ids ...string) error {
	if slices.Contains(r.existing.Recorded, ids[0]) {
		return nil
	}
	recorded := slices.Concat(ids, r.others)
	version, err := r.publisher.annotate(ctx, r.service, r.recordOf(recorded))
	if err != nil {
		return err
	}
	r.existing.Recorded, r.recorded = recorded, version

	return nil
}

// recordOf returns the annotation with a record, which is removed if that is empty.
func (r *run) recordOf(recorded []string) map[annotation.Name]string {
	value := ""
	if len(recorded) > 0 {
		value = r.names.Record(recorded...)
	}

	return map[annotation.Name]string{request.AnnotationLoadBalancers: value}
}

// leave removes the Service from the load balancers that it used before, once its status has
// the address of the new one. It does not affect the new one if that fails.
func (r *run) leave(ctx context.Context) error {
	if len(r.others) == 0 || !r.create {
		return nil
	}
	for _, id := range lists.Without(r.others, []string{request.Requested}) {
		r.warn(service.Warn(reasonLeft, "The Service uses load balancer %s: what it has in load balancer %s is removed", r.current, id))
	}
	err := errNotPublished
	if r.addr.IsValid() && helpers.LoadBalancerStatusEqual(&r.service.Status.LoadBalancer, statusOf(r.request, r.addr)) {
		err = r.leaveOthers(ctx, r.others)
	}
	if err != nil {
		text := fmt.Sprintf("the Service still has parts in load balancer %s: %v", plan.Commas(r.others), err)

		return r.services.Incomplete(r.operation(), []service.Gap{{Key: "others", Text: text}}, err)
	}
	r.others = nil

	return r.publish(ctx, r.current, r.incomplete(nil, nil))
}

// incomplete returns the error about what a sync leaves. If the Service is still to leave load
// balancers, that is reported last.
func (r *run) incomplete(gaps []service.Gap, err error) error {
	if len(gaps) == 0 && err == nil && r.create && len(r.others) > 0 {
		return nil
	}

	return r.services.Incomplete(r.operation(), gaps, err)
}

// reasonLeft is a load balancer that the Service no longer uses.
const reasonLeft service.Reason = "LoadBalancerLeft"

// errNotPublished means that the status of the Service does not have its new address yet.
var errNotPublished = apierr.Mark(apierr.ErrConflict, errors.New("the new address is not in the status yet"))

// leaveOthers removes the Service from some load balancers, and deletes those that were made
// for it, as when the Service is deleted.
func (r *run) leaveOthers(ctx context.Context, ids []string) error {
	var errs []error
	for _, id := range ids {
		errs = append(errs, r.leaveOne(ctx, id))
	}

	return errors.Join(errs...)
}

func (r *run) leaveOne(ctx context.Context, id string) error {
	left := &run{loadBalancer: r.loadBalancer, input: r.input}
	left.deletes = true
	found, err := r.former(ctx, left.input, id)
	if err != nil || found.info == nil {
		return err
	}
	defer found.release()
	err = left.removeBalancer(ctx, found, new(securitygroup.Observed))
	r.warn(left.warnings...)
	r.lists.Forget(found.info.ID)

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
		return &balancer{}, nil
	}

	return found, err
}
