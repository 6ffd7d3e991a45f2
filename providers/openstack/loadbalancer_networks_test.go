package openstack

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestLoadBalancerReachableNetwork (OS-LB-14): of several external networks, the floating IP
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
