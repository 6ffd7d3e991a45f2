package main

import (
	"testing"

	cloudprovider "k8s.io/cloud-provider"
	ccmconfig "k8s.io/cloud-provider/config"
)

// FW-CONFIG-12: --concurrent-node-syncs=0 is accepted upstream, and no node is
// ever initialized.
func TestCheckConcurrency(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args []string
		err  string
	}{
		"Defaults":          {nil, ""},
		"NoNodeSyncs":       {[]string{"--concurrent-node-syncs=0"}, "--concurrent-node-syncs must be more than zero, got 0"},
		"NegativeLifecycle": {[]string{"--concurrent-node-lifecycle-syncs=-1"}, "--concurrent-node-lifecycle-syncs must be more than zero, got -1"},
		"NoServiceSyncs":    {[]string{"--concurrent-service-syncs=0"}, "--concurrent-service-syncs must be more than zero"},
		"StatusFollows":     {[]string{"--concurrent-node-status-updates=0"}, ""},
		"NegativeStatus":    {[]string{"--concurrent-node-status-updates=-1"}, "--concurrent-node-status-updates must not be negative"},
		"AllAtOnce":         {[]string{"--concurrent-node-syncs=0", "--concurrent-service-syncs=0"}, "got 0\n--concurrent-service-syncs"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cmd := newStarter(t)
			if err := cmd.Flags().Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			wantError(t, tc.err, checkConcurrency(s.options))
		})
	}
}

// FW-START-9: client-go panics with such durations, and only after the start.
func TestCheckLeaderElection(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		err    string
	}{
		"Defaults": {reason: "they suit each other"},
		"Upstream": {reason: "the defaults of upstream", args: []string{"--leader-elect-retry-period=2s"}},
		"ShortLease": {
			reason: "another process would take the Lease while the leader still renews it", args: []string{"--leader-elect-lease-duration=5s"},
			err: "--leader-elect-lease-duration must be more than --leader-elect-renew-deadline, which is 10s, got 5s",
		},
		"EqualLease": {
			reason: "the same as a shorter one", args: []string{"--leader-elect-lease-duration=10s"},
			err: "--leader-elect-lease-duration must be more than",
		},
		"ShortDeadline": {
			reason: "a retry comes up to 120 percent later", args: []string{"--leader-elect-renew-deadline=1200ms"},
			err: "--leader-elect-renew-deadline must be more than 1.2s, which is 1.2 times --leader-elect-retry-period, got 1.2s",
		},
		"NoRetry":       {reason: "it would never pause", args: []string{"--leader-elect-retry-period=0s"}, err: "--leader-elect-retry-period must be more than zero, got 0s"},
		"NegativeRetry": {reason: "the same", args: []string{"--leader-elect-retry-period=-1s"}, err: "--leader-elect-retry-period must be more than zero, got -1s"},
		"LessThanASecond": {
			reason: "a Lease has whole seconds, and none is not valid",
			args:   []string{"--leader-elect-lease-duration=900ms", "--leader-elect-renew-deadline=600ms", "--leader-elect-retry-period=100ms"},
			err:    "--leader-elect-lease-duration must be at least 1s, got 900ms",
		},
		"Off": {reason: "they have no effect", args: []string{"--leader-elect=false", "--leader-elect-lease-duration=1s"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cmd := newStarter(t)
			if err := cmd.Flags().Parse(append(tc.args, "--cloud-provider="+plainName)); err != nil {
				t.Fatal(err)
			}
			wantError(t, tc.err, s.choose(cmd, nil))
		})
	}
}

// routesCloud is a cloud that may have routes.
type routesCloud struct {
	cloudprovider.Interface

	routes bool
}

func (c routesCloud) Routes() (cloudprovider.Routes, bool) { return nil, c.routes }

// FW-START-9: the framework parses the CIDR when a process leads, and then ends.
func TestCheckClusterCIDR(t *testing.T) {
	t.Parallel()
	const wrong = "--cluster-cidr must be a CIDR, or one of IPv4 and one of IPv6"
	cases := map[string]struct {
		reason, cidr string
		noRoutes     bool
		off          bool
		controllers  []string
		err          string
	}{
		"One":          {reason: "a block", cidr: "10.244.0.0/16"},
		"Two":          {reason: "one of each family", cidr: "10.244.0.0/16,fd00:10::/64"},
		"NoCIDR":       {reason: "routes were requested without one", cidr: "", err: wrong},
		"Text":         {reason: "no block", cidr: "abc", err: wrong + ` with a comma between them, got "abc"`},
		"Address":      {reason: "a mask is missing", cidr: "10.244.0.0", err: wrong},
		"SameFamily":   {reason: "the framework refuses them", cidr: "10.244.0.0/16,10.245.0.0/16", err: wrong},
		"Three":        {reason: "the framework refuses them", cidr: "10.244.0.0/16,fd00:10::/64,fd00:11::/64", err: wrong},
		"NoRoutes":     {reason: "the cloud has none, so that the framework never parses it", cidr: "abc", noRoutes: true},
		"Off":          {reason: "it has no effect", cidr: "abc", off: true},
		"NoController": {reason: "it has no effect", cidr: "abc", controllers: []string{"*", "-node-route-controller"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := ccmconfig.CloudControllerManagerConfiguration{}
			c.KubeCloudShared.ClusterCIDR, c.KubeCloudShared.ConfigureCloudRoutes = tc.cidr, !tc.off
			if c.Generic.Controllers = tc.controllers; tc.controllers == nil {
				c.Generic.Controllers = []string{"*"}
			}
			wantError(t, tc.err, checkClusterCIDR(routesCloud{routes: !tc.noRoutes}, c))
			if t.Failed() {
				t.Log(tc.reason)
			}
		})
	}
}
