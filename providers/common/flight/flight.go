// Package flight shares one run of a function among any number of waiters.
//
// What it promises:
//
//   - The run has a context and a deadline of its own: no waiter's end ends it,
//     but when the last waiter leaves, its context is canceled. A waiter that never waits
//     never leaves: the run goes on until its deadline or [Call.Cancel].
//   - A waiter waits no longer than its own context allows, and never much
//     longer than the deadline, even if the function ignores its context.
//   - A panic in the function is an error for the waiters, not a hang.
//   - No lock is held while the function runs.
//
// When not to use it: see package cache where calls differ by a key or their
// results are kept.
package flight

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// Grace is how long a function may take to return once its context has ended,
// so that waiters get its own error rather than a bare deadline error.
const Grace = time.Second

var errNoResult = errors.New("call ended without a result")

// Call is one run of a function. Every successful [Start] or [Call.Join]
// requires one [Call.Wait].
type Call[T any] struct {
	cancel context.CancelFunc
	done   chan struct{} // closed once value and err are set

	value T
	err   error

	mu      sync.Mutex
	waiters int
	over    bool // done, or abandoned
}

// Start runs fn at once, with the caller as the first waiter. The function
// must return soon after its context ends.
func Start[T any](timeout time.Duration, fn func(context.Context) (T, error)) *Call[T] {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	c := &Call[T]{cancel: cancel, done: make(chan struct{}), waiters: 1}
	unhook := context.AfterFunc(ctx, func() { c.giveUp(ctx) })
	go c.run(ctx, fn, unhook)

	return c
}

// Join adds a waiter. It returns false if the call is over and a new one is
// needed.
func (c *Call[T]) Join() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.over {
		return false
	}
	c.waiters++

	return true
}

// Wait returns the outcome of the call, or the error of ctx if that ends first.
func (c *Call[T]) Wait(ctx context.Context) (T, error) {
	select {
	case <-c.done:
		return c.value, c.err
	case <-ctx.Done():
		c.leave()
		var zero T

		return zero, ctx.Err()
	}
}

// Cancel ends the context of the run, however many waiters there are.
func (c *Call[T]) Cancel() { c.cancel() }

// leave removes one waiter; without any, the result is not needed.
func (c *Call[T]) leave() {
	c.mu.Lock()
	c.waiters--
	abandoned := c.waiters == 0
	c.over = c.over || abandoned
	c.mu.Unlock()

	if abandoned {
		c.cancel()
	}
}

func (c *Call[T]) run(ctx context.Context, fn func(context.Context) (T, error), unhook func() bool) {
	var value T
	err := errNoResult // stays if fn ends its goroutine
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic in call: %v", p)
			klog.FromContext(ctx).Error(err, "Recovered from a panic in a shared call", "stack", string(debug.Stack()))
		}
		unhook()
		c.finish(value, err)
	}()
	value, err = fn(ctx)
}

// giveUp runs when the context of the call has ended before the call.
func (c *Call[T]) giveUp(ctx context.Context) {
	timer := time.NewTimer(Grace)
	defer timer.Stop()
	select {
	case <-c.done:
	case <-timer.C:
		var zero T
		c.finish(zero, fmt.Errorf("call did not return: %w", ctx.Err()))
	}
}

// finish sets the outcome; only the first one counts.
func (c *Call[T]) finish(value T, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	select {
	case <-c.done:
	default:
		c.over = true
		c.value, c.err = value, err
		c.cancel()
		close(c.done)
	}
}
