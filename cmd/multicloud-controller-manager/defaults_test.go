package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cloud-provider/options"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// effective are the options that [Controllers] sets.
type effective struct {
	nodes, status, lifecycle, services, burst int32
	qps                                       float32
}

func effectiveIn(opts *options.CloudControllerManagerOptions) effective {
	return effective{
		nodes:     opts.NodeController.ConcurrentNodeSyncs,
		status:    opts.NodeController.ConcurrentNodeStatusUpdates,
		lifecycle: opts.NodeLifecycleController.ConcurrentNodeLifecycleSyncs,
		services:  opts.ServiceController.ConcurrentServiceSyncs,
		qps:       opts.Generic.ClientConnection.QPS,
		burst:     opts.Generic.ClientConnection.Burst,
	}
}

// FW-CONFIG-12: the flag, then [Controllers], then our default.
func TestApplyControllers(t *testing.T) {
	t.Parallel()
	ours := effective{nodes: 20, status: 20, lifecycle: 10, services: 10, qps: -1, burst: 200}
	file := config.Controllers{
		ConcurrentNodeSyncs: new(int32(1)), ConcurrentNodeStatusUpdates: new(int32(2)), ConcurrentNodeLifecycleSyncs: new(int32(3)),
		ConcurrentServiceSyncs: new(int32(4)), KubeAPIQPS: new(float32(5)), KubeAPIBurst: new(int32(6)),
	}
	all := []string{
		"--concurrent-node-syncs=11", "--concurrent-node-status-updates=12", "--concurrent-node-lifecycle-syncs=13",
		"--concurrent-service-syncs=14", "--kube-api-qps=15", "--kube-api-burst=16",
	}
	cases := map[string]struct {
		reason string
		file   config.Controllers
		args   []string
		want   effective
	}{
		"Ours":  {reason: "nothing is given", file: config.NewSettings().Controllers, want: ours},
		"File":  {reason: "the file wins over ours", file: file, want: effective{nodes: 1, status: 2, lifecycle: 3, services: 4, qps: 5, burst: 6}},
		"Flags": {reason: "flags win over the file", file: file, args: all, want: effective{nodes: 11, status: 12, lifecycle: 13, services: 14, qps: 15, burst: 16}},
		"OneFlag": {
			reason: "each flag by itself, the file for keys without a flag",
			file:   file, args: []string{"--concurrent-node-syncs=11"},
			want: effective{nodes: 11, status: 2, lifecycle: 3, services: 4, qps: 5, burst: 6},
		},
		"StatusFollowsFlag": {
			reason: "status updates follow the flag for node syncs where nothing sets them, as upstream",
			file:   config.NewSettings().Controllers, args: []string{"--concurrent-node-syncs=11"},
			want: func() effective {
				e := ours
				e.nodes, e.status = 11, 0

				return e
			}(),
		},
		"DefaultAsFlag": {
			reason: "a flag counts even if it sets the default",
			file:   file, args: []string{"--concurrent-node-lifecycle-syncs=10"},
			want: effective{nodes: 1, status: 2, lifecycle: 10, services: 4, qps: 5, burst: 6},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cmd := newStarter(t)
			if err := cmd.Flags().Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			applyControllers(s.options, tc.file, cmd.Flags().Changed, func(string) bool { return tc.file == file })
			if diff := cmp.Diff(tc.want, effectiveIn(s.options), cmp.AllowUnexported(effective{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestStatusUpdatesOfTheFile: a value in the file counts, even if it is the default.
func TestStatusUpdatesOfTheFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		file string
		want int32
	}{
		"default in the file": {"[Controllers]\nconcurrent-node-status-updates = 20\n", 20},
		"other in the file":   {"[Controllers]\nconcurrent-node-status-updates = 7\n", 7},
		"other key":           {"[Controllers]\nconcurrent-service-syncs = 7\n", 0},
		"no file":             {"", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cmd := newStarter(t)
			args := []string{"--cloud-provider=" + plainName, "--concurrent-node-syncs=11"}
			if tc.file != "" {
				args = append(args, "--cloud-config="+configFile(t, tc.file))
			}
			if err := cmd.Flags().Parse(args); err != nil {
				t.Fatal(err)
			}
			if err := s.choose(cmd, nil); err != nil {
				t.Fatal(err)
			}
			if got := effectiveIn(s.options).status; got != tc.want {
				t.Errorf("%d status updates at once, want %d", got, tc.want)
			}
		})
	}
}

// Our defaults are those that --help shows, and none of them counts as given.
func TestSetDefaults(t *testing.T) {
	t.Parallel()
	_, cmd := newStarter(t)
	for flag, want := range map[string]string{"concurrent-node-syncs": "20", "kube-api-qps": "-1", "leader-elect-retry-period": "1s"} {
		if got := cmd.Flags().Lookup(flag); got.DefValue != want || got.Changed {
			t.Errorf("--%s: default %s, given %t; want %s", flag, got.DefValue, got.Changed, want)
		}
	}
}

// FW-CONFIG-13: the cloud-config alone switches providers, so that flags must
// suit all of them.
func TestRoutesOff(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		args   []string
		on     bool
		off    bool
	}{
		"Neither":     {reason: "no flag requests routes", off: true},
		"CIDR":        {reason: "a CIDR requests routes", args: []string{"--cluster-cidr=10.0.0.0/8"}, on: true},
		"On":          {reason: "the user's choice, though not every provider supports it", args: []string{"--configure-cloud-routes"}, on: true},
		"Off":         {reason: "the user's choice", args: []string{"--configure-cloud-routes=false"}},
		"OffWithCIDR": {reason: "the user's choice", args: []string{"--configure-cloud-routes=false", "--cluster-cidr=10.0.0.0/8"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, cmd := newStarter(t)
			if err := cmd.Flags().Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if off := routesOff(s.options, cmd.Flags()); off != tc.off {
				t.Errorf("%s: turned off %t, want %t", tc.reason, off, tc.off)
			}
			if on := s.options.KubeCloudShared.ConfigureCloudRoutes; on != tc.on {
				t.Errorf("%s: routes are on: %t, want %t", tc.reason, on, tc.on)
			}
		})
	}
}
