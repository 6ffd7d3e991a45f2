package openstack

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestLoadBalancerDeletionInterrupted (OS-LB-17): whatever a deletion leaves is found again,
// and the Service has a load balancer until nothing is left.
func TestLoadBalancerDeletionInterrupted(t *testing.T) {
	t.Parallel()
	for _, op := range []string{
		"octavia.DeleteLoadBalancer", "neutron.DeleteFloatingIP", "neutron.DeleteSecurityGroup", "neutron.UpdatePort",
	} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "[LoadBalancer]\nmanage-security-groups = true\n")
			svc := b.ensure(b.create(web()))
			b.Interceptor().Inject(op, simserver.First(1), openstack.Error(500, "InternalServerError", "not now"))
			if err := b.remove(svc); err == nil {
				t.Error("the first deletion fails")
			}
			b.start("[LoadBalancer]\nmanage-security-groups = true\n")
			if !b.exists(svc) {
				t.Error("something is left")
			}
			for range 3 {
				if err := b.remove(svc); err == nil {
					break
				}
			}
			b.nothingLeft()
			if b.exists(svc) {
				t.Error("nothing is left")
			}
		})
	}
}

// TestLoadBalancerDeletionRefused (OS-LB-17): a load balancer whose deletion Octavia refuses
// keeps its floating IP.
func TestLoadBalancerDeletionRefused(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web()))
	b.Interceptor().Inject("octavia.DeleteLoadBalancer", simserver.Always(), openstack.Denied())
	if err := b.remove(svc); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("deletion: %v", err)
	}
	b.serves(b.address(svc), 80, b.nodes...)
}

// TestLoadBalancerDeletionInParts (OS-LB-26): without cascade-delete, all parts are deleted.
func TestLoadBalancerDeletionInParts(t *testing.T) {
	t.Parallel()
	b := balance(t, "[LoadBalancer]\ncascade-delete = false\ncreate-monitor = true\n")
	svc := b.ensure(b.create(web()))
	if err := b.remove(svc); err != nil {
		t.Fatal(err)
	}
	b.nothingLeft()
}

// TestLoadBalancerKeptFloatingIP (OS-LB-14): a floating IP that is to be kept stays.
func TestLoadBalancerKeptFloatingIP(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web(annotate(request.AnnotationKeepFloatingIP, "true"))))
	address := b.address(svc)
	if err := b.remove(svc); err != nil {
		t.Fatal(err)
	}
	if b.exists(svc) {
		t.Error("a floating IP that is kept is no load balancer")
	}
	if left := b.Leaks(); len(left) != 1 {
		t.Errorf("left is %v", left)
	}
	again := b.ensure(b.create(apiService(func(svc *v1.Service) { svc.Spec.LoadBalancerIP = address })))
	if b.address(again) != address {
		t.Errorf("address: %s, want %s", b.address(again), address)
	}
}

// TestLoadBalancerGroups (OS-LB-18): with manage-security-groups, the ports of Nodes have a
// group of the Service, until that is turned off or the Service is deleted.
func TestLoadBalancerGroups(t *testing.T) {
	t.Parallel()
	const managed = "[LoadBalancer]\nmanage-security-groups = true\n"
	b := balance(t, managed)
	svc := b.ensure(b.create(web()))
	groups := func() int {
		port, _ := b.Port(b.ServerPorts(idOf(b.nodes[0]))[0])

		return len(port.Groups)
	}
	if groups() != 2 {
		t.Errorf("%d groups", groups())
	}
	b.start(managed)
	b.untouched("nothing has changed", func() { b.ensure(svc) })
	b.start("")
	b.ensure(svc)
	if groups() != 1 {
		t.Errorf("%d groups without manage-security-groups", groups())
	}
	b.start(managed)
	b.ensure(svc)
	if err := b.remove(svc); err != nil {
		t.Fatal(err)
	}
	b.nothingLeft()
}

// TestLoadBalancerTLS (OS-LB-23): a certificate that does not exist is an error before
// anything is written.
func TestLoadBalancerTLS(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	missing := "https://barbican.example.com/v1/secrets/00000000-0000-4000-8000-000000000000"
	svc := b.create(web(annotate(request.AnnotationTLSContainerRef, missing)))
	b.untouched("no certificate", func() {
		if err := b.sync(svc); !errors.Is(err, apierr.ErrNotFound) {
			t.Errorf("sync: %v", err)
		}
	})
}
