package openstack

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// TestLoadBalancerPoliciesOfUsers (OS-LB-28): a listener that has L7 policies of users keeps
// its protocol, with an Event, and its port follows the Nodes. The Service is synced again:
// once the policies are gone, it gets the protocol.
func TestLoadBalancerPoliciesOfUsers(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web(annotate(request.AnnotationXForwardedFor, "true"))))
	made := b.balancerOf(svc)
	policy := b.AddL7Policy(made.Listeners[0], made.Pools[0])
	b.recorded()
	svc = b.change(svc, func(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationXForwardedFor)) })
	b.WatchServing(made.VIPAddress, "TCP", 80, "")
	if err := b.sync(svc); again(err) < minRetryAfter {
		t.Errorf("sync: %v", err)
	}
	if events := b.recorded(); !wrote(events, string(octavia.ListenerKept)) {
		t.Errorf("events: %v", events)
	}
	if n := b.Interceptor().Count("octavia.DeleteListener"); n != 1 { // that of the port without policies
		t.Errorf("%d listeners were deleted", n)
	}
	if err := b.update(svc, b.nodes[:2]...); err != nil && again(err) < minRetryAfter {
		t.Errorf("update: %v", err)
	}
	b.serves(b.address(svc), 80, b.nodes[:2]...)
	if outages := b.Outages(); len(outages) > 0 {
		t.Errorf("the port is not served after %q", outages)
	}
	b.untouched("the policies are there", func() { _ = b.update(svc, b.nodes[:2]...) })
	b.RemoveL7Policy(policy)
	svc = b.ensure(svc)
	if events := b.recorded(); wrote(events, string(octavia.ListenerKept)) {
		t.Errorf("events: %v", events)
	}
	if n := b.Interceptor().Count("octavia.DeleteListener"); n != 2 {
		t.Errorf("%d listeners were deleted", n)
	}
	b.serves(b.address(svc), 80, b.nodes...)
}
