package aws

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// AWS-SG-9: target groups go on hiding clients when the annotation is taken away,
// so the nodes must go on letting the load balancer itself in; not any longer
// when the annotation says that clients are seen.
func TestHiddenClients(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	const ranges = "192.0.2.0/24"
	svc := web(nlb(), from(ranges), kubetest.LocalTraffic(32000), annotate(request.AnnotationTargetGroupAttributes, "preserve_client_ip.enabled=false"))
	b.ensure(svc)
	b.admitted(webName, ranges)
	hidden := b.rules(b.seed.NodeGroup)

	delete(svc.Annotations, string(request.AnnotationTargetGroupAttributes))
	b.ensure(svc)
	b.admitted(webName, ranges)
	b.quiet(svc)

	svc.Annotations[string(request.AnnotationTargetGroupAttributes)] = "preserve_client_ip.enabled=true"
	b.ensure(svc)
	b.admitted(webName, ranges)
	b.quiet(svc)
	if seen := b.rules(b.seed.NodeGroup); len(seen) != len(hidden)-2*len(b.seed.Zones) {
		t.Errorf("AWS-SG-9: the node ports are still open to the subnets: %v", seen)
	}
	b.remove(svc)
	b.same(before)
}
