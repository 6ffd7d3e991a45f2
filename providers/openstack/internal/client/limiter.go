package client

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// firstPause is how long a service that is busy gets no requests, if it does not report
	// how long. Each time in a row doubles it, up to maxPause.
	firstPause = time.Second
	maxPause   = 8 * time.Second
	// maxRequired is how long a service gets no requests at most, even if it requires more: a
	// gateway in front of it may be wrong.
	maxRequired = time.Minute
)

// limiter bounds the requests to one service, so that a slow one holds no callers of
// another. It is safe for concurrent use.
type limiter struct {
	service       Service
	clock         clock.Clock
	jitter        func(time.Duration) time.Duration
	reads, writes chan struct{} // a value for each request under way

	mu sync.Mutex
	// until is when the service may be called again, writes and reads.
	until, readsUntil time.Time
	next              time.Duration
}

func newLimiter(service Service, o Options) *limiter {
	return &limiter{
		service: service, clock: o.Clock, jitter: o.Jitter, next: firstPause,
		reads: make(chan struct{}, o.MaxReads), writes: make(chan struct{}, o.MaxWrites),
	}
}

// take waits until one more request may be under way. The caller calls what it returns at
// the end of the request.
func (l *limiter) take(ctx context.Context, write bool) (release func(), err error) {
	slots := l.reads
	if write {
		slots = l.writes
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other requests to %s: %w", l.service, context.Cause(ctx))
	}

	return sync.OnceFunc(func() { <-slots }), nil
}

// wait waits until a service that was busy may be called again. It fails at once if that
// is later than the caller can wait.
func (l *limiter) wait(ctx context.Context, write bool, latest time.Time) error {
	for {
		until := l.pausedUntil(write)
		delay := until.Sub(l.clock.Now())
		switch {
		case delay <= 0:
			return nil
		case until.After(latest):
			return apierr.Mark(apierr.ErrThrottled, fmt.Errorf("%s is busy, and not called before %s", l.service, until.UTC().Format(time.RFC3339)))
		}
		if err := sleep(ctx, l.clock, delay); err != nil {
			return err
		}
	}
}

func (l *limiter) pausedUntil(write bool) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if write {
		return l.until
	}

	return l.readsUntil
}

// throttled stops requests for a while: as long as the service requires, or else longer
// each time. With writes alone, reads go on.
func (l *limiter) throttled(after time.Duration, writesAlone bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if after <= 0 {
		if now.Before(l.until) {
			return // a response to a request from before
		}
		after = l.jitter(l.next)
		l.next = min(l.next*2, maxPause)
	}
	until := now.Add(min(after, maxRequired))
	if until.After(l.until) {
		l.until = until
	}
	if !writesAlone && until.After(l.readsUntil) {
		l.readsUntil = until
	}
}

// accepted makes the next pause short again.
func (l *limiter) accepted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = firstPause
}

// sleep waits for a duration, or returns the error of a context that ends first.
func sleep(ctx context.Context, clk clock.Clock, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
