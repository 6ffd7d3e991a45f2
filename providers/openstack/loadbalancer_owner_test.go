package openstack

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestLoadBalancerAddressFirst: of several load balancers of a Service, the one with its
// address is used, and never deleted.
func TestLoadBalancerAddressFirst(t *testing.T) {
	t.Parallel()
	tags := []string{webName, "multicloud-ccm.io/service-uid=" + webUID}
	for name, floating := range map[string]bool{"VIP": false, "FloatingIP": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			for range 2 {
				b.AddLoadBalancer(openstack.LoadBalancerSpec{Name: webName, Subnet: b.subnet, Tags: tags})
			}
			all := b.LoadBalancers()
			serves := all[1]
			options := []kubetest.ServiceOption{isInternal()}
			address := serves.VIPAddress
			if floating {
				b.AddFloatingIP(openstack.FloatingIPSpec{Network: b.external, Port: serves.VIPPort, Address: "203.0.113.77"})
				address, options = "203.0.113.77", nil
			}
			svc := b.create(web(append(options, func(svc *v1.Service) {
				svc.Status.LoadBalancer.Ingress = []v1.LoadBalancerIngress{{IP: address}}
			})...))
			svc = b.ensure(svc)
			if b.balancerOf(svc).ID != serves.ID || b.address(svc) != address {
				t.Errorf("%s with %s is used, want %s", b.balancerOf(svc).ID, b.address(svc), address)
			}
			if left := b.LoadBalancers(); len(left) != 1 {
				t.Errorf("left are %v", left)
			}
		})
	}
}

// TestLoadBalancerAdoptionNetworks: a load balancer with nothing but the name of the Service
// is that of a cluster with the same private addresses, unless it is in a network of this one.
func TestLoadBalancerAdoptionNetworks(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	cases := map[string]struct {
		reason  string
		members bool
		edit    func(b *balanced, subnet string) []kubetest.ServiceOption
		near    bool
		want    error
	}{
		"Others": {"another cluster has the addresses", true, nil, false, certainty.ErrForeignService},
		"Empty":  {"another cluster is being set up", false, nil, false, certainty.ErrForeignService},
		"Near":   {"it is in the subnet of the Nodes", true, nil, true, nil},
		"Annotation": {"the Service has the subnet", true, func(_ *balanced, subnet string) []kubetest.ServiceOption {
			return []kubetest.ServiceOption{annotate(request.AnnotationSubnetID, subnet)}
		}, false, nil},
		"Config": {"the cluster has the subnet", true, func(b *balanced, subnet string) []kubetest.ServiceOption {
			b.start("[LoadBalancer]\nsubnet-id = " + subnet + "\n")

			return nil
		}, false, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			lan := b.AddNetwork(openstack.NetworkSpec{Name: "other"})
			subnet := b.AddSubnet(openstack.SubnetSpec{Network: lan, CIDR: "10.0.0.0/16"})
			members := map[string]string{}
			if tc.members {
				members = b.members()
			}
			b.reference(members, func(s *openstack.ServiceSpec) {
				if s.FloatingNetwork = ""; !tc.near {
					s.Subnet = subnet
				}
			})
			options := []kubetest.ServiceOption{isInternal()}
			if tc.edit != nil {
				options = append(options, tc.edit(b, subnet)...)
			}
			svc := b.create(web(options...))
			before := b.Interceptor().Count("neutron.ListPorts")
			writes := b.written(func() {
				if err := b.sync(svc); !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
					t.Errorf("%s: %v, want %v", tc.reason, err, tc.want)
				}
			})
			if n := b.Interceptor().Count("neutron.ListPorts") - before; tc.want != nil && n > 1 {
				t.Errorf("%s: %d lists of ports", tc.reason, n)
			}
			if tc.want == nil {
				return
			}
			if len(writes) > 0 || !wrote(b.recorded(), string(reasonNotOwned)) {
				t.Errorf("%s: writes %v", tc.reason, writes)
			}
			b.untouched(tc.reason, func() {
				if err := b.remove(svc); err != nil {
					t.Errorf("%s: deletion: %v", tc.reason, err)
				}
			})
		})
	}
}

// TestLoadBalancerEmptyDeletion: a load balancer with nothing but the name of the Service and
// without members is not deleted, wherever it is.
func TestLoadBalancerEmptyDeletion(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.reference(nil, nil)
	svc := b.create(web())
	b.untouched("perhaps that of another cluster", func() {
		if err := b.remove(svc); err != nil {
			t.Errorf("deletion: %v", err)
		}
	})
}

// TestLoadBalancerOfUntaggedOwner (OS-LB-15): a Service whose annotation names the load
// balancer of another Service, which has no tags yet, never deletes it.
func TestLoadBalancerOfUntaggedOwner(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	id := b.reference(b.members(), func(s *openstack.ServiceSpec) { s.Name, s.NoTags = "other", true })
	address := b.LoadBalancer(id).VIPAddress
	svc := b.create(apiService(annotate(request.AnnotationLoadBalancerID, id)))
	b.untouched("nothing of the Service is in it", func() {
		if err := b.remove(svc); err != nil {
			t.Errorf("deletion: %v", err)
		}
	})
	b.ensure(svc)
	must(t, b.remove(svc))
	for _, port := range []int{80, 443} {
		b.serves(address, port, b.nodes...)
	}
	if lb := b.LoadBalancer(id); len(lb.Listeners) != 2 || len(lb.Tags) != 0 {
		t.Errorf("left is %v", lb)
	}
}

// TestLoadBalancerLegacyDeletion (OS-LB-41, OS-LB-17): a load balancer with the name of old
// versions is deleted with its Service.
func TestLoadBalancerLegacyDeletion(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.reference(b.members(), func(s *openstack.ServiceSpec) { s.LegacyName, s.NoTags = "a1111111111114111811111111111111", true })
	svc := b.create(web())
	if !b.exists(svc) {
		t.Error("it is found by its name")
	}
	must(t, b.remove(svc))
	if all := b.LoadBalancers(); len(all) > 0 || b.exists(svc) {
		t.Errorf("left is %v", all)
	}
}

// TestLoadBalancerDeletionWithoutVersion (OS-LB-13): while the version of the API cannot be
// read, no load balancer that Services share is deleted under one of them.
func TestLoadBalancerDeletionWithoutVersion(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	owner := b.ensure(b.create(web()))
	sharer := b.ensure(b.sharing(owner))
	address := b.address(owner)
	b.start("")
	b.Interceptor().Inject("octavia.ListVersions", simserver.Always(), openstack.Proxy(503, ""))
	_ = b.remove(owner) // that it may be an error is not the matter
	b.serves(address, 8080, b.nodes...)
	b.Interceptor().Clear()
	for _, svc := range []*v1.Service{owner, sharer} {
		must(t, b.remove(svc))
	}
	b.nothingLeft()
}

// TestLoadBalancerTakeOver (OS-LB-33): the Service of a restored cluster has another UID. It gets its load
// balancer back with the annotation, in one write and with the same address.
func TestLoadBalancerTakeOver(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	former := b.ensure(b.create(web()))
	address := b.address(former)
	must(t, b.kube.CoreV1().Services(former.Namespace).Delete(t.Context(), former.Name, metav1.DeleteOptions{}))
	restored := former.DeepCopy()
	restored.UID, restored.ResourceVersion, restored.Status = "22222222-2222-4222-8222-222222222222", "", v1.ServiceStatus{}
	b.start("")
	restored = b.create(restored)
	if n := b.written(func() {
		is(t, b.sync(restored), certainty.ErrForeignService)
	}); len(n) > 0 {
		t.Errorf("writes %v", n)
	}

	b.change(restored, func(svc *v1.Service) { svc.Annotations[string(request.AnnotationTakeOver)] = webUID })
	want := map[string]int{"octavia.UpdateLoadBalancer": 1}
	check(t, "writes", want, b.written(func() { restored = b.ensure(restored) }))
	if got := b.address(restored); got != address {
		t.Errorf("the address is %s instead of %s", got, address)
	}
	b.serves(address, 80, b.nodes...)
	if n := b.written(func() { b.ensure(restored) }); len(n) > 0 {
		t.Errorf("it is the load balancer of the Service: %v", n)
	}
	must(t, b.remove(restored))
	b.nothingLeft()
}
