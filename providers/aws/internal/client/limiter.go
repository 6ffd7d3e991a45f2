package client

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// burstShare and rateShare are the parts of a bucket of AWS that are used:
	// the clock of AWS differs, and calls that are sent at regular intervals
	// arrive closer to each other.
	burstShare = 0.9
	rateShare  = 0.95

	// slower is the factor of the pace after a throttled response, faster the
	// factor after any other response.
	slower = 0.7
	faster = 1.25
	// lowestShare and lowestPace bound how slow it gets: a quarter of the usual pace,
	// and three calls per second unless AWS allows fewer.
	lowestShare = 0.25
	lowestPace  = 3
	// raise is the factor of the pace after calls have waited for so long without a
	// throttled response, highestShare its bound: AWS raises the limits of an account
	// on request.
	raise        = 2
	raiseAfter   = time.Minute
	highestShare = 10
)

// errNoToken means that there is no token for a call in time.
var errNoToken = errors.New("no token of the rate limiter in time")

// limiter limits the calls of one operation class as AWS does, so that few are
// throttled, slows them down while some are, since another process may use the same
// account, and speeds them up while none is. It is safe for concurrent use.
//
// The adaptive mode of the SDK's retryer does not fit: it has one rate for all
// operations of a client, limits nothing before the first throttled response,
// starts from the rate that it measures then, and waits for a token without a
// bound.
type limiter struct {
	clock clock.Clock
	// tokens is our part of the bucket of the class. shared is that of a bucket
	// that other classes use, too; nil without one.
	tokens, shared          *rate.Limiter
	lowest, normal, highest rate.Limit
	raiseAfter              time.Duration
	// head is a semaphore for the head of the queue. All other callers wait for
	// it, so that a changed pace applies to all of them.
	head chan struct{}

	// mu is held while a call takes a token from each bucket. All limiters of a
	// service have the same.
	mu *sync.Mutex
	// slowed is when the pace was last lowered, waiting since when calls have waited
	// without a reason to change it.
	slowed, waiting time.Time
}

// newTokens returns our part of a bucket, full, with a refill rate that is
// multiplied by a factor.
func newTokens(b bucket, speed float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(b.rate*rateShare*speed), max(1, int(float64(b.burst)*burstShare)))
}

// take waits until a call may be made. A caller that is canceled, or for which there
// is no token until the given time, leaves the queue and takes none.
func (l *limiter) take(ctx context.Context, until time.Time) error {
	if err := l.queue(ctx, until); err != nil {
		return err
	}
	defer func() { <-l.head }()
	for waited := false; ctx.Err() == nil; waited = true {
		delay := l.allow(waited)
		switch {
		case delay == 0:
			return nil
		case l.clock.Now().Add(delay).After(until):
			return errNoToken
		}
		if err := sleep(ctx, l.clock, delay); err != nil {
			return err
		}
	}

	return ctx.Err()
}

// allow takes a token from each of the buckets if all of them have one.
// Otherwise it takes none and returns how long to wait.
func (l *limiter) allow(waited bool) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if delay := max(missing(now, l.tokens), missing(now, l.shared)); delay > 0 {
		return delay
	}
	l.tokens.AllowN(now, 1)
	if l.shared != nil {
		l.shared.AllowN(now, 1)
	}
	if !waited {
		l.waiting = now
	}

	return 0
}

// missing returns how long it takes until a bucket has a token.
func missing(now time.Time, b *rate.Limiter) time.Duration {
	if b == nil || b.TokensAt(now) >= 1 {
		return 0
	}
	seconds := (1 - b.TokensAt(now)) / float64(b.Limit())

	return time.Duration(math.Ceil(seconds * float64(time.Second)))
}

// queue waits until the caller is at the head of the queue.
func (l *limiter) queue(ctx context.Context, until time.Time) error {
	select {
	case l.head <- struct{}{}:
		return nil
	default:
	}
	timer := l.clock.NewTimer(until.Sub(l.clock.Now()))
	defer timer.Stop()
	select {
	case l.head <- struct{}{}:
		return nil
	case <-timer.C():
		return errNoToken
	case <-ctx.Done():
		return ctx.Err()
	}
}

// throttled lowers the pace after a throttled response to an attempt that was
// made at the given time. The bucket of AWS is empty then, so ours is emptied, too,
// and the attempt that follows takes the next token. Concurrent attempts count once.
func (l *limiter) throttled(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.Before(l.slowed) {
		return
	}
	now := l.clock.Now()
	l.slowed, l.waiting = now, now
	l.tokens.SetLimitAt(now, max(min(l.tokens.Limit(), l.normal)*slower, l.lowest))
	l.tokens.AllowN(now, max(0, int(l.tokens.TokensAt(now))))
	if l.tokens.TokensAt(now) >= 0 {
		l.tokens.ReserveN(now, 1)
	}
}

// accepted raises the pace after a response to an attempt that was made at the
// given time.
func (l *limiter) accepted(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, limit := l.clock.Now(), l.tokens.Limit()
	switch {
	case sent.Before(l.slowed):
	case limit < l.normal:
		l.tokens.SetLimitAt(now, min(limit*faster, l.normal))
	case now.Sub(l.waiting) >= l.raiseAfter:
		l.waiting = now
		l.tokens.SetLimitAt(now, min(limit*raise, l.highest))
	}
}

// sleep waits for a duration, or until the context ends.
func sleep(ctx context.Context, clk clock.Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := clk.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
