package openstack

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestLoadBalancerJustThere (OS-LB-3): a load balancer that was there a moment ago counts as
// lost only after a minute: a read may come from another node of the database.
func TestLoadBalancerJustThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "")
		svc := b.ensure(b.create(web()))
		b.DeleteLoadBalancer(b.balancerOf(svc).ID)
		b.untouched("a moment ago", func() {
			b.incomplete(b.sync(svc))
		})
		b.notWarned(reasonLost)
		time.Sleep(unclearAge)
		svc = b.ensure(svc)
		b.warned(reasonLost)
		b.serves(b.address(svc), 80, b.nodes...)
	})
}

// TestLoadBalancerDeletedServer (OS-LB-11): a Node whose server was deleted is no doubt
// because of which another Node would stay a member.
func TestLoadBalancerDeletedServer(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"Plain": "", "Groups": "[LoadBalancer]\nmanage-security-groups = true\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, more)
			svc := b.ensure(b.create(web()))
			b.DeleteServer(idOf(b.nodes[0]))
			b.start(more) // nothing is known of its ports
			must(t, b.update(svc, b.nodes[0], b.nodes[2]))
			b.serves(b.address(svc), 80, b.nodes[0], b.nodes[2])
			if port, _ := b.Port(b.ServerPorts(idOf(b.nodes[1]))[0]); len(port.Groups) != 1 {
				t.Errorf("the Node that left has the groups %v", port.Groups)
			}
		})
	}
}

// TestLoadBalancerWithoutFloatingIP (OS-LB-12, OS-LB-14): without room for its floating IP, a
// load balancer is there with all its parts, and the Service has no address yet.
func TestLoadBalancerWithoutFloatingIP(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	b.SetQuotas("", openstack.Quotas{FloatingIPs: 1})
	b.AddFloatingIP(openstack.FloatingIPSpec{Network: b.external, Description: "mine"})
	svc := b.create(web())
	b.incomplete(b.sync(svc))
	b.warned(change.QuotaExceeded)
	b.serves(b.balancerOf(svc).VIPAddress, 80, b.nodes...)
	if now := b.now(svc); len(now.Status.LoadBalancer.Ingress) > 0 || now.Annotations[string(request.AnnotationLoadBalancerAddress)] != "" {
		t.Errorf("the address of an external Service is that of a floating IP: %v, %v", now.Status, now.Annotations)
	}
	id := b.balancerOf(svc).ID
	b.SetQuotas("", openstack.Quotas{FloatingIPs: 2})
	svc = b.ensure(svc)
	if b.balancerOf(svc).ID != id {
		t.Error("the load balancer is another one")
	}
	b.serves(b.address(svc), 443, b.nodes...)
}

// TestLoadBalancerNoKeyManager (OS-LB-23): without a key manager there are no TLS listeners,
// and nothing is written.
func TestLoadBalancerNoKeyManager(t *testing.T) {
	t.Parallel()
	b := balanceIn(t, openstack.Options{Catalog: openstack.Catalog{Without: []string{"key-manager"}}}, "")
	svc := b.create(web(annotate(request.AnnotationTLSContainerRef, "https://barbican.example.com/v1/secrets/"+webUID)))
	b.untouched("no key manager", func() {
		is(t, b.sync(svc), errNoKeyManager)
	})
}
