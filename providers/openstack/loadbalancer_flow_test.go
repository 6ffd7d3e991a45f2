package openstack

import (
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestLoadBalancerErrorKept: a load balancer in ERROR that may serve is never deleted by a
// sync.
func TestLoadBalancerErrorKept(t *testing.T) {
	t.Parallel()
	const missing = "99999999-9999-4999-8999-999999999999"
	for name, test := range map[string]struct {
		reason   string
		internal bool
		fail     func(b *balanced, svc *v1.Service, id string)
	}{
		"floating IP": {
			reason: "the annotation has the ID of a load balancer that no longer exists",
			fail: func(b *balanced, svc *v1.Service, _ string) {
				b.change(svc, annotated(request.AnnotationLoadBalancerID, missing))
			},
		},
		"published VIP": {
			reason: "the address in the status is that of the load balancer", internal: true,
			fail: func(b *balanced, svc *v1.Service, _ string) {
				b.change(svc, annotated(request.AnnotationLoadBalancerID, missing))
			},
		},
		"online": {
			reason: "no address was ever published, and it works", internal: true,
			fail: func(b *balanced, svc *v1.Service, id string) { b.unpublish(svc); b.SetOperatingStatus(id, "ONLINE") },
		},
		"degraded": {
			reason: "no address was ever published, and it works for the most part", internal: true,
			fail: func(b *balanced, svc *v1.Service, id string) { b.unpublish(svc); b.SetOperatingStatus(id, "DEGRADED") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			svc := web()
			if test.internal {
				svc = web(isInternal())
			}
			svc = b.ensure(b.create(svc))
			id := b.balancerOf(svc).ID
			test.fail(b, svc, id)
			b.SetLoadBalancerStatus(id, "ERROR")
			b.start("")
			b.untouched(test.reason, func() {
				if err := b.sync(svc); again(err) < minRetryAfter {
					t.Errorf("%s: %v", test.reason, err)
				}
			})
		})
	}
}

// unpublish removes the address of a Service, as if none had been written.
func (b *balanced) unpublish(svc *v1.Service) {
	b.t.Helper()
	svc = b.change(svc, func(svc *v1.Service) { delete(svc.Annotations, string(request.AnnotationLoadBalancerAddress)) })
	svc.Status.LoadBalancer = v1.LoadBalancerStatus{}
	if _, err := b.kube.CoreV1().Services(svc.Namespace).UpdateStatus(b.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		b.t.Fatal(err)
	}
}

// TestLoadBalancerRemovalsFirst: what Neutron refuses does not keep ports open that the
// Service no longer has.
func TestLoadBalancerRemovalsFirst(t *testing.T) {
	t.Parallel()
	for name, op := range map[string]string{"no group": "neutron.CreateSecurityGroup", "no node port": "neutron.UpdatePort"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			svc := b.ensure(b.create(web()))
			address := b.address(svc)
			const managed = "[LoadBalancer]\nmanage-security-groups = true\n"
			b.start(managed)
			b.Interceptor().Inject(op, simserver.Always(), openstack.Denied())
			b.change(svc, func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
			if err := b.sync(svc); err == nil {
				t.Error("the group is missing")
			}
			b.serves(address, 443)
			b.serves(address, 80, b.nodes...)
		})
	}
}

// waitingNode returns the Node of a new server, which has no provider ID yet.
func (b *balanced) waitingNode(age time.Duration) *v1.Node {
	node := uninitialized(b.addNode("node-4"))
	node.Spec.ProviderID = ""
	node.CreationTimestamp.Time = time.Now().Add(-age)

	return node
}

// TestLoadBalancerWaitingNode: a Node without a provider ID keeps nothing but members from
// being removed, and no longer than it may take to be initialized.
func TestLoadBalancerWaitingNode(t *testing.T) {
	t.Parallel()
	const managed = "[LoadBalancer]\nmanage-security-groups = true\n"
	b := balance(t, managed)
	svc := b.ensure(b.create(web()))
	address := b.address(svc)
	node := b.waitingNode(time.Minute)
	b.nodes = []*v1.Node{b.nodes[0], b.nodes[1], node}
	kept := []*v1.Node{b.nodes[0], b.nodes[1]}
	b.change(svc, func(svc *v1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
	var err error
	writes := b.written(func() { err = b.sync(svc) })
	if again(err) < minRetryAfter {
		t.Errorf("it is synced again: %v", err)
	}
	if writes["octavia.UpdateMembers"] > 0 || writes["octavia.DeleteListener"] != 1 || writes["neutron.DeleteSecurityGroupRule"] == 0 || writes["neutron.UpdatePort"] > 0 {
		t.Errorf("writes: %v", writes)
	}
	b.serves(address, 443)
	if served := b.ServedBy(address, "TCP", 80); len(served) != 3 {
		t.Errorf("no member is removed: %v", served)
	}
	b.start(managed)
	_ = b.sync(svc)
	b.untouched("the same again", func() { _ = b.sync(svc) })
	before := b.Interceptor().Count("octavia.ShowLoadBalancer")
	if err := b.sync(svc); again(err) < minRetryAfter || b.Interceptor().Count("octavia.ShowLoadBalancer") != before {
		t.Errorf("the lists are enough: %v", err)
	}
	b.notWarned(reasonUninitialized)

	node.CreationTimestamp.Time = time.Now().Add(-waitLimit)
	must(t, b.sync(svc))
	b.warned(reasonUninitialized)
	b.serves(address, 80, append(kept, node)...)
}

// TestLoadBalancerListsFail: Services are synced as usual while lists of everything fail or
// take too long, which are then not requested each time.
func TestLoadBalancerListsFail(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{
		"refused": openstack.Error(500, "", "too many"), "slow": simserver.Slow(time.Hour),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := balanceIn(t, inMemory(), "")
				svc := b.ensure(b.create(web()))
				other := b.ensure(b.create(apiService()))
				address := b.address(svc)
				time.Sleep(time.Minute)
				b.production()
				var lists atomic.Int64
				b.Interceptor().Inject("octavia.ListListeners", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
					if r.URL.Query().Has("load_balancer_id") {
						apply.ServeHTTP(w, r) // those of one load balancer

						return
					}
					lists.Add(1)
					fault(w, r, apply)
				})
				began := time.Now()
				must(t, b.lb.UpdateLoadBalancer(t.Context(), clusterName, b.now(svc), b.nodes[:2]))
				if took := time.Since(began); took > snapshot.DefaultWait+10*time.Second {
					t.Errorf("update: it took %s", took)
				}
				b.serves(address, 80, b.nodes[:2]...)
				failed := lists.Load()
				for range 5 {
					must(t, b.update(other, b.nodes[:1]...))
				}
				if n := lists.Load(); failed == 0 || n != failed {
					t.Errorf("%d lists, then %d", failed, n)
				}
				b.serves(b.address(other), 8080, b.nodes[0])
			})
		})
	}
}

// TestLoadBalancerUpdateAlone: an update of members depends on nothing but Octavia.
func TestLoadBalancerUpdateAlone(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	ref := b.AddSecret(openstack.SecretSpec{})
	svc := b.ensure(b.create(web(annotate(request.AnnotationTLSContainerRef, ref))))
	address := b.address(svc)
	b.start("")
	for _, op := range []string{"barbican", "neutron.ListFloatingIPs"} {
		b.Interceptor().Inject(op, simserver.Always(), openstack.Error(500, "", "not now"))
	}
	must(t, b.update(svc, b.nodes[0]))
	b.serves(address, 80, b.nodes[0])
	if b.address(svc) != address {
		t.Errorf("address %s, want %s", b.address(svc), address)
	}
}

// TestLoadBalancerEventsOnce: the sync that the own annotations cause repeats no Event.
func TestLoadBalancerEventsOnce(t *testing.T) {
	t.Parallel()
	// No read is stale: each repetition would be another sync.
	b := balanceIn(t, openstack.Options{Profile: openstack.OVN, StaleReads: new(openstack.StaleReads)}, "[LoadBalancer]\nlb-provider = ovn\n")
	svc := web()
	svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
	b.create(svc)
	for range 3 {
		must(t, b.sync(svc))
	}
	events := b.recorded()
	if len(events) == 0 || len(slices.Compact(slices.Sorted(slices.Values(events)))) != len(events) {
		t.Errorf("events: %q", events)
	}
}
