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
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestKeptNodeIsLoggedOnce (FW-NODE-3): the lifecycle controller asks every five
// seconds and logs every error. A Node that is kept is no error to it.
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
		"young without providerID": {"it may get one soon", instance.Options{}, func(n *v1.Node) {
			n.Spec.ProviderID, n.CreationTimestamp.Time = "", epoch
		}, 0},
		"young, deletion off": {"it may not be visible yet, which passes", instance.Options{KeepMissing: true}, func(n *v1.Node) {
			n.CreationTimestamp.Time = epoch
		}, 0},
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
			if got := kubetest.Events(recorder); len(got) != tc.events {
				t.Errorf("%s: events %q", tc.reason, got)
			}
		})
	}
}

// TestTerminatedIsGoneAtAnyAge (FW-NODE-4): what the cloud lists as terminated is
// not merely invisible, in the shared list as in the call for it alone.
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
			if exists, err := v2.InstanceExists(discardLogs(t), node); exists || err != nil {
				t.Errorf("exists %t, %v", exists, err)
			}
		})
	}
}

// TestFailedProvesNothing: neither an error nor a missing instance is evidence.
func TestFailedProvesNothing(t *testing.T) {
	t.Parallel()

	s := newSource(instance.Failed(errCloud), instance.Absent())
	v2 := newV2(s)
	if _, err := v2.InstanceExists(discardLogs(t), newNode(ownID)); !errors.Is(err, errCloud) {
		t.Error(err)
	}
	s.lookup = func(context.Context, instance.Ref) instance.Result { return instance.Absent() }
	for _, missing := range []instance.Result{instance.Absent(), instance.Gone()} {
		s.confirm = func(context.Context, instance.Ref) instance.Result { return missing }
		if exists, err := v2.InstanceExists(discardLogs(t), newNode("sim://"+missing.String())); !exists || err != nil {
			t.Errorf("exists %t, %v", exists, err)
		}
	}
}

// TestMissingIsKept: an instance that may come back does not make its Node gone,
// and the Source is called again soon.
func TestMissingIsKept(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
	clk := clocktesting.NewFakePassiveClock(epoch)
	s := newSource(instance.Absent(), instance.Absent())
	v2 := instance.New(s, instance.Options{Provider: provider, Clock: clk})
	prove(t, v2, s)
	s.confirm = func(context.Context, instance.Ref) instance.Result {
		return instance.Missing(errors.New("missing for less than 1m0s"))
	}
	node := newNode(ownID)
	for range 12 {
		if exists, err := v2.InstanceExists(ctx, node); !exists || err != nil {
			t.Fatalf("exists %t, %v, want true", exists, err)
		}
		clk.SetTime(clk.Now().Add(5 * time.Second))
	}
	if lines := strings.Count(out.String(), "missing for less than 1m0s"); lines != 1 {
		t.Errorf("%d lines, want 1:\n%s", lines, out.String())
	}
	s.confirm = func(context.Context, instance.Ref) instance.Result { return instance.Absent() }
	if exists, err := v2.InstanceExists(ctx, node); exists || err != nil {
		t.Errorf("exists %t, %v, want false as soon as the result of 5 s ago has expired", exists, err)
	}
}
