package aws

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestLifecycle starts and closes the provider many times. It is not parallel: the
// goroutines of other tests would count.
func TestLifecycle(t *testing.T) {
	// Each process has a budget of its own, and here are many at once.
	r := newRegion(t, sim.Options{DisableThrottling: true})
	balancers := fmt.Sprintf("[ServiceOverride \"elb\"]\nService = elasticloadbalancing\nRegion = %[1]s\nURL = %[2]s\nSigningRegion = %[1]s", r.Region(), r.URL())
	cfg, problems := decode(parseConfig(t, r.file(balancers)))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	node := node(r.seed.AddNodes(1)[0])
	times := quickly
	times.client = impatient
	providertest.Run(t, providertest.Lifecycle{
		New: func() (providertest.Cloud, error) { return newCloudFrom(t.Context(), cfg, times) },
		Use: func(ctx context.Context, c providertest.Cloud) error {
			instances, _ := c.InstancesV2()
			if exists, err := instances.InstanceExists(ctx, node); err != nil || !exists {
				return errors.Join(err, errors.New("the Node was not found"))
			}
			balancers, _ := c.LoadBalancer()
			_, _, err := balancers.GetLoadBalancer(ctx, demo, kubetest.Service("default", "web"))

			return err
		},
	})
}
