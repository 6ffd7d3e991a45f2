package openstack

import (
	"errors"
	"maps"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestLoadBalancerReachableNetwork (OS-LB-39): of several external networks, the floating IP
// comes from the one that a router connects with the subnet of the VIP: for a new load balancer
// with its subnet set, found, or chosen by Octavia, and for one that exists.
func TestLoadBalancerReachableNetwork(t *testing.T) {
	t.Parallel()
	cases := map[string]func(b *balanced) *v1.Service{
		"Found":  func(*balanced) *v1.Service { return web() },
		"Set":    func(b *balanced) *v1.Service { return web(annotate(request.AnnotationSubnetID, b.subnet)) },
		"Chosen": func(b *balanced) *v1.Service { return web(annotate(request.AnnotationNetworkID, b.network)) },
	}
	for name, service := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			const unreachable = "00000000-0000-4000-8000-000000000000" // the smallest ID
			b.AddNetwork(openstack.NetworkSpec{ID: unreachable, Name: "other", External: true})
			b.AddSubnet(openstack.SubnetSpec{Network: unreachable, CIDR: "198.51.100.0/24"})
			svc := b.ensure(b.create(service(b)))
			if wrote(b.recorded(), string(networks.ExternalNetworkAmbiguous)) {
				t.Error("the choice is not ambiguous")
			}
			address := b.address(svc)
			b.serves(address, 80, b.nodes...)
			found, err := b.lb.Network.FloatingIPsByAddress(bounded(t), address)
			if err != nil || len(found) != 1 {
				t.Fatalf("floating IPs %v: %v", found, err)
			}
			b.DeleteFloatingIP(found[0].ID)
			b.start("")
			svc = b.ensure(svc)
			b.serves(b.address(svc), 80, b.nodes...)
			if n := b.Interceptor().Count("neutron.ListRouters"); n != 2 {
				t.Errorf("routers were listed %d times", n)
			}
		})
	}
}

// TestLoadBalancerFloatingSubnet (OS-LB-40): a subnet of floating IPs that is not one of the external
// network is a mistake that is found before the load balancer is created.
func TestLoadBalancerFloatingSubnet(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]func(b *balanced) kubetest.ServiceOption{
		"Found":  func(*balanced) kubetest.ServiceOption { return func(*v1.Service) {} },
		"Chosen": func(b *balanced) kubetest.ServiceOption { return annotate(request.AnnotationNetworkID, b.network) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "")
			external := annotate(request.AnnotationFloatingNetworkID, b.external)
			svc := b.create(web(external, annotate(request.AnnotationFloatingSubnetID, b.subnet), place(b)))
			b.untouched("a mistake", func() {
				if err := b.sync(svc); !errors.Is(err, apierr.ErrInvalid) {
					t.Errorf("sync: %v", err)
				}
			})
			b.change(svc, func(svc *v1.Service) { svc.Annotations[string(request.AnnotationFloatingSubnetID)] = b.outside })
			svc = b.ensure(svc)
			b.serves(b.address(svc), 80, b.nodes...)
		})
	}
}

// TestLoadBalancerInvisibleSubnet (OS-LB-43): the CIDR of a subnet is read once, and that the
// project cannot see it counts for ten minutes. A failed read is no verdict.
func TestLoadBalancerInvisibleSubnet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// No read is stale: calls are counted.
		b := balanceIn(t, openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads)}, "")
		foreign := b.AddNetwork(openstack.NetworkSpec{Name: "foreign", Project: openstack.ProjectOther})
		hidden := b.AddSubnet(openstack.SubnetSpec{Network: foreign, CIDR: "10.5.0.0/24"})
		var p prefixes
		ids := []string{b.subnet, hidden}
		look := func(reason string, calls int) {
			t.Helper()
			b.Interceptor().Reset()
			found, err := p.of(bounded(t), b.lb.Network, ids)
			if want := map[string]netip.Prefix{b.subnet: netip.MustParsePrefix("10.0.0.0/16")}; err != nil || !maps.Equal(found, want) {
				t.Errorf("%s: %v, %v", reason, found, err)
			}
			if n := b.Interceptor().Count("neutron.ListSubnets"); n != calls {
				t.Errorf("%s: %d calls, want %d", reason, n, calls)
			}
		}
		b.Interceptor().Inject("neutron.ListSubnets", simserver.Nth(1), openstack.Denied())
		if found, err := p.of(bounded(t), b.lb.Network, ids); err == nil {
			t.Errorf("a failed read: %v", found)
		}
		look("the first look", 1)
		time.Sleep(networks.DefaultMaxAge - time.Second)
		look("it is invisible", 0)
		time.Sleep(time.Second)
		look("it may be visible by now", 1)
	})
}
