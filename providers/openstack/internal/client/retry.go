package client

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// maxAttempts is how often a request is sent.
	maxAttempts = 4
	// firstDelay is that before the second attempt. Each further one doubles it.
	firstDelay = 200 * time.Millisecond
)

// retry decides whether a request is sent again.
type retry struct {
	began    time.Time
	attempts int
}

// latest returns when the last attempt may begin: attempts have a bounded time, and the
// caller has, too. The first call starts the time.
func (r *retry) latest(ctx context.Context, o Options) time.Time {
	if r.began.IsZero() {
		r.began = o.Clock.Now()
	}
	latest := r.began.Add(o.RetryTime)
	if deadline, ok := ctx.Deadline(); ok {
		// The deadline is of the real clock.
		if end := o.Clock.Now().Add(time.Until(deadline)); end.Before(latest) {
			latest = end
		}
	}

	return latest
}

// next waits before the next attempt and returns true, or returns false if there is none.
func (r *retry) next(ctx context.Context, o Options, e *Error) bool {
	r.attempts++
	if r.attempts >= maxAttempts || !e.isRepeatable() || ctx.Err() != nil {
		return false
	}
	delay := o.Jitter(firstDelay << (r.attempts - 1))
	if after := e.wait(o.Clock.Now()); after > 0 {
		delay = after
	} else if errors.Is(e.means, apierr.ErrThrottled) {
		return true // the limiter waits
	}
	if o.Clock.Now().Add(delay).After(r.latest(ctx, o)) {
		return false
	}

	return sleep(ctx, o.Clock, delay) == nil
}

// isRepeatable reports whether a request may be sent again: a read after a failure that
// may be temporary, a write only if it was certainly not carried out.
func (e *Error) isRepeatable() bool {
	if e.permanent {
		return false
	}
	if errors.Is(e.means, apierr.ErrThrottled) {
		return true
	}
	switch e.Status {
	case 0:
		return isSafe(e.Method) || !e.sent
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return isSafe(e.Method)
	}

	return false
}

// wait returns how long the service requires to wait, zero if it does not report it.
func (e *Error) wait(now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(e.retryAfter); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(e.retryAfter); err == nil {
		return max(0, at.Sub(now))
	}

	return 0
}
