package instance_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/testutil"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// TestKeptNodeIsLoggedOnce: the lifecycle controller asks every five seconds and
// logs every error. A Node that is kept is no error to it.
func TestKeptNodeIsLoggedOnce(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		opts   instance.Options
		change func(*v1.Node)
		events int
	}{
		"young":         {"it may not be visible yet, which passes", instance.Options{}, func(n *v1.Node) { n.CreationTimestamp.Time = epoch }, 0},
		"no providerID": {"only the user can delete it", instance.Options{}, func(n *v1.Node) { n.Spec.ProviderID = "" }, 1},
		"deletion off":  {"only the user can delete it", instance.Options{KeepMissing: true}, func(*v1.Node) {}, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
			clk := clocktesting.NewFakePassiveClock(epoch)
			tc.opts.Provider, tc.opts.Clock = provider, clk
			s := newSource(instance.Absent(), instance.Absent())
			v2 := instance.New(s, tc.opts)
			prove(t, v2, s)
			recorder := record.NewFakeRecorder(100)
			v2.SetRecorder(recorder)
			node := newNode(ownID)
			tc.change(node)
			for range 30 {
				if exists, err := v2.InstanceExists(ctx, node); !exists || err != nil {
					t.Errorf("%s: exists %t, %v", tc.reason, exists, err)
				}
				if shutdown, err := v2.InstanceShutdown(ctx, node); shutdown || err != nil {
					t.Errorf("%s: shutdown %t, %v", tc.reason, shutdown, err)
				}
				clk.SetTime(clk.Now().Add(5 * time.Second))
			}
			if lines := strings.Count(out.String(), "although its instance is missing"); lines != 1 {
				t.Errorf("%s: %d lines:\n%s", tc.reason, lines, out.String())
			}
			if got := drain(recorder); len(got) != tc.events {
				t.Errorf("%s: events %q", tc.reason, got)
			}
		})
	}
}

// TestTerminatedIsGoneAtAnyAge: what the cloud lists as terminated is not merely
// invisible, whether the shared list or the call for it alone says so.
func TestTerminatedIsGoneAtAnyAge(t *testing.T) {
	t.Parallel()

	terminated := found(instance.Terminated)
	for name, s := range map[string]*source{
		"both":           newSource(terminated, terminated),
		"then forgotten": newSource(terminated, instance.Absent()),
		"only confirmed": newSource(instance.Absent(), terminated),
		"certainly gone": newSource(instance.Absent(), instance.Gone()),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v2 := newV2(s)
			prove(t, v2, s)
			node := taint(newNode(ownID))
			node.CreationTimestamp.Time = epoch
			if exists, err := v2.InstanceExists(quiet(t), node); exists || err != nil {
				t.Errorf("exists %t, %v", exists, err)
			}
		})
	}
}

// TestNothingIsGoneBeforeAnythingIsFound: with the configuration of another
// region, account or server every instance is missing.
func TestNothingIsGoneBeforeAnythingIsFound(t *testing.T) {
	t.Parallel()

	registry := kmetrics.NewKubeRegistry()
	s := newSource(instance.Absent(), instance.Absent())
	clk := clocktesting.NewFakePassiveClock(epoch)
	v2 := instance.New(s, instance.Options{Provider: provider, Clock: clk, Metrics: metrics.NewSet(registry, clock.RealClock{}).Recorder(provider)})
	recorder := record.NewFakeRecorder(100)
	v2.SetRecorder(recorder)
	wantMetric := func(value string) {
		t.Helper()
		text := `
# HELP multicloud_ccm_node_instance_found [ALPHA] 1 once the instance of at least one Node was found since the start, otherwise 0. While it is 0, a missing instance deletes no Node: the region, account or server may be the wrong one.
# TYPE multicloud_ccm_node_instance_found gauge
multicloud_ccm_node_instance_found{provider="sim"} ` + value + "\n"
		if err := testutil.GatherAndCompare(registry, strings.NewReader(text), "multicloud_ccm_node_instance_found"); err != nil {
			t.Error(err)
		}
	}

	wantMetric("0")
	for range 3 {
		exists, err := v2.InstanceExists(quiet(t), newNode(ownID))
		if exists || instance.ReasonOf(err) != instance.ReasonNoInstanceFound {
			t.Errorf("exists %t, %v", exists, err)
		}
	}
	if got := drain(recorder); len(got) != 1 || !strings.Contains(got[0], "check that the cloud-config names") {
		t.Errorf("events %q", got)
	}

	// A Node of another cloud proves nothing; a new Node of this one does.
	if _, err := v2.InstanceExists(quiet(t), newNode("aws:///a/i-1")); err != nil {
		t.Error(err)
	}
	wantMetric("0")
	s.answer(found(instance.Running), instance.Absent())
	joined := taint(newNode(""))
	joined.Name, joined.CreationTimestamp.Time = "joined", epoch
	if _, err := v2.InstanceMetadata(quiet(t), joined); err != nil {
		t.Error(err)
	}
	wantMetric("1")
	s.answer(instance.Absent(), instance.Absent())
	clk.SetTime(clk.Now().Add(instance.DefaultNegativeTTL))
	if exists, err := v2.InstanceExists(quiet(t), newNode(ownID)); exists || err != nil {
		t.Errorf("after a Node joined: exists %t, %v", exists, err)
	}
}

// TestFailedProvesNothing: neither an error nor a missing instance is evidence.
func TestFailedProvesNothing(t *testing.T) {
	t.Parallel()

	s := newSource(instance.Failed(errCloud), instance.Absent())
	v2 := newV2(s)
	if _, err := v2.InstanceExists(quiet(t), newNode(ownID)); !errors.Is(err, errCloud) {
		t.Error(err)
	}
	s.lookup = func(context.Context, []instance.Ref) []instance.Result { return one(instance.Absent()) }
	for _, missing := range []instance.Result{instance.Absent(), instance.Gone()} {
		s.confirm = func(context.Context, instance.Ref) instance.Result { return missing }
		if exists, err := v2.InstanceExists(quiet(t), newNode("sim://"+missing.String())); exists || err == nil {
			t.Errorf("exists %t, %v", exists, err)
		}
	}
}
