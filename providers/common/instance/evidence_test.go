package instance_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// nodeNamed is an old Node with this name and providerID.
func nodeNamed(name, providerID string) *v1.Node {
	node := newNode(providerID)
	node.Name, node.UID = name, types.UID(name)

	return node
}

// wantExists checks InstanceExists of a Node.
func wantExists(t *testing.T, v2 *instance.V2, node *v1.Node, want bool) {
	t.Helper()
	if exists, err := v2.InstanceExists(discardLogs(t), node); exists != want || err != nil {
		t.Errorf("node %s exists %t, %v, want %t", node.Name, exists, err, want)
	}
}

// TestNothingIsGoneBeforeAnythingIsFound (FW-NODE-5): with the configuration of
// another region, account or server every instance is missing. The Nodes are
// kept, which is no error to the controller that checks each of them every five
// seconds.
func TestNothingIsGoneBeforeAnythingIsFound(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	clk := clocktesting.NewFakePassiveClock(epoch)
	s := newSource(instance.Absent(), instance.Absent())
	v2 := instance.New(s, instance.Options{Provider: provider, Clock: clk})
	recorder := record.NewFakeRecorder(100)
	v2.SetRecorder(recorder)
	old, young := nodeNamed("old", ownID), nodeNamed("young", "sim://young")
	young.CreationTimestamp.Time = epoch
	const seconds = 200
	for range seconds / 5 {
		for _, node := range []*v1.Node{old, young} {
			if exists, err := v2.InstanceExists(ctx, node); !exists || err != nil {
				t.Errorf("node %s exists %t, %v", node.Name, exists, err)
			}
		}
		clk.SetTime(clk.Now().Add(5 * time.Second))
	}
	if lines := strings.Count(out.String(), "although its instance is missing"); lines != 2 {
		t.Errorf("%d lines for 2 Nodes:\n%s", lines, out.String())
	}
	if got := kubetest.Events(recorder); len(got) != 1 || !strings.Contains(got[0], "check that the cloud-config names") {
		t.Errorf("events %q", got)
	}
	if got := s.confirms.Load(); got != 2 {
		t.Errorf("%d calls of Confirm for 2 Nodes, which no result could have removed", got)
	}
	clk.SetTime(clk.Now().Add(time.Minute))
	wantExists(t, v2, old, true)
	if got := s.confirms.Load(); got != 3 {
		t.Errorf("%d calls of Confirm: the missing instance is never confirmed again", got)
	}
}

// TestConfirmIsEvidence: the call for one instance alone finds what the shared
// list does not have yet.
func TestConfirmIsEvidence(t *testing.T) {
	t.Parallel()
	s := newSource(instance.Absent(), found(instance.Running))
	v2 := newV2(s)
	wantExists(t, v2, nodeNamed("first", ownID), true)
	s.setResults(instance.Absent(), instance.Absent())
	wantExists(t, v2, nodeNamed("second", "sim://second"), false)
}

// TestAllInstancesReplaced: while no controller ran, every instance of the
// cluster was replaced. The old Nodes are removed once one new instance is
// found.
func TestAllInstancesReplaced(t *testing.T) {
	t.Parallel()
	s := newSource(instance.Absent(), instance.Absent())
	clk := clocktesting.NewFakePassiveClock(epoch)
	v2 := instance.New(s, instance.Options{Provider: provider, Clock: clk})
	nodes := make([]*v1.Node, 5)
	for i := range nodes {
		nodes[i] = nodeNamed(fmt.Sprint("old-", i), fmt.Sprint("sim://old-", i))
		wantExists(t, v2, nodes[i], true)
	}
	// A Node of another cloud is no evidence; a new Node of this one is.
	wantExists(t, v2, nodeNamed("foreign", "aws:///a/i-1"), true)
	wantExists(t, v2, nodes[0], true)
	s.setResults(found(instance.Running), instance.Absent())
	if _, err := v2.InstanceMetadata(discardLogs(t), taint(nodeNamed("new", "sim://new"))); err != nil {
		t.Error(err)
	}
	s.setResults(instance.Absent(), instance.Absent())
	clk.SetTime(clk.Now().Add(instance.DefaultNegativeTTL))
	before := s.confirms.Load()
	for _, node := range nodes {
		wantExists(t, v2, node, false)
	}
	if got := s.confirms.Load() - before; got != int64(len(nodes)) {
		t.Errorf("%d calls of Confirm for %d Nodes that are gone", got, len(nodes))
	}
}

// TestNameIsNoEvidence: two accounts or servers may both have an instance with
// the name or the IP address of a Node.
func TestNameIsNoEvidence(t *testing.T) {
	t.Parallel()
	named := instance.FoundByName(machine{id: "sim://other", state: instance.Running})
	for name, results := range map[string][2]instance.Result{
		"looked up": {named, instance.Absent()},
		"confirmed": {instance.Absent(), named},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSource(results[0], results[1])
			v2 := newV2(s)
			if _, err := v2.InstanceMetadata(discardLogs(t), taint(nodeNamed("other", ""))); err != nil {
				t.Error(err)
			}
			wantExists(t, v2, nodeNamed("other", "sim://other"), true)
			s.setResults(instance.Absent(), instance.Absent())
			wantExists(t, v2, newNode(ownID), true)
		})
	}
}

// TestEvidenceOfAnotherAccount: what was found with the credentials of another
// account proves nothing about the present one.
func TestEvidenceOfAnotherAccount(t *testing.T) {
	t.Parallel()
	clk := clocktesting.NewFakePassiveClock(epoch)
	var since time.Time
	s := newSource(found(instance.Running), instance.Absent())
	v2 := instance.New(s, instance.Options{Provider: provider, Clock: clk, EvidenceSince: func() time.Time { return since }})
	other := nodeNamed("other", "sim://other")
	wantExists(t, v2, other, true)
	since = epoch.Add(time.Minute)
	clk.SetTime(since.Add(-time.Nanosecond))
	wantExists(t, v2, other, true) // from a cache, which still has the other account's instances
	clk.SetTime(since)
	s.setResults(instance.Absent(), instance.Absent())
	wantExists(t, v2, newNode(ownID), true)
	s.setResults(found(instance.Running), instance.Absent())
	wantExists(t, v2, other, true)
	s.setResults(instance.Absent(), instance.Absent())
	wantExists(t, v2, newNode(ownID), false)
}

// help is the help text of a metric.
func help(name string) string {
	all := metrics.All()

	return all[slices.IndexFunc(all, func(m metrics.Metric) bool { return m.Name == name })].Help
}

// TestNodeInstanceFoundMetric: a standby, which looks for no instance, does not
// report that it found none.
func TestNodeInstanceFoundMetric(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := kmetrics.NewKubeRegistry()
		s := newSource(instance.Absent(), instance.Absent())
		v2 := instance.New(s, instance.Options{
			Provider: provider, Clock: clock.RealClock{}, Metrics: metrics.NewSet(registry, clock.RealClock{}).Recorder(provider),
		})
		const name = "multicloud_ccm_node_instance_found"
		want := func(values ...string) {
			t.Helper()
			text := ""
			for _, value := range values {
				text = `
# HELP multicloud_ccm_node_instance_found [ALPHA] ` + help(name) + `
# TYPE multicloud_ccm_node_instance_found gauge
multicloud_ccm_node_instance_found{provider="sim"} ` + value + "\n"
			}
			if err := testutil.GatherAndCompare(registry, strings.NewReader(text), name); err != nil {
				t.Error(err)
			}
		}
		want()
		go v2.Run(t.Context())
		synctest.Wait()
		want("0")
		wantExists(t, v2, newNode(ownID), true)
		want("0")
		s.setResults(found(instance.Running), instance.Absent())
		wantExists(t, v2, newNode(ownID), true)
		want("1")
	})
}
