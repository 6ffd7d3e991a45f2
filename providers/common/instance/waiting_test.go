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
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// newcomer is an uninitialized Node.
func newcomer(name string) *v1.Node {
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       v1.NodeSpec{Taints: []v1.Taint{{Key: cloudproviderapi.TaintExternalCloudProvider}}},
		Status:     v1.NodeStatus{Images: []v1.ContainerImage{{}}},
	}
}

// started is a waiting with a Run and a function to requeue.
func started() *waiting {
	w := newWaiting()
	w.requeue = func(string) {}
	w.run(1)

	return w
}

// TestWhatWaits: only what the cloud did not answer makes a Node wait, and what
// it answered ends that.
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
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := started()
			w.end(newcomer("a"), Ref{}, apierr.ErrUnavailable, false)
			w.end(newcomer("a"), Ref{}, tc.err, false)
			if got := len(w.list()) == 1; got != tc.waits {
				t.Errorf("it waits: %t", got)
			}
			if _, err := w.begin(newcomer("a"), time.Minute); (err != nil) != tc.waits || tc.waits && !errors.Is(err, tc.err) {
				t.Errorf("the next attempt is refused with %v", err)
			}
		})
	}
}

// TestWhoMayAsk: the first attempt is short, that of a Node that waits is
// refused, and that of one that was queued again may take its time, as may
// everything where nothing queues Nodes again.
func TestWhoMayAsk(t *testing.T) {
	t.Parallel()

	w := started()
	want := func(reason string, node *v1.Node, limit time.Duration, refused bool) {
		t.Helper()
		got, err := w.begin(node, time.Minute)
		if (err != nil) != refused || got != limit {
			t.Errorf("%s: %s, %v", reason, got, err)
		}
	}
	want("the first attempt", newcomer("a"), attemptTimeout, false)
	w.end(newcomer("a"), Ref{}, apierr.ErrUnavailable, false)
	want("it waits", newcomer("a"), 0, true)
	successor := newcomer("a")
	successor.UID = "another"
	want("another Node of that name", successor, attemptTimeout, false)
	initialised := newcomer("a")
	initialised.Spec.Taints = nil
	want("an initialised Node", initialised, time.Minute, false)

	n := w.list()[0]
	w.release(n)
	want("it was queued again", newcomer("a"), time.Minute, false)
	w.end(newcomer("a"), Ref{}, apierr.ErrUnavailable, false)
	want("it failed again", newcomer("a"), 0, true)
	w.release(n)
	want("an older round found it answered", newcomer("a"), 0, true)

	w.run(-1)
	want("nothing runs", newcomer("a"), time.Minute, false)
}

// TestWaitingIsBounded: too many Nodes are left to the queue's backoff, none
// brings what is large, and one that went away is forgotten.
func TestWaitingIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := started()
		for i := range memorySize + 10 {
			w.end(newcomer(fmt.Sprintf("node-%d", i)), Ref{}, apierr.ErrUnavailable, false)
		}
		nodes := w.list()
		if len(nodes) != memorySize {
			t.Errorf("%d nodes wait", len(nodes))
		}
		for _, n := range nodes {
			if len(n.node.ManagedFields)+len(n.node.Status.Images) > 0 {
				t.Fatal("large parts are kept")
			}
			w.release(n)
		}
		time.Sleep(releasedAge + time.Nanosecond)
		if got := len(w.list()); got != 0 || len(w.nodes) != 0 {
			t.Errorf("%d nodes wait, %d are kept", got, len(w.nodes))
		}
	})
}
