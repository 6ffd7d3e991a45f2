package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// TestGovernor proves the figures of §15. In each case the calls are made one
// after the other, and those with a 1 are throttled.
func TestGovernor(t *testing.T) {
	t.Parallel()
	type step struct {
		// after is how long nothing happens before the call.
		after     time.Duration
		throttled bool
		want      time.Duration
	}
	ok := step{}
	throttle := func(want time.Duration) step { return step{throttled: true, want: want} }
	cases := map[string]struct {
		reason string
		steps  []step
	}{
		"all well": {"§15: no error, no delay", []step{ok, ok, ok, ok}},
		"one at once": {
			"§15: requests start at 4, so one error of five calls is 1/6 at the next: 10 s",
			[]step{throttle(0), {want: 10 * time.Second}, {want: 8 * time.Second}, {want: 7 * time.Second}, {want: 6 * time.Second}, {want: 6 * time.Second}, {want: 0}},
		},
		"all throttled": {
			"§15: share × 60 s in whole seconds: 1/6, 2/7, 3/8 …",
			[]step{throttle(0), throttle(10 * time.Second), throttle(17 * time.Second), throttle(22 * time.Second), throttle(26 * time.Second)},
		},
		"under a tenth": {"§15: from 10 % on", []step{ok, ok, ok, ok, ok, throttle(0), {want: 0}}},
		"a tenth":       {"§15: 1/10 is enough", []step{ok, ok, ok, ok, throttle(0), {want: 6 * time.Second}}},
		"fading": {
			"§15: both counts ×0.8 in 20 s: (1×0.8)/(5×0.8+1) of 60 s",
			[]step{throttle(0), {after: 20 * time.Second, want: 9 * time.Second}},
		},
		"forgotten": {
			"§15: ×0.8 for each 20 s: after 200 s 0.107/(0.537+1)",
			[]step{throttle(0), {after: 200 * time.Second, want: 0}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGovernor(clock.RealClock{}, 60*time.Second)
				var want, got []time.Duration
				for _, s := range tc.steps {
					time.Sleep(s.after)
					want, got = append(want, s.want), append(got, g.next())
					if s.throttled {
						g.throttled()
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}

// TestGovernorWaits proves §15: the delay is waited for, and who gives up
// meanwhile is not retried.
func TestGovernorWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGovernor(clock.RealClock{}, 60*time.Second)
		g.next()
		g.throttled()
		began := time.Now()
		if err := g.wait(t.Context()); err != nil || time.Since(began) != 10*time.Second {
			t.Errorf("§15: waited %s, error %v, want 10s", time.Since(began), err)
		}
		for range 20 {
			g.throttled()
		}

		cancelled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		err := g.wait(cancelled)
		checkGivenUp(t, err)
		if classified := classify(ServiceEC2, err); apierr.Code(classified) != apierr.CodeCanceled {
			t.Errorf("§15: a caller that went away: %v", classified)
		}

		hurried, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		began = time.Now()
		if err := g.wait(hurried); err != nil || time.Since(began) != 10*time.Second {
			t.Errorf("a caller with 20 s left waited %s, error %v: it should have time for the call", time.Since(began), err)
		}
	})
}

func checkGivenUp(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*aws.RequestCanceledError](err); !ok || newRetryer(Tuning{}).IsErrorRetryable(err) {
		t.Errorf("§15: cancelled while waiting must not be retried: %v", err)
	}
}

// TestGovernorOff proves what tests of other packages rely on.
func TestGovernorOff(t *testing.T) {
	t.Parallel()
	g := newGovernor(clock.RealClock{}, time.Millisecond)
	for range 10 {
		g.throttled()
		if pause := g.next(); pause != 0 {
			t.Fatalf("a delay below a second is none, got %s", pause)
		}
	}
}
