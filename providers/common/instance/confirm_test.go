package instance_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// TestMissingIsNoticedAtAnyStatusFrequency runs the two periodic passes of the
// framework over the Node of a deleted instance: whatever the frequency of the
// address refresh, the lifecycle pass reports the Node gone.
func TestMissingIsNoticedAtAnyStatusFrequency(t *testing.T) {
	t.Parallel()

	const lifecycle = 5 * time.Second
	cases := map[string]struct {
		reason    string
		frequency time.Duration
		takes     time.Duration
	}{
		"1s":        {"the refresh is always first", time.Second, 0},
		"5s":        {"both passes at the same time", 5 * time.Second, 0},
		"10s":       {"the refresh comes at each expiry", 10 * time.Second, 0},
		"30s":       {"a slower refresh", 30 * time.Second, 0},
		"5m":        {"the default", 5 * time.Minute, 0},
		"1s slow":   {"a slow cloud, and the refresh is always first", time.Second, 4 * time.Second},
		"10s slow":  {"longer than a result is shared", 10 * time.Second, 12 * time.Second},
		"5m slow":   {"longer than a result is shared", 5 * time.Minute, 12 * time.Second},
		"10s later": {"the refresh waits for the call of the lifecycle pass", 10 * time.Second, 9 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(instance.Absent(), instance.Absent())
				s.confirm = func(context.Context, instance.Ref) instance.Result {
					time.Sleep(tc.takes)

					return instance.Absent()
				}
				v2 := instance.New(s, instance.Options{Provider: provider})
				prove(t, v2, s)
				node := newNode(ownID)
				node.CreationTimestamp.Time = time.Now().Add(-time.Hour)
				ctx, cancel := context.WithCancel(discardLogs(t))
				var wg sync.WaitGroup
				wg.Go(func() {
					for ctx.Err() == nil { // the status pass, just before the other one
						_, _ = v2.InstanceMetadata(ctx, node)
						time.Sleep(tc.frequency)
					}
				})
				time.Sleep(time.Millisecond)
				begun := time.Now()
				for passes := 1; ; passes++ {
					exists, err := v2.InstanceExists(ctx, node)
					if !exists && err == nil {
						break
					}
					if time.Since(begun) > time.Minute {
						t.Fatalf("%s: not gone in %d passes: %v", tc.reason, passes, err)
					}
					time.Sleep(lifecycle)
				}
				if took := time.Since(begun); took > tc.takes {
					t.Errorf("%s: gone after %s", tc.reason, took)
				}
				cancel()
				wg.Wait()
			})
		})
	}
}

// TestOneConfirmServesAll counts the calls: callers wait for one that runs,
// those soon afterwards get its result, and it expires.
func TestOneConfirmServesAll(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		result instance.Result
		fresh  time.Duration // how long the result is shared
	}{
		"absent":     {"one TTL from the begin of the call, which took 2 s", instance.Absent(), 8 * time.Second},
		"terminated": {"as absent", found(instance.Terminated), 8 * time.Second},
		"failed":     {"until before the next attempt for a waiting Node", instance.Failed(errCloud), 2500 * time.Millisecond},
		"found":      {"the next lookup returns it", found(instance.Running), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSource(instance.Absent(), instance.Absent())
				s.confirm = func(context.Context, instance.Ref) instance.Result {
					time.Sleep(2 * time.Second)

					return tc.result
				}
				v2 := instance.New(s, instance.Options{Provider: provider})
				node := newNode(ownID)
				node.CreationTimestamp.Time = time.Now().Add(-time.Hour)
				confirm := func(want int64) {
					t.Helper()
					var wg sync.WaitGroup
					for range 5 {
						wg.Go(func() { _, _ = v2.InstanceExists(discardLogs(t), node) })
						wg.Go(func() { _, _ = v2.InstanceMetadata(discardLogs(t), node) })
					}
					wg.Wait()
					if got := s.confirms.Load(); got != want {
						t.Errorf("%s: %d calls, want %d", tc.reason, got, want)
					}
				}
				confirm(1)
				if tc.fresh > 0 {
					time.Sleep(tc.fresh - time.Nanosecond)
					confirm(1)
					time.Sleep(time.Nanosecond)
				}
				confirm(2)
			})
		})
	}
}

// TestConfirmOfGivenUpCallers: a call that all callers left proves nothing about
// the cloud, and the next caller makes a new one.
func TestConfirmOfGivenUpCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		hangs.Store(true)
		s := newSource(instance.Absent(), instance.Absent())
		s.confirm = func(ctx context.Context, _ instance.Ref) instance.Result {
			if hangs.Load() {
				return instance.Failed(hang(ctx))
			}

			return instance.Absent()
		}
		v2 := instance.New(s, instance.Options{Provider: provider})
		prove(t, v2, s)
		node := newNode(ownID)
		node.CreationTimestamp.Time = time.Now().Add(-time.Hour)
		ctx, cancel := context.WithCancel(discardLogs(t))
		time.AfterFunc(time.Second, cancel)
		if _, err := v2.InstanceExists(ctx, node); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that gave up got %v", err)
		}
		synctest.Wait()
		hangs.Store(false)
		if exists, err := v2.InstanceExists(discardLogs(t), node); exists || err != nil {
			t.Errorf("the next caller: exists %t, %v", exists, err)
		}
		if _, err := v2.InstanceMetadata(discardLogs(t), node); !errors.Is(err, apierr.ErrNotFound) {
			t.Errorf("the result is not shared: %v", err)
		}
		if got := s.confirms.Load(); got != 2 {
			t.Errorf("%d calls", got)
		}
	})
}
