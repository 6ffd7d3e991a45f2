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
	l := newLimiter(clock.RealClock{}, bucket{burst: 4, rate: 1 / rateShare}, 1)
	for range 3 {
		if err := l.take(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
	}

	return l
}

// TestGivingUpReturnsTheToken proves that a caller that leaves, from the head of
// the queue or from behind, costs the others nothing.
func TestGivingUpReturnsTheToken(t *testing.T) {
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
		if err := <-done; err != nil || time.Since(began) != time.Second {
			t.Errorf("the caller behind them got the token after %s, want 1s: %v", time.Since(began), err)
		}
		if err := l.take(t.Context(), soon()); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("the next token came after %s, want 2s: %v", time.Since(began), err)
		}
	})
}

// TestNoTokenInTime proves that no caller waits for what it cannot get.
func TestNoTokenInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := drained(t)
		began := time.Now()
		if err := l.take(t.Context(), began.Add(900*time.Millisecond)); !errors.Is(err, errNoToken) || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := l.take(t.Context(), began.Add(time.Second)); err != nil || time.Since(began) != time.Second {
			t.Errorf("the token that the other did not take came after %s: %v", time.Since(began), err)
		}
	})
}

// TestGivenUpCallsAreNotRetried proves what the error of a caller that gave up
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
			t.Errorf("a caller that went away: %v", classified)
		}
	})
}

// TestRateAfterResponses proves how the rate of a class goes down and up again.
func TestRateAfterResponses(t *testing.T) {
	t.Parallel()
	const throttled, accepted = "throttled", "accepted"
	cases := map[string]struct {
		reason    string
		rate      float64
		responses []string
		least     float64
		most      float64
	}{
		"none throttled":   {"no slower than AWS, but for the margin", 10, []string{accepted, accepted}, 9.5, 9.5},
		"one throttled":    {"slower", 10, []string{throttled}, 6, 7},
		"two successes":    {"the first successes make it as fast as before", 10, []string{throttled, accepted, accepted}, 9.5, 9.5},
		"a hundred":        {"an attempt every half second at least", 10, make100(throttled), 2, 2.5},
		"a hundred slow":   {"an attempt every half second at least", 4, make100(throttled), 2, 2},
		"a hundred slower": {"as slow as AWS, not slower", 1, make100(throttled), 0.95, 0.95},
		"after a hundred":  {"a few successes are enough", 10, append(make100(throttled), accepted, accepted, accepted, accepted, accepted, accepted, accepted), 9.5, 9.5},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := newLimiter(clock.RealClock{}, bucket{burst: 40, rate: tc.rate}, 1)
				for _, response := range tc.responses {
					time.Sleep(time.Second)
					if response == throttled {
						l.throttled(time.Now())
					} else {
						l.accepted(time.Now())
					}
				}
				if got := l.tokens.Limit(); got < rate.Limit(tc.least) || got > rate.Limit(tc.most) {
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

// TestAttemptsThatWereUnderWayCountOnce proves that a burst that AWS throttles as
// a whole is one reason to slow down, and that late successes are none to speed
// up again.
func TestAttemptsThatWereUnderWayCountOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(clock.RealClock{}, bucket{burst: 40, rate: 10}, 1)
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
