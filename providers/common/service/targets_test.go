package service

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// FW-METRIC-6: targets are added up over Services, each as of its last operation that has chosen some.
func TestCountTargets(t *testing.T) {
	t.Parallel()
	registry := kmetrics.NewKubeRegistry()
	r := NewReconciler[int](time.Minute)
	choose := func(svc *v1.Service, count int, limit targets.Limit) {
		t.Helper()
		subset, err := targets.New(svc, nil, nil, time.Time{}, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		candidates := make([]string, count)
		targets.Choose(subset, candidates, func(name string) string { return name }, func(string) bool { return false }, limit)
		r.CountTargets(svc, subset)
	}
	a, b, local := kubetest.Service("default", "a", kubetest.ServiceUID("a")), kubetest.Service("default", "b", kubetest.ServiceUID("b")), kubetest.Service("default", "c", kubetest.ServiceUID("c"))
	local.Spec.ExternalTrafficPolicy = v1.ServiceExternalTrafficPolicyLocal
	choose(a, 1, targets.Limit{}) // nothing is measured yet
	r.Measure(metrics.NewSet(registry, clock.RealClock{}).Recorder("aws"))
	choose(a, 3, targets.Limit{})
	choose(b, 4, targets.Limit{PerZone: 250, Zones: []string{"a", "b"}, Total: 700})
	choose(b, 5, targets.Limit{PerZone: 250, Zones: []string{"a", "b"}, Total: 700})
	choose(local, 7, targets.Limit{Total: 9})
	none, err := targets.New(a, nil, nil, time.Time{}, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	r.CountTargets(a, none)
	want := func(cluster, registered, quota string) {
		t.Helper()
		text := strings.NewReplacer("1?", cluster, "2?", registered, "3?", quota).Replace(`
# HELP multicloud_ccm_targets [ALPHA] Nodes behind load balancers, the sum of all Services after the last sync of each that succeeded: those that Services want, those that are registered, and how many the default quotas of the cloud permit, 0 where there are none. Only the leader reports it.
# TYPE multicloud_ccm_targets gauge
multicloud_ccm_targets{external_traffic_policy="Cluster",provider="aws",state="quota"} 3?
multicloud_ccm_targets{external_traffic_policy="Cluster",provider="aws",state="registered"} 2?
multicloud_ccm_targets{external_traffic_policy="Cluster",provider="aws",state="wanted"} 1?
multicloud_ccm_targets{external_traffic_policy="Local",provider="aws",state="quota"} 9
multicloud_ccm_targets{external_traffic_policy="Local",provider="aws",state="registered"} 7
multicloud_ccm_targets{external_traffic_policy="Local",provider="aws",state="wanted"} 7
`)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), "multicloud_ccm_targets"); err != nil {
			t.Error(err)
		}
	}
	want("8", "8", "500")
	r.Forget(b)
	want("3", "3", "0")
}
