package client

import (
	"context"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

// once is a value that is read once, for all callers. A failure is not kept.
type once[T any] struct {
	mu    sync.Mutex
	value *T
	call  *flight.Call[T]
}

// get returns the value.
func (o *once[T]) get(ctx context.Context, timeout time.Duration, read func(context.Context) (T, error)) (T, error) {
	o.mu.Lock()
	if o.value != nil {
		defer o.mu.Unlock()

		return *o.value, nil
	}
	if o.call == nil || !o.call.Join() {
		o.call = flight.Start(timeout, func(ctx context.Context) (T, error) {
			value, err := read(ctx)
			if err == nil {
				o.mu.Lock()
				o.value = &value
				o.mu.Unlock()
			}

			return value, err
		})
	}
	call := o.call
	o.mu.Unlock()

	return call.Wait(ctx)
}

// reset has the value read again.
func (o *once[T]) reset() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value = nil
}
