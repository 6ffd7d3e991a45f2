package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// soon is a time that no wait of these tests reaches.
func soon() time.Time { return time.Now().Add(time.Hour) }

// drained returns a limiter that gets a token each second, and has none.
func drained(t *testing.T) *limiter {
	t.Helper()
	l := newLimiter(clock.RealClock{}, bucket{burst: 4, rate: 1 / rateShare}, nil, 1)
	for range 3 { // all but the margin
		if err := l.take(t.Context(), time.Now(), false); err != nil {
			t.Fatal(err)
		}
	}

	return l
}

// TestCanceledWaitReturnsTheToken checks that a caller that leaves, from the
// head of the queue or from behind, costs the others nothing.
func TestCanceledWaitReturnsTheToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := drained(t)
		began := time.Now()
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 2)
		for range cap(left) {
			go func() { left <- l.take(ctx, soon(), false) }()
			synctest.Wait()
		}
		done := make(chan error, 1)
		go func() { done <- l.take(t.Context(), soon(), false) }()
		time.Sleep(500 * time.Millisecond)
		cancel()
		for range cap(left) {
			if err := <-left; !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that gave up: %v", err)
			}
		}
		if err := <-done; err != nil || time.Since(began).Round(time.Microsecond) != time.Second {
			t.Errorf("the caller behind them got the token after %s, want 1s: %v", time.Since(began), err)
		}
		if err := l.take(t.Context(), soon(), false); err != nil || time.Since(began).Round(time.Microsecond) != 2*time.Second {
			t.Errorf("the next token came after %s, want 2s: %v", time.Since(began), err)
		}
	})
}

// TestNoTokenInTime checks that no caller waits for what it cannot get.
func TestNoTokenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := drained(t)
		began := time.Now()
		if err := l.take(t.Context(), began.Add(900*time.Millisecond), false); !errors.Is(err, errNoToken) || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := l.take(t.Context(), began.Add(1100*time.Millisecond), false); err != nil || time.Since(began).Round(time.Microsecond) != time.Second {
			t.Errorf("the token that the other did not take came after %s: %v", time.Since(began), err)
		}
	})
}

// TestGivenUpCallsAreNotRetried checks what the error of a caller that gave up
// means to the SDK and to the caller.
func TestGivenUpCallsAreNotRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPacing(ctx, drained(t), Tuning{}.withDefaults())
		time.AfterFunc(100*time.Millisecond, cancel)
		err := p.wait(ctx)
		retryer := (&Base{options: Options{Tuning: Tuning{}.withDefaults()}}).pacedRetryer()
		if _, ok := errors.AsType[*aws.RequestCanceledError](err); !ok || retryer.IsErrorRetryable(err) {
			t.Errorf("canceled while waiting must not be retried: %v", err)
		}
		if classified := classify(ServiceEC2, err); apierr.Code(classified) != apierr.CodeCanceled {
			t.Errorf("a caller that canceled: %v", classified)
		}
	})
}

// TestPaceAfterResponses checks how a class slows down and speeds up again.
func TestPaceAfterResponses(t *testing.T) {
	t.Parallel()
	const throttled, accepted = "throttled", "accepted"
	six := []string{accepted, accepted, accepted, accepted, accepted, accepted}
	cases := map[string]struct {
		reason    string
		rate      float64
		responses []string
		least     rate.Limit
		most      rate.Limit
	}{
		"none throttled":  {"as fast as AWS, but for the margin", 10, []string{accepted, accepted}, 9.5, 9.5},
		"one throttled":   {"slower", 10, []string{throttled}, 6, 7},
		"two successes":   {"the first successes end it", 10, []string{throttled, accepted, accepted}, 9.5, 9.5},
		"a hundred":       {"three attempts a second at least", 10, make100(throttled), 3, 3},
		"a fast bucket":   {"a quarter of its rate at least", 20, make100(throttled), 4.75, 4.75},
		"a small bucket":  {"no slower than AWS", 3, make100(throttled), 2.8, 2.9},
		"after a hundred": {"a few successes are enough", 10, append(make100(throttled), six...), 9.5, 9.5},
		"a slow bucket":   {"its tokens alone limit", 0.2, []string{accepted}, rate.Inf, rate.Inf},
		"slow throttled":  {"attempts need not wait as long as tokens do", 0.2, make100(throttled), 3, 3},
		"slow after it":   {"its tokens alone limit again", 0.2, append(make100(throttled), six...), rate.Inf, rate.Inf},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(clock.RealClock{}, bucket{burst: 40, rate: tc.rate}, nil, 1)
				for _, response := range tc.responses {
					time.Sleep(time.Second)
					if response == throttled {
						l.throttled(time.Now())
					} else {
						l.accepted(time.Now())
					}
				}
				if got := l.pace.Limit(); got < tc.least || got > tc.most {
					t.Errorf("%s: %.2f a second, want between %.2f and %.2f", tc.reason, got, tc.least, tc.most)
				}
			})
		})
	}
}

func make100(response string) []string {
	all := make([]string, 100)
	for i := range all {
		all[i] = response
	}

	return all
}

// TestAttemptsThatWereUnderWayCountOnce checks that a burst that AWS throttles as
// a whole is one reason to slow down, and that late successes are none to speed
// up again.
func TestAttemptsThatWereUnderWayCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(clock.RealClock{}, bucket{burst: 40, rate: 10}, nil, 1)
		sent := time.Now()
		time.Sleep(time.Second)
		l.throttled(sent)
		lowered := l.pace.Limit()
		for range 40 {
			time.Sleep(time.Millisecond)
			l.throttled(sent)
			l.accepted(sent)
		}
		if got := l.pace.Limit(); got != lowered {
			t.Errorf("%.2f a second, want still %.2f", got, lowered)
		}
		if got := l.tokens.TokensAt(time.Now()); got >= 1 {
			t.Errorf("%.2f tokens are left where AWS has none", got)
		}
	})
}

// TestThrottledCallsReturnTheirToken checks that a call that AWS took no token
// for costs the next ones none where tokens are rare.
func TestThrottledCallsReturnTheirToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(clock.RealClock{}, bucket{burst: 3, rate: 0.2}, nil, 1)
		for range 2 {
			p := newPacing(t.Context(), l, Tuning{}.withDefaults())
			if err := p.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			p.last = apierr.ErrThrottled
			p.end()
		}
		began := time.Now()
		for range 2 {
			if err := l.take(t.Context(), soon(), false); err != nil || time.Since(began) != 0 {
				t.Errorf("a token came after %s, want at once: %v", time.Since(began), err)
			}
		}
		if err := l.take(t.Context(), began.Add(time.Second), false); !errors.Is(err, errNoToken) {
			t.Errorf("there are two tokens, not three: %v", err)
		}
	})
}

// TestClassesShareABucket checks that the bucket of the account limits all
// classes together, and that a wait for it takes none of its tokens.
func TestClassesShareABucket(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits := newLimiters(ServiceELBV2, Tuning{}.withDefaults())
		reads, writes := limits.of("DescribeTags", nil), limits.of("AddTags", nil)
		for range 36 {
			if err := reads.take(t.Context(), time.Now(), false); err != nil {
				t.Fatal(err)
			}
		}
		if err := writes.take(t.Context(), time.Now(), false); !errors.Is(err, errNoToken) {
			t.Errorf("a write after 36 reads: %v", err)
		}
		began := time.Now()
		if err := writes.take(t.Context(), soon(), false); err != nil || time.Since(began) > 106*time.Millisecond {
			t.Errorf("a write got its token after %s: %v", time.Since(began), err)
		}
		if err := reads.take(t.Context(), soon(), false); err != nil || time.Since(began) > 211*time.Millisecond {
			t.Errorf("the next read got its token after %s: %v", time.Since(began), err)
		}
	})
}

// TestThrottledAttemptsNeedNotQueue checks that an attempt that has its token
// does not wait for the token of another one.
func TestThrottledAttemptsNeedNotQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(clock.RealClock{}, bucket{burst: 1, rate: 0.2}, nil, 1)
		if err := l.take(t.Context(), soon(), false); err != nil {
			t.Fatal(err)
		}
		l.throttled(time.Now())
		began, next := time.Now(), make(chan error, 1)
		go func() { next <- l.take(t.Context(), soon(), false) }()
		synctest.Wait()
		if err := l.take(t.Context(), soon(), true); err != nil || time.Since(began) > 500*time.Millisecond {
			t.Errorf("the second attempt waited %s: %v", time.Since(began), err)
		}
		if err := <-next; err != nil || time.Since(began) < 5*time.Second {
			t.Errorf("the next call had a token after %s: %v", time.Since(began), err)
		}
	})
}
