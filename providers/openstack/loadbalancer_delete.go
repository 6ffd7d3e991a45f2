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
	if used, err := l.isAnyUsed(ctx, in, found.others); used || err != nil {
		return &v1.LoadBalancerStatus{}, used, err
	}
	left, err := floatingip.Leftover(ctx, l.Network, in.existing, in.missingID(found))
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
	if whole, err := l.isOurs(ctx, in, found); whole || err != nil {
		return whole, err
	}
	parts, err := octavia.Read(ctx, l.Octavia, found.info, in.owns(found))
	if err != nil {
		return false, err
	}

	return len(octavia.DiffDelete(parts, in.namesIn(found), found.owner)) > 0, nil
}

// isAnyUsed is isUsed for the load balancers that the Service may have parts in although it
// does not use them any more.
func (l *loadBalancer) isAnyUsed(ctx context.Context, in input, others []string) (bool, error) {
	for _, id := range others {
		found, err := l.former(ctx, in, id)
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
//  3. What it has in load balancers that it used before.
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
	err = r.removeFound(ctx, found, group)
	found.release()

	return errors.Join(err, r.leaveOthers(ctx, found.others))
}

// removeFound deletes the load balancer that the Service uses, or what is left if there is
// none. One that was made for the Service is the one that was requested last.
func (r *run) removeFound(ctx context.Context, found *balancer, group *securitygroup.Observed) error {
	if found.info == nil {
		return r.removeLeftovers(ctx, group)
	}
	if found.owner {
		r.state.requested = &lastCreation{over: true}
	}
	if err := r.removeBalancer(ctx, found, group); err != nil {
		return err
	}
	r.lists.Drop(found.info.ID)

	return r.removeDuplicates(ctx, found)
}

// removeLeftovers deletes what a deletion has left that ended after the load balancer.
func (r *run) removeLeftovers(ctx context.Context, group *securitygroup.Observed) error {
	left, err := floatingip.Leftover(ctx, r.Network, r.existing, r.id)
	if err != nil {
		return err
	}

	return r.apply(ctx, r.env(), append(floatingip.DeleteLeftover(left), securitygroup.DiffDelete(group)...))
}

// removeBalancer deletes the load balancer of a Service, or its parts of a shared one, and
// what belongs to it.
func (r *run) removeBalancer(ctx context.Context, found *balancer, group *securitygroup.Observed) error {
	if found.isChanging() {
		return r.pending(found.info.ID)
	}
	whole, parts, err := r.isDeletable(ctx, found)
	if err != nil {
		return err
	}
	if !whole {
		steps := octavia.DiffDelete(parts, r.namesIn(found), found.owner)
		err := r.apply(ctx, r.env(), append(steps, securitygroup.DiffDelete(group)...))

		return r.explain(found.info.ID, err)
	}
	floating, err := floatingip.ObserveDeletion(ctx, r.Network, found.info, r.existing)
	if err != nil && !errors.Is(err, floatingip.ErrNoPort) {
		return err
	}
	var left *client.FloatingIP
	if floating == nil || floating.Address() != r.publishedAddress() { // that of one before it
		if left, err = floatingip.Leftover(ctx, r.Network, r.existing, r.missingID(found)); err != nil {
			return err
		}
	}
	steps, err := r.deletion(ctx, found.info)
	if err != nil {
		return err
	}
	steps = slices.Concat(steps, floatingip.DiffDelete(floating, r.existing), floatingip.DeleteLeftover(left), securitygroup.DiffDelete(group))
	if err = r.apply(ctx, r.env(), steps); err == nil && found.info.Provisioning == client.ProvisioningPendingDelete {
		err = r.wait(ctx, found.info.ID, r.waiter.Gone)
	}

	return r.explain(found.info.ID, err)
}

// isDeletable reports whether the whole load balancer may be deleted. Its parts are
// returned if they were read.
func (r *run) isDeletable(ctx context.Context, found *balancer) (bool, *octavia.Observed, error) {
	if whole, err := r.isOurs(ctx, r.input, found); whole || err != nil {
		return whole, nil, err
	}
	parts, err := octavia.Read(ctx, r.Octavia, found.info, r.owns(found))
	if err != nil {
		return false, nil, err
	}

	return found.facts.IsDeletable(r.namesIn(found), tagsOf(parts.Listeners)), parts, nil
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
