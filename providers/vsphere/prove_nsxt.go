package vsphere

import (
	"context"
	"errors"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/loadbalancers"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/routes"
)

// proveNSXT logs in to the NSX-T manager, if the cloud-config needs one, and reads what load balancers
// and routes name there.
func (c *Config) proveNSXT(ctx context.Context, clients cloudprovider.ControllerClientBuilder, t tuning) error {
	if !c.usesNSXT() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, proofTimeout)
	defer cancel()
	options := t.nsxt
	options.Metrics = nsx.NewMetrics(metrics.Discard())
	client, password, err := newNSXT(&c.NSXT, t.nsxtLogins, options)
	if err != nil {
		return err
	}
	defer client.Close(ctx) //nolint:errcheck // nothing is written
	if c.NSXT.hasSecret() {
		if clients == nil {
			return apierr.Mark(apierr.ErrInvalid, errors.New("read the Secret of [NSXT]: no cluster is given"))
		}
		secret, err := nsxtSecret(&c.NSXT, clients)
		if err != nil {
			return err
		}
		password.Use(secret)
	}
	if c.Route.RouterPath != "" {
		err = routes.Prove(ctx, string(c.Route.RouterPath), client)
	}
	if err == nil && c.hasLoadBalancers() {
		err = loadbalancers.Prove(ctx, c.balancing(), client)
	}

	return err
}
