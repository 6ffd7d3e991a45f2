package openstack

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
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
	b.incomplete(b.sync(svc))
	b.warned(octavia.ListenerKept)
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
	b.notWarned(octavia.ListenerKept)
	if n := b.Interceptor().Count("octavia.DeleteListener"); n != 2 {
		t.Errorf("%d listeners were deleted", n)
	}
	b.serves(b.address(svc), 80, b.nodes...)
}

// TestLoadBalancerRefusedMember (OS-LB-12, OS-LB-21): in a pool that lacks a Node, since OVN
// refuses it without a subnet, a Node that joins is a plain addition: one call for each pool
// after a look at the shared lists.
func TestLoadBalancerRefusedMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ovn = "[LoadBalancer]\nlb-provider = ovn\nlb-method = SOURCE_IP_PORT\n"
		// No read is stale: calls are counted.
		b := balanceIn(t, openstack.Options{Profile: openstack.OVN, InMemory: true, StaleReads: new(openstack.StaleReads)}, ovn)
		alien := kubetest.Node("alien")
		alien.Spec.ProviderID = "aws:///eu-west-1a/i-0123456789abcdef0"
		kubetest.Address(v1.NodeInternalIP, "10.9.0.5")(alien)
		mixed := append(slices.Clone(b.nodes), alien)
		svc := b.create(web())
		for range 3 { // the whole load balancer is refused, and then the member
			b.syncIncomplete(svc, mixed)
		}
		if events := b.recorded(); !wrote(events, string(change.TargetRefused)) || !strings.Contains(strings.Join(events, "\n"), "alien 10.9.0.5:30080") {
			t.Errorf("events: %v", events)
		}
		b.untouched("it is not tried again", func() { b.syncIncomplete(svc, mixed) })
		time.Sleep(time.Minute) // lists are fresh enough
		b.untouched("nor with shared lists", func() { b.syncIncomplete(svc, mixed) })
		mixed = append(mixed, b.addNode("node-4"))
		members := b.Interceptor().Count("octavia.ListMembers")
		writes := b.written(func() { b.syncIncomplete(svc, mixed) })
		if len(writes) != 1 || writes["octavia.CreateMember"] != 2 {
			t.Errorf("writes: %v", writes)
		}
		if n := b.Interceptor().Count("octavia.ListMembers") - members; n > 0 {
			t.Errorf("%d lists of members", n)
		}
		b.serves(b.balancerOf(svc).VIPAddress, 80, b.nodes...)
		b.untouched("all that Octavia takes is there", func() { b.syncIncomplete(svc, mixed) })
	})
}

// syncIncomplete syncs a Service that must be synced again, and stores the status.
func (b *balanced) syncIncomplete(svc *v1.Service, nodes []*v1.Node) {
	b.t.Helper()
	status, err := b.lb.EnsureLoadBalancer(bounded(b.t), clusterName, b.now(svc), nodes)
	if again(err) < minRetryAfter {
		b.t.Errorf("sync: %v", err)
	}
	b.change(svc, func(svc *v1.Service) {
		if status != nil {
			svc.Status.LoadBalancer = *status
		}
	})
}
