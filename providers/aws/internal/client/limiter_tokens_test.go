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
	shared := &sharedTokens{Limiter: rate.NewLimiter(1, 4)}
	l := newLimiter(testingclock.NewFakeClock(time.Now()), bucket{burst: 10, rate: 1}, shared, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	now := l.clock.Now()
	own := l.tokens.TokensAt(now)
	for _, again := range []bool{false, true} {
		if err := l.take(ctx, now, again); !errors.Is(err, context.Canceled) {
			t.Errorf("again %t: %v", again, err)
		}
	}
	if l.tokens.TokensAt(now) != own || shared.TokensAt(now) != 4 {
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
	now, shared := clk.Now(), &sharedTokens{Limiter: rate.NewLimiter(1, tokens)}
	var taken atomic.Int64
	var all sync.WaitGroup
	for range callers {
		l := newLimiter(clk, bucket{burst: tokens, rate: 2}, shared, 1)
		all.Go(func() {
			for range calls {
				if l.take(t.Context(), now, false) == nil {
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
