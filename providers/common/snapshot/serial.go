package snapshot

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

// serial lets one caller at a time fetch from the cloud: what others fetch meanwhile
// is often the result for the own keys, too. So is a failure: callers that waited
// while a call failed share its error, or each would hang as long as the first when
// the cloud does not respond. A call has a deadline of its own and is not ended by
// that of the caller that began it, as long as another one waits.
type serial struct {
	timeout time.Duration
	// held keeps a call that every caller left, and that has not returned yet,
	// from running beside the next one.
	held chan struct{}

	mu      sync.Mutex
	running *flight.Call[struct{}]
}

// newSerial returns a serial for calls with a timeout.
func newSerial(timeout time.Duration) *serial {
	return &serial{timeout: timeout, held: make(chan struct{}, 1)}
}

// do runs fetch while no other caller does, or returns the failure of another
// caller. If ctx ends before, fetch may still run.
func (s *serial) do(ctx context.Context, fetch func(context.Context) error) error {
	for {
		call, own := s.join(fetch) //nolint:contextcheck // the call has a context of its own, since several callers wait for it
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
func (s *serial) join(fetch func(context.Context) error) (call *flight.Call[struct{}], own bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil && s.running.Join() {
		return s.running, false
	}
	s.running = flight.Start(s.timeout, func(ctx context.Context) (struct{}, error) {
		select {
		case s.held <- struct{}{}:
			defer func() { <-s.held }()

			return struct{}{}, fetch(ctx)
		case <-ctx.Done():
			return struct{}{}, ctx.Err()
		}
	})

	return s.running, true
}
