package config_test

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

func TestSettingsValidate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		text   string
		want   []string
	}{
		"defaults": {"work", "", nil},
		"all zero": {
			reason: "with 0 workers no node is ever initialized; all are reported",
			text:   "[Controllers]\nconcurrent-node-syncs = 0\nconcurrent-node-status-updates = -1\nconcurrent-node-lifecycle-syncs = 0\nconcurrent-service-syncs = 0\nkube-api-qps = 0\nkube-api-burst = 0\n",
			want: []string{
				"error: cloud.conf:2:1: [Controllers] concurrent-node-syncs: must be a number above zero, got 0",
				"error: cloud.conf:3:1: [Controllers] concurrent-node-status-updates: must be a number above zero, got -1",
				"error: cloud.conf:4:1: [Controllers] concurrent-node-lifecycle-syncs: must be a number above zero, got 0",
				"error: cloud.conf:5:1: [Controllers] concurrent-service-syncs: must be a number above zero, got 0",
				"error: cloud.conf:6:1: [Controllers] kube-api-qps: must be a number above zero, got 0",
				"error: cloud.conf:7:1: [Controllers] kube-api-burst: must be a number above zero, got 0",
			},
		},
		"negative limit": {
			reason: "it is no number of Nodes",
			text:   "[NodeDeletion]\nlimit = -1\n",
			want:   []string{"error: cloud.conf:2:1: [NodeDeletion] limit: must not be negative, got -1"},
		},
		"no limit": {"0 means none", "[NodeDeletion]\nlimit = 0\n", nil},
		"no numbers": {
			reason: "floats have special values",
			text:   "controllers:\n  kubeApiQps: NaN\n",
			want:   []string{"error: cloud.conf:2:3: controllers.kubeApiQps: must be a number above zero, got NaN"},
		},
		"infinite": {
			reason: "floats have special values",
			text:   "controllers:\n  kubeApiQps: +Inf\n",
			want:   []string{"error: cloud.conf:2:3: controllers.kubeApiQps: must be a number above zero, got +Inf"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, settings := parse(t, tc.text), config.NewSettings()
			compare(t, "decode", []string(nil), describe(file.Decode(config.Schema{}, settings)))
			compare(t, tc.reason, tc.want, describe(settings.Validate(file)))
		})
	}
}

func TestSettingsDecode(t *testing.T) {
	t.Parallel()
	texts := map[string]string{
		"INI": "[Global]\nprovider = aws\n[Multicloud]\nstrict\n[NodeDeletion]\nby-name = true\nlimit = 50\n[Controllers]\n" +
			"concurrent-node-syncs = 1\nconcurrent-node-status-updates = 2\nconcurrent-node-lifecycle-syncs = 3\nconcurrent-service-syncs = 4\nkube-api-qps = 5.5\nkube-api-burst = 6\n",
		"YAML": "global: {provider: aws}\nmulticloud: {strict: true}\nnodeDeletion: {byName: yes, limit: 50}\ncontrollers: {concurrentNodeSyncs: 1, concurrentNodeStatusUpdates: 2, " +
			"concurrentNodeLifecycleSyncs: 3, concurrentServiceSyncs: 4, kubeApiQps: 5.5, kubeApiBurst: 6}\n",
	}
	want := config.NewSettings()
	want.Global.Provider = "aws"
	want.Multicloud.Strict = true
	want.NodeDeletion.ByName = true
	want.NodeDeletion.Limit = new(int32(50))
	want.Controllers = config.Controllers{
		ConcurrentNodeSyncs: new(int32(1)), ConcurrentNodeStatusUpdates: new(int32(2)), ConcurrentNodeLifecycleSyncs: new(int32(3)),
		ConcurrentServiceSyncs: new(int32(4)), KubeAPIQPS: new(float32(5.5)), KubeAPIBurst: new(int32(6)),
	}
	for name, text := range texts {
		got := config.NewSettings()
		compare(t, name, []string(nil), describe(parse(t, text).Decode(config.Schema{}, got)))
		compare(t, name, want, got)
	}
	bad := parse(t, "[Controllers]\nkube-api-burst = 99999999999\nconcurrent-node-syncs = 1.5\n")
	compare(t, "numbers that do not fit", []string{
		`error: cloud.conf:2:1: [Controllers] kube-api-burst: "99999999999" must be a whole number up to 2147483647`,
		`error: cloud.conf:3:1: [Controllers] concurrent-node-syncs: "1.5" must be a whole number up to 2147483647`,
	}, describe(bad.Decode(config.Schema{}, config.NewSettings())))
}
