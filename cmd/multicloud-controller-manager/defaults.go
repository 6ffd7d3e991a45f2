package main

import (
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/options"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// setDefaults puts our defaults in place of the framework's, which are made for
// a handful of nodes. It goes before the flags are made, so that --help shows
// them.
func setDefaults(opts *options.CloudControllerManagerOptions) {
	nothing := func(string) bool { return false }
	applyControllers(opts, config.NewSettings().Controllers, nothing, nothing)
}

// applyControllers sets the options that [Controllers] holds, except those
// given as a flag. The file has the keys for which inFile is true.
func applyControllers(opts *options.CloudControllerManagerOptions, c config.Controllers, given, inFile func(key string) bool) {
	set := func(flag string, apply func()) {
		if !given(flag) {
			apply()
		}
	}
	set("concurrent-node-syncs", func() { opts.NodeController.ConcurrentNodeSyncs = *c.ConcurrentNodeSyncs })
	set("concurrent-node-lifecycle-syncs", func() {
		opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs = *c.ConcurrentNodeLifecycleSyncs
	})
	set("concurrent-service-syncs", func() { opts.ServiceController.ConcurrentServiceSyncs = *c.ConcurrentServiceSyncs })
	set("kube-api-qps", func() { opts.Generic.ClientConnection.QPS = *c.KubeAPIQPS })
	set("kube-api-burst", func() { opts.Generic.ClientConnection.Burst = *c.KubeAPIBurst })
	set("concurrent-node-status-updates", func() {
		opts.NodeController.ConcurrentNodeStatusUpdates = *c.ConcurrentNodeStatusUpdates
		if given("concurrent-node-syncs") && !inFile("concurrent-node-status-updates") {
			// As many as --concurrent-node-syncs: what someone who gave only
			// that flag has always got.
			opts.NodeController.ConcurrentNodeStatusUpdates = 0
		}
	})
}

// checkConcurrency refuses what the framework forgets to: with no workers no
// node would ever be initialized.
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

// routesOff turns routes off where nobody asked for them: the framework turns
// them on by default and dies without a cluster CIDR under a provider that has
// routes. It reports whether it did.
func routesOff(opts *options.CloudControllerManagerOptions, flags *pflag.FlagSet) bool {
	shared := opts.KubeCloudShared
	if flags.Changed("configure-cloud-routes") || shared.ClusterCIDR != "" {
		return false
	}
	shared.ConfigureCloudRoutes = false
	return true
}
