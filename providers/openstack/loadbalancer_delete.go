package openstack

import (
	"context"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// identify returns what finds the resources of a Service, valid or not.
func (l *loadBalancer) identify(cluster string, svc *v1.Service, known *state) input {
	existing := request.ForDelete(svc, cluster)

	return input{service: svc, state: known, names: existing.Names, id: existing.InUse(), existing: existing, deletes: true}
}

// look returns the status of the load balancer of a Service, and reports whether anything
// of it is left.
func (l *loadBalancer) look(ctx context.Context, in input) (*v1.LoadBalancerStatus, bool, error) {
	found, err := l.find(ctx, in)
	if err != nil {
		return nil, false, err
	}
	found.release()
	used, err := l.isUsed(ctx, in, found)
	if err != nil {
		return nil, false, err
	}
	if used {
		status, err := l.statusNow(ctx, in, found.info)

		return status, err == nil, err
	}
	if used, err := l.isAnyUsed(ctx, in, found.former); used || err != nil {
		return &v1.LoadBalancerStatus{}, used, err
	}
	left, err := floatingip.Remaining(ctx, l.Network, in.existing, in.missingID(found))
	if err != nil {
		return nil, false, err
	}
	group, err := l.findGroup(ctx, in)
	if err != nil {
		return nil, false, err
	}

	return &v1.LoadBalancerStatus{}, left != nil || group.Group != nil, nil
}

// missingID returns the ID of the load balancer that the Service has been published with, unless
// it is the one that was found.
func (in input) missingID(found *balancer) string {
	if found.info != nil && found.info.ID == in.id {
		return ""
	}

	return in.id
}

// isUsed reports whether a load balancer is that of the Service alone, or has a part of it.
// One that other Services share keeps the name of its owner when that has left: the listeners
// decide about one with nothing but the name.
func (l *loadBalancer) isUsed(ctx context.Context, in input, found *balancer) (bool, error) {
	if found.info == nil {
		return false, nil
	}
	tagged := found.owner && request.UIDOf(found.info.Tags) == in.names.UID && found.facts.IsDeletable(in.names, nil)
	if tagged || slices.Contains(found.info.Tags, in.namesIn(found).LoadBalancer()) {
		return true, nil
	}
	whole, parts, err := l.isDeletable(ctx, in, found)
	if whole || err != nil {
		return whole, err
	}

	return len(octavia.DiffDelete(parts, in.namesIn(found), found.owner)) > 0, nil
}

// isAnyUsed is isUsed for former load balancers.
func (l *loadBalancer) isAnyUsed(ctx context.Context, in input, ids []string) (bool, error) {
	for _, id := range ids {
		found, err := l.findOther(ctx, in, id)
		if err != nil {
			return false, err
		}
		found.release()
		if used, err := l.isUsed(ctx, in, found); used || err != nil {
			return used, err
		}
	}

	return false, nil
}

// isOurs reports whether a load balancer was made for the Service, and has nothing of another
// one: a user can remove the tags of the load balancer, and a Service of another cluster may
// have a listener in it without a tag on it.
func (l *loadBalancer) isOurs(ctx context.Context, in input, found *balancer) (bool, error) {
	if !found.owner || !found.facts.IsDeletable(in.names, nil) {
		return false, nil
	}
	listeners, err := l.Octavia.ListenersByLoadBalancer(ctx, found.info.ID)
	if err != nil {
		return false, fmt.Errorf("read the listeners of load balancer %s: %w", found.info.ID, err)
	}

	return found.facts.IsDeletable(in.names, tagsOf(octavia.SortListeners(listeners))), nil
}

// tagsOf returns the tags of each listener.
func tagsOf(listeners []*client.Listener) [][]string {
	tags := make([][]string, 0, len(listeners))
	for _, listener := range listeners {
		tags = append(tags, listener.Tags)
	}

	return tags
}

// statusNow returns the status of a load balancer that exists. The address is the
// published one, or else it is read.
func (l *loadBalancer) statusNow(ctx context.Context, in input, info *client.LoadBalancerInfo) (*v1.LoadBalancerStatus, error) {
	addr := in.publishedAddress()
	if !addr.IsValid() {
		floating, err := floatingip.Observe(ctx, l.Network, info, nil)
		switch {
		case errors.Is(err, floatingip.ErrNoPort):
		case err != nil:
			return nil, err
		default:
			addr = floating.Address()
		}
	}
	r, _, err := request.ForUpdate(in.service, nil, l.Config.requestSettings(in.names.Cluster))
	if err != nil {
		r = new(request.Request) // a Service that is not valid has the address as it is
	}

	return statusOf(r, addr), nil
}

// findGroup reads the security group of the Service.
func (l *loadBalancer) findGroup(ctx context.Context, in input) (*securitygroup.Observed, error) {
	project, err := l.Project(ctx)
	if err != nil {
		return nil, err
	}

	return securitygroup.Find(ctx, l.Network, in.names, project)
}

// remove deletes all resources of a Service:
//
//  1. The load balancer, if nothing in it is of another Service, or else the parts of the
//     Service. A deletion that Octavia refuses changes nothing.
//  2. Its floating IP, unless it is to be kept, and its security group.
//  3. What it has in duplicates and in former load balancers.
//
// A load balancer that takes long to delete is not waited for: the service controller tries
// again later.
func (l *loadBalancer) remove(ctx context.Context, in input) error {
	r := &run{loadBalancer: l, input: in}
	defer func() { l.services.Report(in.service, r.warnings) }()
	group, err := l.findGroup(ctx, in)
	if err != nil {
		return err
	}
	found, err := r.findSettled(ctx)
	if err != nil {
		return err
	}
	r.found = found
	if found.owner { // it is the one that was requested last
		r.state.requested = &lastCreation{over: true}
	}
	err = r.removeFrom(ctx, found, securitygroup.DiffDelete(group))
	found.release()

	return errors.Join(err, r.leave(ctx, duplicate, found.duplicates), r.leave(ctx, former, found.former))
}

// removeFrom removes the Service from a load balancer, which is locked, with the last steps:
//
//	current     deleted with its floating IP, or without the parts of the Service
//	former      the same, but the published address is not its own, and stays
//	duplicate   deleted if it cannot serve, or as it was, with an Event
//	none        without what an earlier deletion has left
func (r *run) removeFrom(ctx context.Context, found *balancer, last change.Plan) error {
	if found.info == nil {
		steps, err := r.removeAddress(ctx, found)
		if err != nil {
			return err
		}

		return r.apply(ctx, r.env(), append(steps, last...))
	}
	id := found.info.ID
	steps, whole, err := r.removal(ctx, found)
	if err == nil {
		err = r.apply(ctx, r.env(), append(steps, last...))
	}
	if err == nil && whole && found.info.Provisioning == client.ProvisioningPendingDelete {
		err = r.wait(ctx, id, r.waiter.Gone)
	}
	r.lists.Drop(id)
	if err == nil {
		r.state.endStall(id)
	}

	return r.explain(id, err)
}

// removal plans to remove the Service from a load balancer, and reports whether that is deleted.
func (r *run) removal(ctx context.Context, found *balancer) (steps change.Plan, whole bool, err error) {
	if found.role == duplicate {
		if unused, err := r.isUnused(ctx, found); err != nil || !unused {
			return nil, false, err
		}
		steps, err = r.deletion(ctx, found.info)

		return steps, true, err
	}
	if found.isChanging() {
		return nil, false, pending.ErrPending
	}
	whole, parts, err := r.isDeletable(ctx, r.input, found)
	switch {
	case err != nil:
		return nil, false, err
	case !whole:
		return octavia.DiffDelete(parts, r.namesIn(found), found.owner), false, nil
	}
	address, err := r.removeAddress(ctx, found)
	if err != nil {
		return nil, false, err
	}
	steps, err = r.deletion(ctx, found.info)

	return append(steps, address...), true, err
}

// removeAddress plans to delete the floating IP of a load balancer that is deleted, and the one that an
// earlier deletion has left.
func (r *run) removeAddress(ctx context.Context, found *balancer) (change.Plan, error) {
	existing := r.existing
	if found.role != current {
		existing.Published = "" // that is the address of the current one
	}
	var floating *floatingip.Observed
	var err error
	if found.info != nil {
		if floating, err = floatingip.ObserveDeletion(ctx, r.Network, found.info, existing); err != nil && !errors.Is(err, floatingip.ErrNoPort) {
			return nil, err
		}
	}
	steps := floatingip.DiffDelete(floating, existing)
	if floating != nil && floating.Address() == r.publishedAddress() {
		return steps, nil
	}
	left, err := floatingip.Remaining(ctx, r.Network, existing, r.missingID(found))

	return append(steps, floatingip.DeleteRemaining(left)...), err
}

// isDeletable reports whether the whole load balancer may be deleted. Its parts are
// returned if they were read.
func (l *loadBalancer) isDeletable(ctx context.Context, in input, found *balancer) (bool, *octavia.Observed, error) {
	if whole, err := l.isOurs(ctx, in, found); whole || err != nil {
		return whole, nil, err
	}
	parts, err := octavia.Read(ctx, l.Octavia, found.info, in.owns(found))
	if err != nil {
		return false, nil, err
	}

	return found.facts.IsDeletable(in.namesIn(found), tagsOf(parts.Listeners)), parts, nil
}

// deletion plans to delete a whole load balancer, unless that is under way.
func (r *run) deletion(ctx context.Context, info *client.LoadBalancerInfo) (change.Plan, error) {
	if info.Provisioning == client.ProvisioningPendingDelete {
		return nil, nil
	}
	r.seen.Delete(info.ID)
	parts := &octavia.Observed{LoadBalancer: info}
	cascade := r.Config.LoadBalancer.CascadeDelete
	if !cascade {
		var err error
		if parts, err = octavia.Read(ctx, r.Octavia, info, r.owns(&balancer{info: info, owner: true})); err != nil {
			return nil, err
		}
	}

	return octavia.Delete(parts, cascade), nil
}
