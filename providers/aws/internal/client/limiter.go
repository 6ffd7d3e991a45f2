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
	// lowestShare and lowestPace bound how slow it gets: however many responses
	// are throttled, there are a quarter of the usual attempts, and three per
	// second unless AWS allows fewer.
	lowestShare = 0.25
	lowestPace  = 3
	// slowPace is the highest pace of a bucket that fills more slowly than
	// that.
	slowPace = 5
)

// errNoToken means that there is no token for a call in time.
var errNoToken = errors.New("no token of the rate limiter in time")

// limiter limits the calls of one operation class as AWS does, so that few are
// throttled, and slows them down while some are: another process may use the same
// account. It is safe for concurrent use.
//
// The adaptive mode of the SDK's retryer does not fit: it has one rate for all
// operations of a client, limits nothing before the first throttled response,
// starts from the rate that it measures then, and waits for a token without a
// bound.
type limiter struct {
	clock clock.Clock
	// tokens is our part of the bucket of the class. shared is that of a bucket
	// that other classes use, too; nil without one.
	tokens *rate.Limiter
	shared *sharedTokens
	// pace is lowered by throttled responses, from highest to lowest. It is tokens,
	// unless the bucket fills so slowly that attempts that take no token from AWS
	// would wait in vain; then it is rate.Inf until the first throttled response.
	pace            *rate.Limiter
	lowest, highest rate.Limit
	// head is a semaphore for the head of the queue. All other callers wait for
	// it, so that a changed pace applies to all of them.
	head chan struct{}

	mu sync.Mutex
	// slowed is when the pace was last lowered.
	slowed time.Time
	// returned counts the tokens that calls took here but not from AWS.
	returned int
}

// sharedTokens are those of a bucket that several classes use. The lock is held
// while a call takes a token from each of its buckets; it is taken after that
// of the limiter.
type sharedTokens struct {
	sync.Mutex
	*rate.Limiter
}

// newLimiter returns a limiter for a bucket, with a refill rate that is
// multiplied by a factor.
func newLimiter(clk clock.Clock, b bucket, shared *sharedTokens, speed float64) *limiter {
	tokens := newTokens(b, speed)
	l := &limiter{
		clock: clk, tokens: tokens, shared: shared, pace: tokens, highest: tokens.Limit(), head: make(chan struct{}, 1),
	}
	if b.rate < lowestPace {
		l.pace, l.highest = rate.NewLimiter(rate.Inf, 1), rate.Limit(slowPace*speed)
	}
	l.lowest = min(l.highest, max(l.highest*lowestShare, rate.Limit(lowestPace*speed)))

	return l
}

// isSlow reports whether attempts have a pace of their own.
func (l *limiter) isSlow() bool { return l.pace != l.tokens }

// newTokens returns our part of a bucket, full.
func newTokens(b bucket, speed float64) *rate.Limiter {
	return rate.NewLimiter(rate.Limit(b.rate*rateShare*speed), max(1, int(float64(b.burst)*burstShare)))
}

// take waits until an attempt may be made. The attempt after a throttled one
// needs no second token of a slow bucket, because AWS took none, and does not
// queue behind those that do. A caller that is canceled, or for which there is
// no token until the given time, leaves the queue and takes none.
func (l *limiter) take(ctx context.Context, until time.Time, again bool) error {
	if again && l.isSlow() {
		return l.spend(ctx, until, l.pace)
	}
	if err := l.queue(ctx, until); err != nil {
		return err
	}
	defer func() { <-l.head }()
	if !l.reuse() {
		return l.spend(ctx, until, l.needed()...)
	}
	err := l.spend(ctx, until, l.pace)
	if err != nil {
		l.refund()
	}

	return err
}

// spend waits until each of the buckets has a token, and takes them.
func (l *limiter) spend(ctx context.Context, until time.Time, needed ...*rate.Limiter) error {
	for ctx.Err() == nil {
		delay := l.allow(needed)
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
func (l *limiter) allow(needed []*rate.Limiter) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shared != nil {
		l.shared.Lock()
		defer l.shared.Unlock()
	}
	now := l.clock.Now()
	delay := missing(now, needed)
	if delay == 0 {
		for _, b := range needed {
			b.AllowN(now, 1)
		}
	}

	return delay
}

// needed returns the buckets that a first attempt takes a token from.
func (l *limiter) needed() []*rate.Limiter {
	all := []*rate.Limiter{l.tokens}
	if l.isSlow() {
		all = append(all, l.pace)
	}
	if l.shared != nil {
		all = append(all, l.shared.Limiter)
	}

	return all
}

// refund returns the token of a call whose last attempt was throttled. A bucket
// that fills quickly does not need it.
func (l *limiter) refund() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isSlow() {
		l.returned = min(l.returned+1, l.tokens.Burst())
	}
}

// reuse takes a returned token and reports whether there was one.
func (l *limiter) reuse() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.returned == 0 {
		return false
	}
	l.returned--

	return true
}

// missing returns how long it takes until each of the buckets has a token.
func missing(now time.Time, buckets []*rate.Limiter) time.Duration {
	var longest time.Duration
	for _, b := range buckets {
		if tokens := b.TokensAt(now); tokens < 1 && b.Limit() != rate.Inf {
			seconds := (1 - tokens) / float64(b.Limit())
			longest = max(longest, time.Duration(math.Ceil(seconds*float64(time.Second))))
		}
	}

	return longest
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
// made at the given time. The bucket of AWS is empty then, so ours is emptied,
// too, unless it is slow: its tokens would be missing for a long time.
// Concurrent attempts count once.
func (l *limiter) throttled(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.Before(l.slowed) {
		return
	}
	now := l.clock.Now()
	l.slowed = now
	l.pace.SetLimitAt(now, max(min(l.pace.Limit(), l.highest)*slower, l.lowest))
	empty(now, l.pace)
}

// accepted raises a lowered pace after a response to an attempt that was made
// at the given time.
func (l *limiter) accepted(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.pace.Limit()
	if limit == rate.Inf || limit == l.highest || sent.Before(l.slowed) {
		return
	}
	if limit = min(limit*faster, l.highest); limit == l.highest && l.isSlow() {
		limit = rate.Inf
	}
	l.pace.SetLimitAt(l.clock.Now(), limit)
}

// empty takes all tokens from a bucket.
func empty(now time.Time, b *rate.Limiter) {
	if n := int(b.TokensAt(now)); n > 0 {
		b.AllowN(now, n)
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
