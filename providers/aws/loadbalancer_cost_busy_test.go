package aws

import (
	"testing"

	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// TestThrottledCreations creates four classic load balancers while AWS throttles
// the creation: no call fails.
func TestThrottledCreations(t *testing.T) {
	t.Parallel()
	account{nodes: 3}.test(t, func(b *balanced) {
		const count, throttled = 4, 12
		b.Gate().Break("elb.CreateLoadBalancer", front.First(throttled), sim.Throttled())
		services := twoPorts(0, count)
		creation := b.measure("create while AWS throttles", func() { b.ensureAll(services) }).atMost(12*count+throttled, count)
		if n := creation.calls["elb.CreateLoadBalancer"]; n != count+throttled {
			b.t.Errorf("%d attempts at the creation, want %d", n, count+throttled)
		}
		for _, svc := range services {
			if len(svc.Status.LoadBalancer.Ingress) == 0 {
				b.t.Errorf("%s has no hostname", svc.Name)
			}
		}
	})
}
