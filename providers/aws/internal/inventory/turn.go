package inventory

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// A call that failed after a while is not repeated for a part of that time, and
// no longer than maxPause.
const (
	pausePart = 4
	maxPause  = 5 * time.Second
)

// turn lets one caller at a time ask EC2: what others ask meanwhile is often the
// answer to the own question, too. So is a failure. Callers that waited while a
// call failed share its error, or each would hang as long as the first when EC2
// does not answer.
type turn struct {
	clock   clock.PassiveClock
	timeout time.Duration
	held    chan struct{}
	// failures counts the failures to share, waiting the callers that wait.
	failures, waiting atomic.Int64

	// Guarded by held: the last failure, and until when nothing is asked.
	failure     error
	pausedUntil time.Time
}

// newTurn returns a turn for calls with a timeout.
func newTurn(clk clock.PassiveClock, timeout time.Duration) *turn {
	return &turn{clock: clk, timeout: timeout, held: make(chan struct{}, 1)}
}

// do runs ask while no other caller does, or returns the failure of another caller.
func (t *turn) do(ctx context.Context, ask func() error) error {
	before := t.failures.Load()
	t.waiting.Add(1)
	select {
	case t.held <- struct{}{}:
		t.waiting.Add(-1)
		defer func() { <-t.held }()
	case <-ctx.Done():
		t.waiting.Add(-1)
		return ctx.Err()
	}
	begun := t.clock.Now()
	if t.failures.Load() != before || begun.Before(t.pausedUntil) {
		return fmt.Errorf("not asked, the last call failed: %w", t.failure)
	}
	err := ask()
	if took := t.clock.Since(begun); t.shared(err, took) {
		t.failure, t.pausedUntil = err, t.clock.Now().Add(min(took/pausePart, maxPause))
		t.failures.Add(1)
	}
	return err
}

// shared reports whether a failure tells others something about EC2. A caller
// that gave up early does not.
func (t *turn) shared(err error, took time.Duration) bool {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return false
	case errors.Is(err, context.DeadlineExceeded):
		return took >= t.timeout/2
	}
	return true
}
