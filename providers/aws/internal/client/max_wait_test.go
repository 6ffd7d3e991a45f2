package client

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// However long AWS throttles, a call ends within half of its caller's time, or
// half a minute, with the reason.
func TestWaitingIsBounded(t *testing.T) {
	virtualKeys(t)
	cases := map[string]struct {
		reason   string
		timeout  time.Duration
		least    time.Duration
		most     time.Duration
		attempts int
	}{
		"no deadline":   {"the bound of its own", 0, 25 * time.Second, 32 * time.Second, 9},
		"far deadline":  {"the bound of its own", 10 * time.Minute, 25 * time.Second, 32 * time.Second, 9},
		"20 s":          {"half of the time", 20 * time.Second, 4 * time.Second, 10 * time.Second, 5},
		"near deadline": {"half of the time", time.Second, 0, 500 * time.Millisecond, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cloud := newVirtualCloud()
				cloud.throttles = func(Service, string) bool { return true }
				clients := cloud.clients(t, Tuning{})
				ctx := t.Context()
				if tc.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tc.timeout)
					defer cancel()
				}
				began := time.Now()
				err := createClassic(ctx, clients)
				if !errors.Is(err, apierr.ErrThrottled) || Code(err) != "Throttling" {
					t.Errorf("%s: code %q: %v", tc.reason, Code(err), err)
				}
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("%s: took %s, want between %s and %s", tc.reason, took, tc.least, tc.most)
				}
				if _, throttled := cloud.counts(ServiceELB); throttled < tc.attempts || throttled > mostAttempts {
					t.Errorf("%s: %d attempts", tc.reason, throttled)
				}
			})
		})
	}
}

// Callers for whom the bucket has no token in time fail without a request: those
// that are sent are not throttled.
func TestCallersWithoutATokenSendNothing(t *testing.T) {
	virtualKeys(t)
	synctest.Test(t, func(t *testing.T) {
		cloud := newVirtualCloud()
		clients := cloud.clients(t, Tuning{})
		began := time.Now()
		var failed atomic.Int64
		workers(500, func(int) {
			if err := describeGroups(t.Context(), clients); err != nil {
				failed.Add(1)
				if !errors.Is(err, apierr.ErrThrottled) || Code(err) != "" {
					t.Errorf("code %q: %v", Code(err), err)
				}
			}
		})
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("took %s, want at most 30s", took)
		}
		accepted, throttled := cloud.counts(ServiceELBV2)
		if accepted+int(failed.Load()) != 500 || accepted < 300 || throttled != 0 {
			t.Errorf("%d requests were accepted, %d throttled, and %d calls failed", accepted, throttled, failed.Load())
		}
	})
}
