package aws

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// AWS-SG-9: target groups still hide clients when the annotation is removed, so
// the nodes must still allow the load balancer itself; no longer
// when the annotation requests the client addresses.
func TestHiddenClients(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	const ranges = "192.0.2.0/24"
	svc := web(nlb(), from(ranges), kubetest.LocalTraffic(32000), annotate(request.AnnotationTargetGroupAttributes, "preserve_client_ip.enabled=false"))
	b.ensure(svc)
	b.reachable(webName, ranges)
	hidden := b.rules(b.seed.NodeGroup)

	delete(svc.Annotations, string(request.AnnotationTargetGroupAttributes))
	b.ensure(svc)
	b.reachable(webName, ranges)
	b.unchanged(svc)

	svc.Annotations[string(request.AnnotationTargetGroupAttributes)] = "preserve_client_ip.enabled=true"
	b.ensure(svc)
	b.reachable(webName, ranges)
	b.unchanged(svc)
	if seen := b.rules(b.seed.NodeGroup); len(seen) != len(hidden)-2*len(b.seed.Zones) {
		t.Errorf("AWS-SG-9: the node ports are still open to the subnets: %v", seen)
	}
	b.remove(svc)
	b.same(before)
}
