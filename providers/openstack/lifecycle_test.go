package openstack

import (
	"context"
	"errors"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider/providertest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestLifecycle starts and closes the provider many times. It is not parallel: the
// goroutines of other tests would count.
func TestLifecycle(t *testing.T) {
	f := newFleet(t, 1, openstack.Options{InMemory: true})
	file, err := config.Parse("cloud.conf", []byte(f.CloudConfig(openstack.UserCCM, "")))
	must(t, err)
	times := hasty()
	times.client.Dial = f.Server().Dial
	providertest.Run(t, providertest.Lifecycle{
		New: func() (providertest.Cloud, error) { return newCloudFrom(file, noEnvironment(), times) },
		Use: func(ctx context.Context, c providertest.Cloud) error {
			instances, _ := c.InstancesV2()
			if exists, err := instances.InstanceExists(ctx, f.nodes[0]); err != nil || !exists {
				return errors.Join(err, errors.New("the Node was not found"))
			}

			return nil
		},
		Left: func() []string { return sessions(f.Cloud) },
	})
}
