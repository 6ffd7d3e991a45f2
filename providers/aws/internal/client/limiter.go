package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

const (
	// burstShare and rateShare are the parts of a bucket of AWS that are used: its
	// clock is not ours, and calls that left at even distances arrive closer to
	// each other.
	burstShare = 0.9
	rateShare  = 0.95

	// slower is what remains of the rate after a throttled response, faster what
	// a response of any other kind makes of a lowered rate.
	slower = 0.7
	faster = 1.25
	// lowestShare and lowestRate bound how far the rate goes down. However many
	// responses are throttled, the next attempt is at most half a second away, or
	// as long as AWS itself needs for the next token.
	lowestShare = 0.25
	lowestRate  = 2
)

// errNoToken is the end of a call for which there is no token in time.
var errNoToken = errors.New("no token of the rate limiter in time")

// limiter paces the calls of one operation class as AWS does, so that few are
// throttled, and paces them slower while some are: another process may use the
// same account. It is safe for concurrent use.
//
// The adaptive mode of the SDK's retryer does not fit. It has one rate for all
// operations of a client, starts to pace only after the first throttled response,
// from whatever rate it then measures, and waits for a token without bound.
type limiter struct {
	clock clock.Clock
	// highest is the rate without throttled responses, lowest that with nothing
	// else.
	highest, lowest rate.Limit
	tokens          *rate.Limiter
	// turn is held by the caller that waits for the next token. The others queue
	// behind it, so that a changed rate counts for all of them.
	turn chan struct{}

	mu sync.Mutex
	// lowered is when the rate went down last.
	lowered time.Time
}

// newLimiter returns a limiter for a bucket that fills faster than that of AWS by
// a factor.
func newLimiter(clk clock.Clock, b bucket, speed float64) *limiter {
	highest := rate.Limit(b.rate * rateShare * speed)

	return &limiter{
		clock:   clk,
		highest: highest,
		lowest:  min(highest, max(highest*lowestShare, rate.Limit(lowestRate*speed))),
		tokens:  rate.NewLimiter(highest, max(1, int(float64(b.burst)*burstShare))),
		turn:    make(chan struct{}, 1),
	}
}

// take waits for a token. A caller that gives up, or for which there is none
// until the given time, leaves the queue without one.
func (l *limiter) take(ctx context.Context, until time.Time) error {
	if err := l.queue(ctx, until); err != nil {
		return err
	}
	defer func() { <-l.turn }()
	now := l.clock.Now()
	token := l.tokens.ReserveN(now, 1)
	delay := token.DelayFrom(now)
	if delay > 0 && now.Add(delay).After(until) {
		token.CancelAt(now)

		return errNoToken
	}
	if err := sleep(ctx, l.clock, delay); err != nil {
		token.CancelAt(l.clock.Now())

		return err
	}

	return nil
}

// queue waits for the caller's turn.
func (l *limiter) queue(ctx context.Context, until time.Time) error {
	select {
	case l.turn <- struct{}{}:
		return nil
	default:
	}
	timer := l.clock.NewTimer(until.Sub(l.clock.Now()))
	defer timer.Stop()
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-timer.C():
		return errNoToken
	case <-ctx.Done():
		return ctx.Err()
	}
}

// throttled lowers the rate after a throttled response to an attempt that was
// made at a time. The bucket of AWS is empty then, so ours is emptied, too. The
// attempts that were under way together count once.
func (l *limiter) throttled(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if sent.Before(l.lowered) {
		return
	}
	now := l.clock.Now()
	l.lowered = now
	l.tokens.SetLimitAt(now, max(l.tokens.Limit()*slower, l.lowest))
	if n := int(l.tokens.TokensAt(now)); n > 0 {
		l.tokens.AllowN(now, n)
	}
}

// accepted raises a lowered rate after a response to an attempt that was made at
// a time.
func (l *limiter) accepted(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if limit := l.tokens.Limit(); limit < l.highest && !sent.Before(l.lowered) {
		l.tokens.SetLimitAt(l.clock.Now(), min(limit*faster, l.highest))
	}
}

// sleep waits for a duration, or until the caller gives up.
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

// limiters are those of one service in one region, one for each bucket. They are
// safe for concurrent use.
type limiters struct {
	service Service
	clock   clock.Clock
	speed   float64

	mu    sync.Mutex
	byKey map[string]*limiter
}

func newLimiters(service Service, t Tuning) *limiters {
	return &limiters{service: service, clock: t.Clock, speed: t.Speed, byKey: map[string]*limiter{}}
}

// of returns the limiter for an operation.
func (l *limiters) of(operation string, input any) *limiter {
	b := bucketOf(l.service, operation, input)
	key := b.key(operation)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byKey[key] == nil {
		l.byKey[key] = newLimiter(l.clock, b, l.speed)
	}

	return l.byKey[key]
}
