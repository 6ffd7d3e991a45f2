package openstack

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestLoadBalancerDeletionRefused (OS-LB-17): a load balancer whose deletion Octavia refuses
// keeps its floating IP.
func TestLoadBalancerDeletionRefused(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web()))
	b.Interceptor().Inject("octavia.DeleteLoadBalancer", simserver.Always(), openstack.Denied())
	is(t, b.remove(svc), apierr.ErrDenied)
	b.serves(b.address(svc), 80, b.nodes...)
}

// TestLoadBalancerTLS (OS-LB-23): a certificate that does not exist is an error before
// anything is written.
func TestLoadBalancerTLS(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	missing := "https://barbican.example.com/v1/secrets/00000000-0000-4000-8000-000000000000"
	svc := b.create(web(annotate(request.AnnotationTLSContainerRef, missing)))
	b.untouched("no certificate", func() {
		is(t, b.sync(svc), apierr.ErrNotFound)
	})
}
