package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	cloudproviderapi "k8s.io/cloud-provider/api"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// TestReportWaiting shows FW-METRIC-4: the gauges follow the informer, without a request at a scrape, and
// there is none before the informer has its Nodes.
func TestReportWaiting(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	taint := v1.Taint{Key: cloudproviderapi.TaintExternalCloudProvider, Value: "true", Effect: v1.TaintEffectNoSchedule}
	client := kubetest.NewClientset(
		kubetest.Node("initialized", kubetest.CreatedAt(now.Add(-time.Hour))),
		kubetest.Node("other-taint", kubetest.CreatedAt(now.Add(-time.Hour)), kubetest.Taint(v1.Taint{Key: "a", Value: "true", Effect: v1.TaintEffectNoSchedule})),
		kubetest.Node("young", kubetest.Tainted(), kubetest.CreatedAt(now.Add(-10*time.Second))),
		kubetest.Node("old", kubetest.Tainted(), kubetest.CreatedAt(now.Add(-2*time.Minute))),
	)
	shared := informers.NewSharedInformerFactory(client, 0)
	nodes := shared.Core().V1().Nodes().Informer()
	registry := kmetrics.NewKubeRegistry()
	set := metrics.NewSet(registry, clocktesting.NewFakePassiveClock(now))
	if err := reportWaiting(nodes, set.Recorder("aws")); err != nil {
		t.Fatal(err)
	}
	want := func(text string) error {
		return testutil.GatherAndCompare(registry, strings.NewReader(text), "multicloud_ccm_nodes_waiting", "multicloud_ccm_nodes_waiting_oldest_age_seconds")
	}
	if err := want(""); err != nil {
		t.Errorf("before the informer is synced: %v", err)
	}
	shared.Start(t.Context().Done())
	shared.WaitForCacheSync(t.Context().Done())
	calls := len(client.Actions())

	steps := []struct {
		reason string
		change *v1.Node
		count  int
		age    int
	}{
		{"at the start", nil, 2, 120},
		{"the oldest is initialized", kubetest.Node("old", kubetest.CreatedAt(now.Add(-2*time.Minute))), 1, 10},
		{"a taint with a time", func() *v1.Node {
			late := taint
			late.TimeAdded = &metav1.Time{Time: now.Add(-time.Minute)}

			return kubetest.Node("initialized", kubetest.CreatedAt(now.Add(-time.Hour)), kubetest.Taint(late))
		}(), 2, 60},
		{"a taint that was added by hand counts from the creation", kubetest.Node("other-taint", kubetest.CreatedAt(now.Add(-time.Hour)), kubetest.Tainted()), 3, 3600},
	}
	for _, step := range steps {
		if step.change != nil {
			if err := nodes.GetStore().Update(step.change); err != nil {
				t.Fatal(err)
			}
		}
		if err := want(waitingText(step.count, step.age)); err != nil {
			t.Errorf("%s: %v", step.reason, err)
		}
	}
	if now := len(client.Actions()); now != calls {
		t.Errorf("the scrapes made %d requests", now-calls)
	}
	if err := reportWaiting(nodes, set.Recorder("aws")); err == nil {
		t.Error("the index was added twice")
	}
}

// waitingText is the text form of the gauges.
func waitingText(count, age int) string {
	return fmt.Sprintf(`
# HELP multicloud_ccm_nodes_waiting [ALPHA] Nodes that wait for their initialization: they have the taint node.cloudprovider.kubernetes.io/uninitialized. Only the leader reports it.
# TYPE multicloud_ccm_nodes_waiting gauge
multicloud_ccm_nodes_waiting{provider="aws"} %d
# HELP multicloud_ccm_nodes_waiting_oldest_age_seconds [ALPHA] How long the Node that waits longest has been waiting for its initialization, 0 if there is none. A taint without a time counts from the creation of its Node. Only the leader reports it.
# TYPE multicloud_ccm_nodes_waiting_oldest_age_seconds gauge
multicloud_ccm_nodes_waiting_oldest_age_seconds{provider="aws"} %d
`, count, age)
}
