package nsx

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// TestLimiter (VS-NSXT-4): at most 8 calls are under way and 20 begin in a second. The rate falls by half each second in
// which the manager throttles, and grows again.
func TestLimiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter()
		var response error
		most, now, waited := 0, 0, time.Duration(0)
		var mu sync.Mutex
		count := func(by int) {
			mu.Lock()
			defer mu.Unlock()
			now += by
			most = max(most, now)
		}
		calls := func(n int) time.Duration {
			began := time.Now()
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					err := l.do(t.Context(), func(d time.Duration) {
						mu.Lock()
						defer mu.Unlock()
						waited += d
					}, func() error {
						count(1)
						time.Sleep(10 * time.Millisecond)
						count(-1)

						return response
					})
					if !errors.Is(err, response) {
						t.Errorf("error %v, want %v", err, response)
					}
				})
			}
			all.Wait()

			return time.Since(began)
		}
		if took := calls(108); took < 4900*time.Millisecond || took > 5200*time.Millisecond || most != maxCalls || waited == 0 {
			t.Errorf("108 calls took %s, %d at once, waited %s", took, most, waited)
		}
		response = &Error{Status: http.StatusTooManyRequests, means: apierr.ErrThrottled}
		calls(100)
		if limit := l.rate.Limit(); limit != minRate {
			t.Errorf("%f calls per second while all are throttled", limit)
		}
		response = nil
		calls(250)
		if limit := l.rate.Limit(); limit != maxRate {
			t.Errorf("%f calls per second afterwards", limit)
		}
		ended, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range maxCalls {
			l.slots <- struct{}{}
		}
		if err := l.do(ended, func(time.Duration) {}, func() error { return errors.New("sent") }); !errors.Is(err, apierr.ErrThrottled) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waited until its context ended: %v", err)
		}
	})
}
