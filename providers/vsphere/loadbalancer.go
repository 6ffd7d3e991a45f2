package vsphere

import (
	"context"

	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// LoadBalancer has load balancers in NSX-T, if the cloud-config has any.
func (c *cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) {
	if c.loadBalancers == nil {
		return nil, false
	}

	return c.loadBalancers, true
}

// serveServices has Events and the status of Services written, and objects of Services deleted
// that no longer exist.
func (c *cloud) serveServices(builder cloudprovider.ControllerClientBuilder) {
	if c.loadBalancers == nil {
		return
	}
	c.background.Go(func(ctx context.Context) {
		c.loadBalancers.RunSweep(ctx, c.clusterName, c.config.LoadBalancer.SweepDefaultClusterName)
	})
	services := c.loadBalancers.Services()
	services.SetClients(builder)
	services.Measure(metrics.New(ProviderName))
	client, err := builder.Client(nodeClientName)
	if err != nil {
		klog.ErrorS(err, "No client for Events, Services will have none of this provider")

		return
	}
	services.SetRecorder(c.background.Recorder(client, clientName))
}
