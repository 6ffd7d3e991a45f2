package instance

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// uninitialized returns a Node with the taint of the cloud.
func uninitialized(name string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}},
		Status:     v1.NodeStatus{Images: []v1.ContainerImage{{}}},
	}
}

// started returns a waiting with a function that counts what it requeues.
func started() (*waiting, map[string]int) {
	requeued := map[string]int{}
	w := newWaiting(clock.RealClock{})
	w.requeue = func(nodeName string) { requeued[nodeName]++ }

	return w, requeued
}

// TestWhatWaits (FW-NODE-10): only an error that means that the cloud did not
// respond makes a Node wait. Anything else is the outcome, which queues the Node
// again and is returned once.
func TestWhatWaits(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		err   error
		waits bool
	}{
		"works":       {nil, false},
		"not found":   {apierr.ErrNotFound, false},
		"conflict":    {apierr.ErrConflict, false},
		"invalid":     {apierr.ErrInvalid, false},
		"not marked":  {errors.New("no zone"), false},
		"unavailable": {fmt.Errorf("find: %w", apierr.ErrUnavailable), true},
		"throttled":   {apierr.ErrThrottled, true},
		"denied":      {apierr.ErrDenied, true},
		"deadline":    {context.DeadlineExceeded, true},
		"canceled":    {context.Canceled, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, requeued := started()
			n, _ := w.add(uninitialized("a"), Ref{})
			if got, err := w.take(n, firstPatience); got != nil || !errors.Is(err, errPending) {
				t.Errorf("before the first attempt has ended: %v, %v", got, err)
			}
			w.begin(true)
			metadata := &cloudprovider.InstanceMetadata{}
			w.end(n, metadata, tc.err)
			if got := len(w.begin(false)) == 1; got != tc.waits {
				t.Errorf("it is attempted again: %t", got)
			}
			if got := requeued["a"] == 0; got != tc.waits {
				t.Errorf("it waits: %t", got)
			}
			if got, err := w.take(n, firstPatience); !errors.Is(err, tc.err) || (got == metadata) == tc.waits {
				t.Errorf("the next InstanceMetadata returns %v, %v", got, err)
			}
			if got := len(w.nodes) == 1; got != tc.waits {
				t.Errorf("it is kept: %t", got)
			}
		})
	}
}

// TestHowLongCallersWait: the first Node is waited for, others only for a moment
// while that one waits, and a Node that waits itself not at all.
func TestHowLongCallersWait(t *testing.T) {
	t.Parallel()

	w, _ := started()
	now := clocktesting.NewFakePassiveClock(time.Now())
	w.clock = now
	want := func(reason string, node *v1.Node, ref Ref, patience time.Duration) *waitingNode {
		t.Helper()
		n, got := w.add(node, ref)
		if n == nil || got != patience {
			t.Errorf("%s: %v, %s", reason, n, got)
		}

		return n
	}
	a := want("the first Node", uninitialized("a"), Ref{}, firstPatience)
	want("another one at the same time", uninitialized("b"), Ref{}, firstPatience)
	_, _ = w.take(a, firstPatience)
	want("it waits", uninitialized("a"), Ref{}, 0)
	want("another one while it waits", uninitialized("c"), Ref{}, laterPatience)
	successor := uninitialized("a")
	successor.UID = "another"
	want("another Node of that name", successor, Ref{}, laterPatience)
	want("it has a provider ID now", successor, Ref{ProviderID: "sim://a"}, laterPatience)
	w.begin(true)
	now.SetTime(now.Now().Add(unresponsivePeriod))
	want("the cloud has responded since", uninitialized("d"), Ref{}, firstPatience)
	w.end(a, nil, apierr.ErrThrottled)
	want("an attempt failed", uninitialized("e"), Ref{}, laterPatience)

	b := want("another one", uninitialized("f"), Ref{}, laterPatience)
	w.end(b, nil, apierr.ErrUnavailable)
	next := want("the Node comes back", successor, Ref{ProviderID: "sim://a"}, 0)
	_, _ = w.take(next, firstPatience)
	w.end(next, nil, nil)
	want("the cloud has not responded for another one", uninitialized("g"), Ref{}, laterPatience)
	w.end(b, nil, nil)
	c := want("the cloud has responded for all", uninitialized("h"), Ref{}, firstPatience)
	_, _ = w.take(c, laterPatience)
	want("a caller that waited for a moment", uninitialized("i"), Ref{}, firstPatience)

	w.requeue = nil
	if n, _ := w.add(uninitialized("a"), Ref{}); n != nil {
		t.Error("it waits although nothing queues it")
	}
}

// TestAttemptsOfANode: a Node is attempted when it is new and in each round, but
// not while an attempt runs. The outcome for a Node that was replaced is dropped.
func TestAttemptsOfANode(t *testing.T) {
	t.Parallel()

	w, requeued := started()
	n, _ := w.add(uninitialized("a"), Ref{})
	_, _ = w.take(n, firstPatience)
	want := func(reason string, onlyNew, attempted bool) {
		t.Helper()
		if got := len(w.begin(onlyNew)) == 1; got != attempted {
			t.Errorf("%s: attempted %t", reason, got)
		}
	}
	want("it is new", true, true)
	want("an attempt runs", false, false)
	w.end(n, nil, apierr.ErrUnavailable)
	want("another Node is new", true, false)
	want("the next round", false, true)

	successor := uninitialized("a")
	successor.UID = "another"
	next, _ := w.add(successor, Ref{})
	_, _ = w.take(next, firstPatience)
	w.end(n, nil, nil)
	if requeued["a"] != 0 {
		t.Error("the attempt of the replaced Node queued its successor")
	}
	want("the successor is new", true, true)
	w.end(next, nil, nil)
	if requeued["a"] != 1 {
		t.Errorf("the successor was queued %d times", requeued["a"])
	}
}

// TestWaitingIsBounded: too many Nodes are left to the queue's backoff, none is
// kept with its large parts, and the outcome for one that went away is dropped.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := started()
		for i := range maxTracked + 10 {
			n, _ := w.add(uninitialized(fmt.Sprintf("node-%d", i)), Ref{})
			if (n == nil) != (i >= maxTracked) {
				t.Fatalf("node %d: %v", i, n)
			}
		}
		for _, n := range w.begin(true) {
			if len(n.node.ManagedFields)+len(n.node.Status.Images) > 0 {
				t.Fatal("large parts are kept")
			}
			w.end(n, nil, nil)
		}
		time.Sleep(outcomeAge + time.Nanosecond)
		if got := len(w.begin(false)); got != 0 || len(w.nodes) != 0 {
			t.Errorf("%d nodes are attempted, %d are kept", got, len(w.nodes))
		}
	})
}
