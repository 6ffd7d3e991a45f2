package nsx

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// maxRate is the number of calls per second, and maxCalls how many are under way. A
	// manager throttles a user at 100 and at 40, which other programs count for as well:
	// https://knowledge.broadcom.com/external/article/411782.
	maxRate  = 20
	maxCalls = 8
	// minRate is the number of calls per second to a manager that throttles all.
	minRate = 1
	// loweredFor is the time in which throttled calls lower the rate once: they were under
	// way together.
	loweredFor = time.Second
)

// limiter bounds the calls to a manager. The rate is halved when it throttles, and grows
// by one call per second in each second that it does not.
type limiter struct {
	slots chan struct{}
	rate  *rate.Limiter

	mu      sync.Mutex
	lowered time.Time
}

func newLimiter() *limiter {
	return &limiter{slots: make(chan struct{}, maxCalls), rate: rate.NewLimiter(maxRate, maxCalls)}
}

// do waits until a call may be sent, calls send, and adapts the rate.
func (l *limiter) do(ctx context.Context, waited func(time.Duration), send func() error) error {
	began := time.Now()
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return apierr.Mark(apierr.ErrThrottled, fmt.Errorf("wait for other calls to NSX-T: %w", context.Cause(ctx)))
	}
	if err := l.rate.Wait(ctx); err != nil {
		return apierr.Mark(apierr.ErrThrottled, fmt.Errorf("wait for the rate of calls to NSX-T: %w", err))
	}
	waited(time.Since(began))
	err := send()
	e, failed := errors.AsType[*Error](err)
	l.adapt(failed && e.isBusy())

	return err
}

func (l *limiter) adapt(busy bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.rate.Limit()
	switch {
	case !busy:
		l.rate.SetLimit(min(limit+1/limit, maxRate))
	case time.Since(l.lowered) >= loweredFor:
		l.lowered = time.Now()
		l.rate.SetLimit(max(limit/2, minRate))
	}
}
