package inventory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

// turn lets one caller at a time fetch from EC2: what others fetch meanwhile is
// often the result for the own keys, too. So is a failure: callers that waited
// while a call failed share its error, or each would hang as long as the first
// when EC2 does not answer. A call has a deadline of its own and is not ended by
// that of the caller that began it, as long as another one waits.
type turn struct {
	timeout time.Duration
	// held keeps a call that every caller left, and that has not returned yet,
	// from running beside the next one.
	held chan struct{}

	mu      sync.Mutex
	running *flight.Call[struct{}]
}

// newTurn returns a turn for calls with a timeout.
func newTurn(timeout time.Duration) *turn {
	return &turn{timeout: timeout, held: make(chan struct{}, 1)}
}

// do runs fetch while no other caller does, or returns the failure of another
// caller. If ctx ends before, fetch may still run.
func (t *turn) do(ctx context.Context, fetch func(context.Context) error) error {
	for {
		call, own := t.join(fetch) //nolint:contextcheck // the call has a context of its own, since several callers wait for it
		_, err := call.Wait(ctx)
		switch {
		case ctx.Err() != nil && err != nil:
			return ctx.Err()
		case own:
			return err
		case err != nil:
			return fmt.Errorf("no call of its own, the one before failed: %w", err)
		}
	}
}

// join returns the running call, or starts one for fetch.
func (t *turn) join(fetch func(context.Context) error) (call *flight.Call[struct{}], own bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running != nil && t.running.Join() {
		return t.running, false
	}
	t.running = flight.Start(t.timeout, func(ctx context.Context) (struct{}, error) {
		select {
		case t.held <- struct{}{}:
			defer func() { <-t.held }()
			return struct{}{}, fetch(ctx)
		case <-ctx.Done():
			return struct{}{}, ctx.Err()
		}
	})
	return t.running, true
}
