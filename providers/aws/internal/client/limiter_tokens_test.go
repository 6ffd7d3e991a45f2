package client

import (
	"context"
	"errors"
	"testing"
	"time"

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
