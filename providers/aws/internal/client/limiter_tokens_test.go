package client

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	testingclock "k8s.io/utils/clock/testing"
)

// TestCanceledCallTakesNoToken checks that a caller that has given up before
// takes no token, even if there is one.
func TestCanceledCallTakesNoToken(t *testing.T) {
	t.Parallel()
	limits := newLimiters(ServiceELB, Tuning{Clock: testingclock.NewFakeClock(time.Now())}.withDefaults())
	l, shared := limits.limiter(bucket{burst: 10, rate: 1}), limits.shared
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	now := l.clock.Now()
	own, others := l.tokens.TokensAt(now), shared.TokensAt(now)
	if err := l.take(ctx, now); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if l.tokens.TokensAt(now) != own || shared.TokensAt(now) != others {
		t.Errorf("%v tokens of the class are left, and %v of the account", l.tokens.TokensAt(now), shared.TokensAt(now))
	}
}

// TestRefusedCallsTakeNoSharedToken checks that a call takes a token of the
// account only together with that of its class: throttled responses may take the
// latter away meanwhile.
func TestRefusedCallsTakeNoSharedToken(t *testing.T) {
	t.Parallel()
	const calls, callers, tokens = 2000, 4, 100_000
	clk := testingclock.NewFakeClock(time.Now())
	limits := newLimiters(ServiceEC2, Tuning{Clock: clk}.withDefaults())
	now, shared := clk.Now(), rate.NewLimiter(1, tokens)
	limits.shared = shared
	var taken atomic.Int64
	var all sync.WaitGroup
	for range callers {
		l := limits.limiter(bucket{burst: tokens, rate: 2})
		all.Go(func() {
			for range calls {
				if l.take(t.Context(), now) == nil {
					taken.Add(1)
				}
			}
		})
		all.Go(func() {
			for range calls { // throttled, and as fast as usual again
				l.throttled(now)
				for range 20 {
					l.accepted(now)
				}
			}
		})
	}
	all.Wait()
	if left := shared.TokensAt(now); left != float64(tokens-taken.Load()) {
		t.Errorf("%d calls took %v tokens", taken.Load(), tokens-left)
	}
}
