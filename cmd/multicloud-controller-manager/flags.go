package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/client-go/tools/leaderelection"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/app"
	ccmconfig "k8s.io/cloud-provider/config"
	"k8s.io/cloud-provider/names"
	"k8s.io/cloud-provider/options"
	componentconfig "k8s.io/component-base/config"
	genericcontrollermanager "k8s.io/controller-manager/app"
	netutils "k8s.io/utils/net"
)

// checkConcurrency rejects values that the framework does not check: without
// workers no node would ever be initialized.
func checkConcurrency(opts *options.CloudControllerManagerOptions) error {
	var errs []error
	positive := func(flag string, value int32) {
		if value <= 0 {
			errs = append(errs, fmt.Errorf("--%s must be more than zero, got %d", flag, value))
		}
	}
	positive("concurrent-node-syncs", opts.NodeController.ConcurrentNodeSyncs)
	positive("concurrent-node-lifecycle-syncs", opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs)
	positive("concurrent-service-syncs", opts.ServiceController.ConcurrentServiceSyncs)
	if n := opts.NodeController.ConcurrentNodeStatusUpdates; n < 0 {
		errs = append(errs, fmt.Errorf("--concurrent-node-status-updates must not be negative, got %d", n))
	}

	return errors.Join(errs...)
}

// checkLeaderElection rejects durations with which client-go panics.
func checkLeaderElection(c componentconfig.LeaderElectionConfiguration) error {
	lease, renew, retry := c.LeaseDuration.Duration, c.RenewDeadline.Duration, c.RetryPeriod.Duration
	switch longest := time.Duration(leaderelection.JitterFactor * float64(retry)); {
	case !c.LeaderElect:
		return nil
	case retry <= 0:
		return fmt.Errorf("--leader-elect-retry-period must be more than zero, got %s", retry)
	case renew <= longest:
		return fmt.Errorf("--leader-elect-renew-deadline must be more than %s, which is %g times --leader-elect-retry-period, got %s",
			longest, leaderelection.JitterFactor, renew)
	case lease <= renew:
		return fmt.Errorf("--leader-elect-lease-duration must be more than --leader-elect-renew-deadline, which is %s, got %s", renew, lease)
	case lease < time.Second:
		return fmt.Errorf("--leader-elect-lease-duration must be at least 1s, got %s", lease) // a Lease has whole seconds
	}

	return nil
}

// checkClusterCIDR parses what the framework parses only when the process leads, and
// only if it makes routes.
func checkClusterCIDR(cloud cloudprovider.Interface, c ccmconfig.CloudControllerManagerConfiguration) error {
	_, hasRoutes := cloud.Routes()
	enabled := genericcontrollermanager.IsControllerEnabled(names.NodeRouteController, app.ControllersDisabledByDefault, c.Generic.Controllers)
	if !hasRoutes || !enabled || !c.KubeCloudShared.ConfigureCloudRoutes {
		return nil
	}
	value := strings.TrimSpace(c.KubeCloudShared.ClusterCIDR)
	cidrs, err := netutils.ParseCIDRs(strings.Split(value, ","))
	dual, _ := netutils.IsDualStackCIDRs(cidrs)
	if err != nil || len(cidrs) > 2 || len(cidrs) == 2 && !dual {
		return fmt.Errorf("--cluster-cidr must be a CIDR, or one of IPv4 and one of IPv6 with a comma between them, got %q", value)
	}

	return nil
}
