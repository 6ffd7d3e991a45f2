package openstack

import (
	"slices"
	"time"

	"k8s.io/cloud-provider/api"
	"k8s.io/cloud-provider/service/helpers"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

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
