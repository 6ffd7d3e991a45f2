package instance_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// lostCluster is a cluster whose instances are all missing, except that of one Node that is ready.
type lostCluster struct {
	t        *testing.T
	clock    *clocktesting.FakePassiveClock
	source   *source
	v2       *instance.V2
	recorder *record.FakeRecorder
	nodes    []*v1.Node
	// deleted is the time of each deletion.
	deleted []time.Time
}

func newLostCluster(t *testing.T, nodes int, limit *int32) *lostCluster {
	t.Helper()
	c := &lostCluster{
		t: t, clock: clocktesting.NewFakePassiveClock(epoch), source: newSource(instance.Absent(), instance.Absent()),
		recorder: record.NewFakeRecorder(10_000),
	}
	for i := range nodes {
		name := fmt.Sprintf("node-%d", i)
		c.nodes = append(c.nodes, nodeNamed(name, "sim://"+name))
	}
	c.v2 = instance.New(c.source, instance.Options{
		Provider: provider, Clock: c.clock, DeletionLimit: limit, Nodes: func() int { return len(c.nodes) },
	})
	c.v2.SetRecorder(c.recorder)
	prove(t, c.v2, c.source)

	return c
}

// pass looks up all Nodes as the lifecycle controller does, and returns how many are held back.
func (c *lostCluster) pass() (held int) {
	c.t.Helper()
	var kept []*v1.Node
	for _, node := range c.nodes {
		exists, err := c.v2.InstanceExists(discardLogs(c.t), node)
		switch {
		case exists:
			c.t.Errorf("%s exists", node.Name)
		case err != nil && instance.ReasonOf(err) != instance.ReasonDeletionHeld:
			c.t.Error(err)
		case err != nil:
			held++
			kept = append(kept, node)
		default:
			c.deleted = append(c.deleted, c.clock.Now())
		}
	}
	c.nodes = kept
	c.clock.SetTime(c.clock.Now().Add(5 * time.Second))

	return held
}

// TestMassDeletion (FW-NODE-15): if many instances are gone at once, no more Nodes are deleted
// within ten minutes than the limit allows. All are in the end. Without a limit, all are at once.
func TestMassDeletion(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason       string
		nodes        int
		limit        *int32
		first, after int // deletions at once, and the time until the last one in minutes
	}{
		"small cluster": {"20 Nodes by default", 50, nil, 20, 20},
		"large cluster": {"a fifth of all Nodes by default, as many as there were before", 200, nil, 40, 0},
		"limit":         {"of the cloud-config", 50, new(int32(7)), 7, 70},
		"no limit":      {"all at once, which the limit prevents", 200, new(int32(0)), 200, 0},
		"few":           {"the limit is of no effect", 20, nil, 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newLostCluster(t, tc.nodes, tc.limit)
			if held := c.pass(); held != tc.nodes-tc.first || len(c.deleted) != tc.first {
				t.Fatalf("%s: %d are held back, %d deleted, want %d", tc.reason, held, len(c.deleted), tc.first)
			}
			for len(c.nodes) > 0 && c.clock.Since(epoch) < 5*time.Hour {
				c.pass()
			}
			if len(c.nodes) > 0 {
				t.Errorf("%d Nodes are not deleted", len(c.nodes))
			}
			if tc.limit != nil && *tc.limit == 0 {
				return
			}
			for i, at := range c.deleted[min(len(c.deleted), tc.first):] {
				if since := at.Sub(c.deleted[i]); since < 10*time.Minute {
					t.Fatalf("deletion %d is %s after deletion %d", i+tc.first, since, i)
				}
			}
			if last := c.deleted[len(c.deleted)-1].Sub(epoch); tc.after > 0 && last > time.Duration(tc.after)*time.Minute+time.Minute {
				t.Errorf("the last one is deleted after %s", last)
			}
		})
	}
}

// TestDeletionIsGrantedOnce (FW-NODE-15): a Node that cannot be deleted takes no place of another one,
// however long that lasts, and one of the same name is another one.
func TestDeletionIsGrantedOnce(t *testing.T) {
	t.Parallel()
	c := newLostCluster(t, 0, new(int32(2)))
	for range 300 {
		wantExists(t, c.v2, nodeNamed("stuck", ownID), false)
		c.clock.SetTime(c.clock.Now().Add(5 * time.Second))
	}
	wantExists(t, c.v2, nodeNamed("a", ownID), false)
	wantExists(t, c.v2, nodeNamed("b", ownID), false)
	wantExists(t, c.v2, nodeNamed("stuck", ownID), false)
	again := nodeNamed("stuck", ownID)
	again.UID = types.UID("another one")
	if _, err := c.v2.InstanceExists(discardLogs(t), again); instance.ReasonOf(err) != instance.ReasonDeletionHeld {
		t.Errorf("another Node of the same name: %v", err)
	}
	if got := len(c.v2.Decisions()); got != 4 {
		t.Errorf("%d decisions, want one for each Node", got)
	}
}

// TestHoldIsReportedOnce (FW-NODE-15, FW-METRIC-4): a Node that is held back has one Event, and counts
// in the metric until it is deleted, its instance is found, or nothing looks for it any more.
func TestHoldIsReportedOnce(t *testing.T) {
	t.Parallel()
	c := newLostCluster(t, 0, new(int32(1)))
	registry := kmetrics.NewKubeRegistry()
	c.v2 = instance.New(c.source, instance.Options{
		Provider: provider, Clock: c.clock, DeletionLimit: new(int32(1)), Metrics: metrics.NewSet(registry, c.clock).Recorder(provider),
	})
	c.v2.SetRecorder(c.recorder)
	prove(t, c.v2, c.source)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.v2.Run(ctx)
	const count, age = "multicloud_ccm_node_deletions_held", "multicloud_ccm_node_deletions_held_oldest_age_seconds"
	want := func(reason string, held, oldest int) {
		t.Helper()
		text := fmt.Sprintf("# HELP %[1]s [ALPHA] %[2]s\n# TYPE %[1]s gauge\n%[1]s{provider=\"sim\"} %[3]d\n# HELP %[4]s [ALPHA] %[5]s\n# TYPE %[4]s gauge\n%[4]s{provider=\"sim\"} %[6]d\n",
			count, help(count), held, age, help(age), oldest)
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), count, age); err != nil {
			t.Errorf("%s: %v", reason, err)
		}
	}
	want("nothing is held back", 0, 0)
	wantExists(t, c.v2, nodeNamed("first", "sim://first"), false)
	names := []string{"a", "b", "c"}
	look := func(names ...string) {
		for _, name := range names {
			_, err := c.v2.InstanceExists(discardLogs(t), nodeNamed(name, "sim://"+name))
			if got := instance.ReasonOf(err); got != instance.ReasonDeletionHeld {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	for range 60 { // five minutes, which is longer than other Events are not repeated
		look(names...)
		c.clock.SetTime(c.clock.Now().Add(5 * time.Second))
	}
	want("three are held back", 3, 300)
	events := kubetest.Events(c.recorder)
	mustEqual(t, "events", []string{
		"Warning DeletionHeld the instance is gone, and the Node is kept for now, since 1 Nodes were deleted in 10m0s: check that their machines are gone, " +
			"or raise [NodeDeletion] limit in the cloud-config",
	}, events[:1])
	if len(events) != len(names) {
		t.Errorf("%d Events for %d Nodes", len(events), len(names))
	}
	c.source.lookup = func(context.Context, instance.Ref) instance.Result { return found(instance.Running) }
	wantExists(t, c.v2, nodeNamed("a", "sim://a"), true)
	want("one is found", 2, 300)
	c.source.lookup = func(context.Context, instance.Ref) instance.Result { return instance.Absent() }
	for range 36 {
		look("b")
		c.clock.SetTime(c.clock.Now().Add(5 * time.Second))
	}
	want("nothing looks for one", 1, 480)
	c.clock.SetTime(epoch.Add(9 * time.Minute))
	look("b")
	c.clock.SetTime(epoch.Add(10 * time.Minute))
	wantExists(t, c.v2, nodeNamed("b", "sim://b"), false)
	want("the last one is deleted", 0, 0)
}

// TestDecisions (FW-NODE-16): the ledger has each deletion and each hold, with what the cloud returned
// and when. It has the last ones, however many there are.
func TestDecisions(t *testing.T) {
	t.Parallel()
	c := newLostCluster(t, 0, new(int32(3)))
	results := map[string]instance.Result{
		"named":      instance.Absent().From("vc1", "no VM has the UUID").From("vc2", "no VM has the UUID"),
		"terminated": found(instance.Terminated),
		"plain":      instance.Absent(),
		"held":       instance.Gone().From("eu", "deleted"),
	}
	var want []instance.Decision
	for i, name := range []string{"named", "terminated", "plain", "held"} {
		c.source.confirm = func(context.Context, instance.Ref) instance.Result { return results[name] }
		node := nodeNamed(name, "sim://"+name)
		for range 2 { // what is confirmed again within seconds is that of the first time
			if exists, err := c.v2.InstanceExists(discardLogs(t), node); exists || (err != nil) != (name == "held") {
				t.Errorf("%s: exists %t, %v", name, exists, err)
			}
		}
		now := c.clock.Now()
		reports := map[string][]instance.Report{
			"named":      {{Place: "vc1", Said: "no VM has the UUID", Time: now}, {Place: "vc2", Said: "no VM has the UUID", Time: now}},
			"terminated": {{Place: provider, Said: "found sim://one, Terminated", Time: now}},
			"plain":      {{Place: provider, Said: "absent", Time: now}},
			"held":       {{Place: "eu", Said: "deleted", Time: now}},
		}
		want = append(want, instance.Decision{
			Time: now, Node: name, UID: types.UID(name), Instance: "sim://" + name, RequestedBy: "cloud-node-lifecycle-controller",
			Held: name == "held", Deletions: min(i+1, 3), Limit: 3, Reports: reports[name],
		})
		c.clock.SetTime(now.Add(time.Minute))
	}
	mustEqual(t, "the ledger", want, c.v2.Decisions())

	c = newLostCluster(t, 5000, new(int32(0)))
	c.pass()
	all := c.v2.Decisions()
	if first, last := all[0].Node, all[len(all)-1].Node; len(all) != 4096 || first != "node-904" || last != "node-4999" {
		t.Errorf("%d decisions, from %s to %s", len(all), first, last)
	}
}
