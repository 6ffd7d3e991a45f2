package openstack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// sharing adds a Service that uses the load balancer of another one.
func (b *balanced) sharing(owner *v1.Service, options ...kubetest.ServiceOption) *v1.Service {
	b.t.Helper()

	return b.create(apiService(append(options, annotate(request.AnnotationLoadBalancerID, b.balancerOf(owner).ID))...))
}

// TestLoadBalancerOfUser (OS-LB-14, OS-LB-15): a load balancer that a user made is used, and
// stays with its listeners and its floating IP.
func TestLoadBalancerOfUser(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	id := b.AddLoadBalancer(openstack.LoadBalancerSpec{
		Name: "mine", Subnet: b.subnet, Listeners: []openstack.ListenerSpec{{Name: "https", Protocol: "TCP", Port: 443}},
	})
	b.AddFloatingIP(openstack.FloatingIPSpec{Network: b.external, Port: b.LoadBalancer(id).VIPPort, Description: "mine"})
	svc := b.ensure(b.create(apiService(annotate(request.AnnotationLoadBalancerID, id))))
	b.serves(b.address(svc), 8080, b.nodes...)
	must(t, b.remove(svc))
	if lb := b.LoadBalancer(id); len(lb.Listeners) != 1 || len(lb.Tags) != 0 {
		t.Errorf("left is %v", lb)
	}
	b.nothingLeft()
}

// TestLoadBalancerSharedAtOnce (OS-LB-15): Services that share a load balancer never write
// to it at the same time.
func TestLoadBalancerSharedAtOnce(t *testing.T) {
	t.Parallel()
	b := balance(t, "[LoadBalancer]\nmax-shared-lb = 4\n")
	owner := b.ensure(b.create(web()))
	services := []*v1.Service{owner}
	for i := range 3 {
		services = append(services, b.sharing(owner, kubetest.Port(v1.ProtocolTCP, int32(9000+i)), func(svc *v1.Service) {
			svc.Name = fmt.Sprintf("api-%d", i)
			svc.UID = types.UID(fmt.Sprintf("44444444-4444-4444-8444-%012d", i))
			svc.Spec.Ports = svc.Spec.Ports[1:]
		}))
	}
	b.change(owner, func(svc *v1.Service) { svc.Spec.Ports[1].Port = 8443 })
	b.all(services, func(svc *v1.Service) {
		if err := b.sync(svc); err != nil {
			t.Errorf("sync %s: %v", svc.Name, err)
		}
	})
	for _, port := range []int{80, 9000, 9001, 9002} {
		b.serves(b.address(owner), port, b.nodes...)
	}
	b.all(services, func(svc *v1.Service) {
		if err := b.remove(svc); err != nil {
			t.Errorf("remove %s: %v", svc.Name, err)
		}
	})
	b.nothingLeft()
}

// inCluster syncs a Service twice as a controller with another cluster name does.
func (b *balanced) inCluster(cluster string, svc *v1.Service) {
	b.t.Helper()
	for range 2 {
		if _, err := b.lb.EnsureLoadBalancer(bounded(b.t), cluster, b.now(svc), b.nodes); err != nil {
			b.t.Fatalf("sync %s in cluster %s: %v", svc.Name, cluster, err)
		}
	}
}

// TestLoadBalancerRenamedSharer (OS-LB-42): a Service that shares the load balancer of another
// one has its parts and its tag there under the new name of the cluster, and nothing under the
// old one, in whatever order the two are synced, and also if it is deleted instead.
func TestLoadBalancerRenamedSharer(t *testing.T) {
	t.Parallel()
	const cluster = "renamed"
	tag := func(svc *v1.Service) string { return request.NewNames(cluster, svc).LoadBalancer() }
	for name, order := range map[string]struct{ before, deletes bool }{
		"OwnerFirst": {}, "OwnerLast": {before: true}, "Deleted": {deletes: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "[LoadBalancer]\ncreate-monitor = true\n")
			owner := b.ensure(b.create(web()))
			sharer := b.ensure(b.sharing(owner))
			id := b.balancerOf(owner).ID
			b.start("[LoadBalancer]\ncreate-monitor = true\n")
			if order.deletes {
				must(t, b.lb.EnsureLoadBalancerDeleted(bounded(t), cluster, b.now(sharer)))
				lb := b.LoadBalancer(id)
				if slices.Contains(lb.Tags, apiName) || len(lb.Listeners) != 2 {
					t.Errorf("left are the tags %v and %d listeners", lb.Tags, len(lb.Listeners))
				}

				return
			}
			services := []*v1.Service{owner, sharer}
			if order.before {
				slices.Reverse(services)
			}
			for _, svc := range services {
				b.inCluster(cluster, svc)
			}
			lb := b.LoadBalancer(id)
			want := []string{"multicloud-ccm.io/service-uid=" + webUID, tag(owner), tag(sharer)}
			if got := slices.Sorted(slices.Values(lb.Tags)); lb.Name != tag(owner) || !slices.Equal(got, plan.Sorted(want)) {
				t.Errorf("load balancer %s has the tags %v, want %v", lb.Name, got, want)
			}
			if dump := b.Dump(); strings.Contains(dump, apiName) {
				t.Errorf("something has the old name %s:\n%s", apiName, dump)
			}
			b.serves(b.address(owner), 8080, b.nodes...)
			b.untouched("renamed", func() {
				b.inCluster(cluster, owner)
				b.inCluster(cluster, sharer)
			})
		})
	}
}

// TestLoadBalancerRenamedNamesake (OS-LB-42): the tag of a Service with the same name in another
// cluster stays, as long as nothing proves that it was that of this one.
func TestLoadBalancerRenamedNamesake(t *testing.T) {
	t.Parallel()
	b := balance(t, "[LoadBalancer]\nmax-shared-lb = 3\n")
	owner := b.ensure(b.create(web()))
	b.ensure(b.sharing(owner))
	id := b.balancerOf(owner).ID
	twin := apiService(kubetest.ServiceUID(thirdUID), isOn(id), ported(kubetest.Port(v1.ProtocolTCP, 9090)))
	must(t, b.kube.CoreV1().Services("default").Delete(t.Context(), "api", metav1.DeleteOptions{}))
	twin = b.create(twin) // that of the second cluster
	b.inCluster("second", twin)
	lb := b.LoadBalancer(id)
	if !slices.Contains(lb.Tags, apiName) || !slices.Contains(lb.Tags, request.NewNames("second", twin).LoadBalancer()) {
		t.Errorf("tags: %v", lb.Tags)
	}
	b.serves(b.address(owner), 8080, b.nodes...)
	b.serves(b.address(owner), 9090, b.nodes...)
}
