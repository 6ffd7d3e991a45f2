package aws

import (
	"sync"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
)

// A response is encoded before another call can change what it describes. Without
// that the race detector reports it.
func TestResponsesDoNotChangeWhileEncoded(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{DisableThrottling: true})
	k.createWeb(nil)
	check := &elbtypes.HealthCheck{
		Target: new("TCP:30080"), Interval: new(int32(10)), Timeout: new(int32(5)),
		HealthyThreshold: new(int32(2)), UnhealthyThreshold: new(int32(2)),
	}
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			for range 10 {
				describeWeb(k)
			}
		})
		calls.Go(func() {
			for range 10 {
				if _, err := k.elb.ConfigureHealthCheck(t.Context(), &elb.ConfigureHealthCheckInput{LoadBalancerName: new("web"), HealthCheck: check}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
}
