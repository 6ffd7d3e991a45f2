package client

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"golang.org/x/time/rate"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// soon is a time that no wait of these tests reaches.
func soon() time.Time { return time.Now().Add(time.Hour) }

// limiterOf returns the limiter for a bucket that no other class shares.
func limiterOf(b bucket) *limiter {
	return newLimiters(ServiceEC2, Tuning{}.withDefaults()).limiter(b)
}

// drained returns a limiter that gets a token each second, and has none.
func drained(t *testing.T) *limiter {
	t.Helper()
	l := limiterOf(bucket{burst: 4, rate: 1 / rateShare})
	for range 3 { // all but the margin
		if err := l.take(t.Context(), time.Now()); err != nil {
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
			go func() { left <- l.take(ctx, soon()) }()
			synctest.Wait()
		}
		done := make(chan error, 1)
		go func() { done <- l.take(t.Context(), soon()) }()
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
		if err := l.take(t.Context(), soon()); err != nil || time.Since(began).Round(time.Microsecond) != 2*time.Second {
			t.Errorf("the next token came after %s, want 2s: %v", time.Since(began), err)
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
		"a slow bucket":   {"no slower than AWS", 0.2, make100(throttled), 0.19, 0.19},
		"after a hundred": {"a few successes are enough", 10, append(make100(throttled), six...), 9.5, 9.5},
		"a minute":        {"twice as fast while calls wait and none is throttled", 0.2, make100(accepted)[:60], 0.38, 0.38},
		"some minutes":    {"ten times as fast at most", 0.2, slices.Repeat(make100(accepted), 6), 1.9, 1.9},
		"its limit":       {"as slow as usual at once", 0.2, append(make100(accepted), throttled), 0.19, 0.19},
		"after its limit": {"calls have to wait for a minute again", 0.2, append(append(make100(accepted), throttled), make100(accepted)[:59]...), 0.19, 0.19},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := limiterOf(bucket{burst: 40, rate: tc.rate})
				for _, response := range tc.responses {
					time.Sleep(time.Second)
					if response == throttled {
						l.throttled(time.Now())
					} else {
						l.accepted(time.Now())
					}
				}
				if got := l.tokens.Limit(); got < tc.least-0.001 || got > tc.most+0.001 {
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
		l := limiterOf(bucket{burst: 40, rate: 10})
		sent := time.Now()
		time.Sleep(time.Second)
		l.throttled(sent)
		lowered := l.tokens.Limit()
		for range 40 {
			time.Sleep(time.Millisecond)
			l.throttled(sent)
			l.accepted(sent)
		}
		if got := l.tokens.Limit(); got != lowered {
			t.Errorf("%.2f a second, want still %.2f", got, lowered)
		}
		if got := l.tokens.TokensAt(time.Now()); got >= 1 {
			t.Errorf("%.2f tokens are left where AWS has none", got)
		}
	})
}
