package openstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/cloud-provider/api"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

var (
	// errMissing means that there is no load balancer to update.
	errMissing = apierr.Mark(apierr.ErrNotFound, errors.New("the load balancer of the Service does not exist"))
	// errGoing means that the load balancer is being deleted, by others than this sync.
	errGoing = apierr.Mark(apierr.ErrConflict, errors.New("it is being deleted"))
	// errDiscarded means that a load balancer that never became ACTIVE was deleted.
	errDiscarded = errors.New("it could not be created and was deleted: its provisioning status was ERROR")
)

// run is one call of EnsureLoadBalancer or UpdateLoadBalancer.
type run struct {
	*loadBalancer
	input

	// byName are the Nodes, once one was looked up.
	byName map[string]*v1.Node
	// warnings are those for the user so far.
	warnings []service.Warning
	// complete means that these are all: the sync did not end early.
	complete bool
	// found is the current load balancer, without an ID before it is created.
	found *balancer
	// kept is the VIP that the Service keeps as its address, for the record; the zero Addr for
	// none, see [input.keptVIP].
	kept netip.Addr
	// addr is the address to publish, the zero Addr as long as it is not known.
	addr netip.Addr
}

func (r *run) warn(warnings ...service.Warning) { r.warnings = append(r.warnings, warnings...) }

// sync turns the load balancer of the Service into the desired one.
func (r *run) sync(ctx context.Context) error {
	if done, err := r.isOwnPatch(ctx); done || err != nil {
		return err
	}
	if done, err := r.syncFromLists(ctx); done || err != nil {
		return err
	}
	if err := r.syncFound(ctx); err != nil {
		return err
	}

	return errors.Join(r.leaveDuplicates(ctx), r.leaveFormer(ctx))
}

// syncFound is sync with reads of the load balancer alone.
func (r *run) syncFound(ctx context.Context) error {
	found, err := r.findSettled(ctx)
	if err != nil {
		return err
	}
	r.found = found
	r.warn(found.warnings...)
	if found.info == nil {
		if found, err = r.makeNew(ctx); err != nil {
			return err
		}
		r.found = found
	}
	defer found.release()
	if err := r.checkUsable(ctx, found); err != nil {
		if found.fresh && !errors.Is(err, errDiscarded) {
			return r.publish(ctx, found.info.ID, err)
		}

		return err
	}

	return r.change(ctx, found)
}

// findSettled is find after a wait for a load balancer that is being changed. It is not locked
// meanwhile, since Services that share it would hold their workers, too, and is then looked for
// again: it may have been deleted or given to another Service.
func (r *run) findSettled(ctx context.Context) (*balancer, error) {
	for {
		found, err := r.find(ctx, r.input)
		if err != nil || !found.isChanging() {
			return found, err
		}
		found.release()
		err = r.wait(ctx, found.info.ID, r.waiter.Active)
		if err != nil && !errors.Is(err, pending.ErrFailed) && !errors.Is(err, pending.ErrGone) {
			return nil, r.explain(found.info.ID, err)
		}
	}
}

// isChanging reports whether a load balancer is being created or changed.
func (b *balancer) isChanging() bool {
	return b.info != nil && (b.info.Provisioning == client.ProvisioningPendingCreate || b.info.Provisioning == client.ProvisioningPendingUpdate)
}

// wait waits for the end of a change that another operation has begun, unless it has lasted for
// longer than a wait already, or the worker is needed for other Services.
func (r *run) wait(ctx context.Context, id string, until func(context.Context, string) error) error {
	if elapsed, _ := r.state.stallOf(id, statePending); elapsed >= r.waiter.Limit() || !r.waiter.HasRoom() {
		return pending.ErrPending
	}

	return until(ctx, id)
}

// checkUsable returns an error unless the load balancer can be changed.
//
//	ACTIVE                              it can
//	ERROR, and it has never served      it is deleted, and created again
//	ERROR                               everything stays as it is, it may serve
//	pending, being deleted              it is looked at again later
//
// Octavia lets no user change or repair a load balancer in ERROR, or end a change:
// https://docs.openstack.org/api-ref/load-balancer/v2/#provisioning-status-codes.
func (r *run) checkUsable(ctx context.Context, found *balancer) error {
	switch found.info.Provisioning {
	case client.ProvisioningActive:
		r.state.endStall(found.info.ID)

		return nil
	case client.ProvisioningError:
		unused, err := r.neverWorked(ctx, found)
		if err != nil {
			return err
		}
		if unused {
			return r.discard(ctx, found.info)
		}

		return r.failed(found.info.ID)
	case client.ProvisioningDeleted, client.ProvisioningPendingDelete:
		return r.waits(found.info.ID, errGoing)
	case client.ProvisioningPendingCreate, client.ProvisioningPendingUpdate:
	}

	return r.pending(found.info.ID)
}

// neverWorked reports whether a load balancer in ERROR was made for the Service and never
// became ACTIVE: the address of one that did is published. One that may serve all the same,
// since it is published, has a floating IP or is reported as working, stays.
func (r *run) neverWorked(ctx context.Context, found *balancer) (bool, error) {
	info := found.info
	own := (found.fresh || request.UIDOf(info.Tags) == r.names.UID) && found.facts.IsDeletable(r.names, nil)
	if !r.create || !found.owner || !own || isServing(info) || r.isPublished(info.VIPAddress) {
		return false, nil
	}
	if r.hadAddress() && (len(r.existing.Recorded) == 0 || slices.Contains(r.existing.Recorded, info.ID)) {
		return false, nil // the address may be its: a list may lack its floating IP
	}
	if info.VIPPortID == "" {
		return true, nil
	}
	floating, err := r.Network.FloatingIPsByPort(ctx, []string{info.VIPPortID})
	if err != nil {
		return false, fmt.Errorf("find floating IP of load balancer %s: %w", info.ID, err)
	}

	return len(floating) == 0, nil
}

// isServing reports whether Octavia has measured that a load balancer works, whatever its
// provisioning status is:
// https://docs.openstack.org/api-ref/load-balancer/v2/#operating-status-codes.
func isServing(info *client.LoadBalancerInfo) bool {
	return info.Operating == operatingOnline || info.Operating == operatingDegraded
}

// The operating statuses of a load balancer that serves.
const (
	operatingOnline   = "ONLINE"
	operatingDegraded = "DEGRADED"
)

// discard deletes a load balancer that never became ACTIVE. The annotation goes first: a
// load balancer is found by its name.
func (r *run) discard(ctx context.Context, info *client.LoadBalancerInfo) error {
	values := r.recordOf(append([]string{request.Requested}, r.found.former...))
	if r.found.ignored == "" {
		values[request.AnnotationLoadBalancerID] = ""
	}
	if err := r.publisher.annotate(ctx, r.service, values); err != nil {
		return err
	}
	steps, err := r.deletion(ctx, info)
	if err != nil {
		return err
	}
	r.state.requested = &lastCreation{over: true}
	if err := r.apply(ctx, r.env(), steps); err != nil {
		return fmt.Errorf("delete load balancer %s, whose creation has failed: %w", info.ID, err)
	}

	return fmt.Errorf("load balancer %s: %w", info.ID, errDiscarded)
}

// failed is the error about a load balancer in ERROR.
func (r *run) failed(id string) error {
	r.warn(service.Warn(change.ReasonFailed, "Load balancer %s has the provisioning status ERROR: it may serve, and nothing can be changed. "+
		"An administrator can repair it with a failover", id))
	_, again := r.state.stallOf(id, "failed")
	r.addr = r.publishedAddress()

	return api.NewRetryError(fmt.Sprintf("load balancer %s: %v", id, pending.ErrFailed), again)
}

// pending is the error about a load balancer that is being changed.
func (r *run) pending(id string) error { return r.waits(id, pending.ErrPending) }

// waits is the error about a load balancer that cannot be changed before others have ended
// what they do with it.
func (r *run) waits(id string, reason error) error {
	elapsed, again := r.state.stallOf(id, statePending)
	if elapsed >= pendingLimit {
		r.warn(service.Warn(change.ReasonPending, "Load balancer %s has been pending for more than %s, and nothing can be changed meanwhile. "+
			"An administrator can end this", id, pendingLimit))
	}
	r.addr = r.publishedAddress()

	return api.NewRetryError(fmt.Sprintf("load balancer %s: %v", id, reason), again)
}

// env returns what the steps of a plan are applied with.
func (l *loadBalancer) env() *change.Env {
	return &change.Env{Octavia: l.Octavia, Network: l.Network, Waiter: l.waiter, Refused: l.refusals, Ports: &l.ports, Wrote: l.lists.Wrote}
}

// apply applies a plan.
func (r *run) apply(ctx context.Context, env *change.Env, steps change.Plan) error {
	if len(steps) == 0 {
		return nil
	}
	err := service.Apply(ctx, r.operation(), steps, env, r.Step)
	if slices.ContainsFunc(steps, func(step change.Step) bool { return strings.HasSuffix(step.Kind, "SecurityGroup") }) {
		r.lists.ExpireGroups()
	}
	r.warn(env.Warnings()...)

	return err
}

// explain turns the error of a plan into the one that the service controller gets.
func (r *run) explain(id string, err error) error {
	switch {
	case errors.Is(err, pending.ErrPending):
		return r.pending(id)
	case errors.Is(err, pending.ErrFailed):
		return r.failed(id)
	default:
		return err
	}
}

// publishLimit bounds writes to the Service, which are made also if the time of an
// operation is over.
const publishLimit = 15 * time.Second

// publish writes the annotations of the Service. The first error counts.
func (r *run) publish(ctx context.Context, id string, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishLimit)
	defer cancel()
	values := published(id, r.addr)
	if r.found.ignored != "" {
		delete(values, request.AnnotationLoadBalancerID)
	}
	// Without a record, the address proves that the ID was not the user's. That the Service is
	// internal is recorded all the same, see [input.keptVIP].
	if len(r.existing.Recorded) > 0 || !r.hadAddress() || r.found.ignored != "" || r.complete && r.create && r.request.Internal {
		maps.Copy(values, r.recordOf(append([]string{id}, r.found.former...)))
	}
	failure := r.publisher.annotate(ctx, r.service, values)
	if apierrors.IsNotFound(failure) || apierrors.IsConflict(failure) {
		failure = nil // the Service was deleted, or replaced by one of the same name
	}
	if err == nil && failure == nil {
		r.state.patched = r.patch(values)
	}
	if err != nil && failure != nil {
		klog.FromContext(ctx).Error(failure, "Cannot write the annotations of a Service", "service", klog.KObj(r.service))
	}
	if err == nil {
		err = failure
	}

	return err
}
