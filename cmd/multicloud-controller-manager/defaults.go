package main

import (
	"time"

	"github.com/spf13/pflag"
	"k8s.io/cloud-provider/options"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// retryPeriod is how often a process tries to renew or to get the Lease. client-go adds up to
// 120 percent to attempts to get it: with the 2 s of the framework, a released Lease may have
// no holder for 4.4 s.
const retryPeriod = time.Second

// setDefaults replaces defaults of the framework: those that suit a handful of
// nodes, and the retry period of leader election. It must run before the flags are defined, so that --help shows its
// values.
func setDefaults(opts *options.CloudControllerManagerOptions) {
	opts.Generic.LeaderElection.RetryPeriod.Duration = retryPeriod
	nothing := func(string) bool { return false }
	applyControllers(opts, config.NewSettings().Controllers, nothing, nothing)
}

// applyControllers sets the options that [Controllers] holds, except those
// given as a flag. inFile reports whether the file has a key.
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
			// As many as --concurrent-node-syncs, as upstream.
			opts.NodeController.ConcurrentNodeStatusUpdates = 0
		}
	})
}

// routesOff turns routes off unless a flag requests them: the framework turns
// them on by default, and exits without a cluster CIDR if the provider has
// routes. It reports whether it turned them off.
func routesOff(opts *options.CloudControllerManagerOptions, flags *pflag.FlagSet) bool {
	shared := opts.KubeCloudShared
	if flags.Changed("configure-cloud-routes") || shared.ClusterCIDR != "" {
		return false
	}
	shared.ConfigureCloudRoutes = false

	return true
}
