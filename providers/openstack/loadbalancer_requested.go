package openstack

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// creations has what this process last did about the load balancers of Services that have
// none. The zero value is empty.
type creations struct {
	mu  sync.Mutex
	all map[types.UID]lastCreation
}

// lastCreation is when a load balancer was requested. Over means that this is not unclear any
// more: it was refused, or what was made is being deleted.
type lastCreation struct {
	at   time.Time
	over bool
}

func (c *creations) put(uid types.UID, made lastCreation) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all == nil {
		c.all = map[types.UID]lastCreation{}
	}
	c.all[uid] = made
}

// begin stores that a load balancer was requested for a Service.
func (c *creations) begin(uid types.UID) { c.put(uid, lastCreation{at: time.Now()}) }

// end stores that none that was requested for a Service can appear.
func (c *creations) end(uid types.UID) { c.put(uid, lastCreation{over: true}) }

// drop removes a Service.
func (c *creations) drop(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, uid)
}

// of returns the last creation for a Service, and reports whether there was one.
func (c *creations) of(uid types.UID) (last lastCreation, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok = c.all[uid]

	return last, ok
}

// checkRequested returns an error as long as a load balancer of the Service may have been
// requested that lists do not show yet. What an earlier process has requested is recorded, but
// not by the upstream controller, and counts from the beginning of this one.
func (l *loadBalancer) checkRequested(in input) error {
	last, ok := l.requested.of(in.service.UID)
	if !ok && (slices.Contains(in.existing.Recorded, request.Requested) || l.hasOther(in)) {
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
