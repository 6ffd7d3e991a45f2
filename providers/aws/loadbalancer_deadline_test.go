package aws

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

func TestOperationsHaveADeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lb := newLoadBalancer(loadBalancerConfig{})
		began := time.Now()
		err := lb.services.Run(t.Context(), kubetest.Service("default", "web"), func(ctx context.Context, _ *state) error {
			<-ctx.Done()

			return ctx.Err()
		})
		if took := time.Since(began); err == nil || took != operationTimeout {
			t.Errorf("ended after %s with %v, want an error after %s", took, err, operationTimeout)
		}
	})
}
