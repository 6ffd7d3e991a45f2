package aws

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// AWS-API-6: nodes whose instances are not in the list of the cluster (a Fargate
// pod, one that is gone, one without the tag) do not have all instances read
// again by each sync.
func TestMissingNodesCostNothing(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			pod := b.AddFargate(sim.FargateSpec{Subnet: b.seed.Private[b.seed.Zones[0]]})
			b.nodes = append(b.nodes, fargateOf(pod), node("i-0dead000000000000"), node(b.untagged()))
			svc := web(options...)
			b.ensure(svc)
			calls := b.calls(func() {
				for range 5 {
					b.ensure(svc)
				}
			})
			if n := calls["DescribeInstances"]; n > 0 {
				t.Errorf("AWS-API-6: five syncs describe instances %d times", n)
			}
			if n := b.Interceptor().Count("DescribeInstances"); n > 3 {
				t.Errorf("AWS-API-6: the first sync described instances %d times", n)
			}
		})
	}
}
