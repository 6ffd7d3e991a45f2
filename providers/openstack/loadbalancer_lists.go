package openstack

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/floatingip"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/securitygroup"
)

// sharedGroups reads security groups from a list that all Services share, and the rest as
// usual.
type sharedGroups struct {
	*client.NetworkService

	list func(ctx context.Context, name string) ([]*client.SecurityGroup, error)
}

var _ securitygroup.API = sharedGroups{}

// SecurityGroupsByName implements securitygroup.API.
func (g sharedGroups) SecurityGroupsByName(ctx context.Context, name string) ([]*client.SecurityGroup, error) {
	return g.list(ctx, name)
}

// syncFromLists compares the load balancer as the lists have it that all Services share, and
// reports whether that was enough: nothing is to be done, or only members are to be added,
// for which the lists need not be fresh. Everything else is decided with reads of this load
// balancer alone.
func (r *run) syncFromLists(ctx context.Context) (bool, error) {
	if r.id == "" || !r.hadAddress() || r.isUnclear() || r.create && r.needsMembers() || r.listsFailed.within(listsBackoff) {
		return false, nil
	}
	parts, associated, usable, err := r.lists.Observed(ctx, r.id)
	if err != nil {
		return false, r.listFailed(ctx, err)
	}
	if !usable {
		return false, nil
	}
	project, err := r.Project(ctx)
	if err != nil {
		return false, err
	}
	o := &observed{balancer: &balancer{info: parts.LoadBalancer, facts: r.factsOf(parts.LoadBalancer, project, true)}, parts: parts}
	ownership, err := o.facts.Ownership(r.names)
	if err != nil || parts.LoadBalancer.Provisioning != client.ProvisioningActive {
		return false, nil //nolint:nilerr // the fresh read has the same result, and explains it
	}
	o.owner = ownership == certainty.Owner
	before := r.warnings
	done, err := r.syncObserved(ctx, o, associated)
	if !done && err == nil {
		r.warnings = before
	}

	return done, err
}

// listsBackoff is for how long the lists are not read again after one has failed: one of all
// load balancers may take longer than the cloud permits, and each Service would wait for it.
const listsBackoff = time.Minute

// lastTime is when something happened last. The zero value is never.
type lastTime struct{ at atomic.Pointer[time.Time] }

// mark stores that it happens now.
func (l *lastTime) mark() { l.at.Store(new(time.Now())) }

// within reports whether it was less than a time ago.
func (l *lastTime) within(age time.Duration) bool {
	at := l.at.Load()

	return at != nil && time.Since(*at) < age
}

// listFailed returns the error of a list if a read of this load balancer would fail like it.
// After any other one the load balancers are read alone for a while, and as long as a list is late.
func (r *run) listFailed(ctx context.Context, err error) error {
	if errors.Is(err, cache.ErrLate) {
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, apierr.ErrThrottled) {
		return err
	}
	klog.FromContext(ctx).Error(err, "Cannot list load balancers, which are read alone", "for", listsBackoff)
	r.listsFailed.mark()

	return nil
}

// syncObserved does what the lists are enough for. Everything else is left to the
// fresh read.
func (r *run) syncObserved(ctx context.Context, o *observed, associated []*client.FloatingIP) (bool, error) {
	wanted := r.floatingIP(o)
	var err error
	if o.features, err = r.featuresOf(ctx, o.info); err != nil {
		return false, err
	}
	if r.create {
		if o.floating, err = floatingip.From(o.info, associated, wanted); err != nil || wanted.NeedsPlace(o.floating) {
			return false, nil
		}
		r.keep(o, wanted)
	}
	if err := r.observeNodes(ctx, o); err != nil {
		return false, err
	}
	if err := r.observePrefixes(ctx, o); err != nil {
		return false, err
	}
	d, err := r.build(o)
	r.warn(d.warnings...)
	if err != nil {
		return false, err
	}
	if err := r.checkShared(o, d); err != nil {
		return false, nil
	}
	if o.group, err = r.observeGroup(ctx, sharedGroups{r.Network, r.lists.Groups}, d.group); err != nil {
		return false, r.listFailed(ctx, err)
	}
	planned, err := r.plan(o, d)
	if err != nil || d.addOnly || len(d.incomplete)+len(planned.incomplete) > 0 || octavia.LacksMonitorPorts(o.parts, d.balancer) {
		return false, nil
	}
	if !planned.isEmpty() && (len(planned.opens)+len(planned.closes) > 0 || !octavia.PlainAdditions(planned.steps)) {
		return false, nil
	}
	if !planned.isEmpty() {
		free, err := r.lock(ctx, o.info.ID)
		if err != nil {
			return false, err
		}
		defer free()
	}
	r.state.endStall(o.info.ID)

	return true, r.finish(ctx, o, d, planned)
}
