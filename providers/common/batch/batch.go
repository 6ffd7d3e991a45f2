// Package batch combines the requests of many callers into few calls.
//
// What it promises:
//
//   - Each caller gets the result for its own key, or an error; a key that the
//     call returned no result for is an error, never a zero value.
//   - A caller waits no longer than its own context allows, and its end does
//     not affect the others: the call has a context and a deadline of its own,
//     which is canceled early only when no caller is left.
//   - Every caller of the batch gets the error of a failed call. Nothing is
//     retried here, neither together nor one by one.
//   - A request never gets a result that was requested before it: callers
//     that come once the call has begun are in the next batch.
//   - No lock is held during a call, and a panic in it is an error for the
//     callers.
//
// When not to use it: see package snapshot where a list of all objects may be
// cheaper, or results are to be kept; package cache where a call reads one key.
package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

// ErrNoResult means that the call succeeded without a result for this key.
var ErrNoResult = errors.New("no result for this key")

// DefaultTimeout bounds a call when [Options] does not.
const DefaultTimeout = 30 * time.Second

// Result is the result for one key: a value or an error.
type Result[V any] struct {
	Value V
	Err   error
}

// Func requests many distinct keys in one call. Its error is the error of all
// keys. It must return soon after ctx ends, which is not the context of any
// caller. Callers of the same key share its value, which none of them may
// change.
type Func[K comparable, V any] func(ctx context.Context, keys []K) (map[K]Result[V], error)

// Options defines how requests are gathered.
type Options struct {
	// Window is how long the first caller of a batch waits for others.
	Window time.Duration
	// MaxSize is the number of keys that starts a batch before its window
	// ends; 0 means no limit.
	MaxSize int
	// Timeout bounds a call; 0 means DefaultTimeout.
	Timeout time.Duration
}

// Batcher gathers requests. It is safe for concurrent use.
type Batcher[K comparable, V any] struct {
	call Func[K, V]
	opts Options

	mu        sync.Mutex
	gathering *group[K, V]
}

// group is one batch, from its first request to its result.
type group[K comparable, V any] struct {
	full   chan struct{} // closed when MaxSize is reached
	flight *flight.Call[map[K]Result[V]]

	// Guarded by Batcher.mu, until the group stops gathering.
	keys    []K
	waiters map[K]int
}

// New makes a Batcher around call.
func New[K comparable, V any](call Func[K, V], opts Options) *Batcher[K, V] {
	opts.Timeout = cmp.Or(opts.Timeout, DefaultTimeout)

	return &Batcher[K, V]{call: call, opts: opts}
}

// Get requests one key, together with other calls at about the same time.
func (b *Batcher[K, V]) Get(ctx context.Context, key K) (V, error) {
	var zero V
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	g := b.join(key)
	results, err := g.flight.Wait(ctx)
	if err != nil {
		if ctx.Err() != nil {
			b.leave(g, key)
		}

		return zero, err
	}
	result, ok := results[key]
	if !ok {
		return zero, fmt.Errorf("%v: %w", key, ErrNoResult)
	}

	return result.Value, result.Err
}

// join adds a request to the batch that is being gathered, or begins one.
func (b *Batcher[K, V]) join(key K) *group[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()

	g := b.gathering
	if g == nil || !g.flight.Join() {
		g = b.begin()
	}
	if g.waiters[key]++; g.waiters[key] == 1 {
		g.keys = append(g.keys, key)
	}
	if len(g.keys) == b.opts.MaxSize {
		b.gathering = nil
		close(g.full)
	}

	return g
}

// begin opens a batch and its window. Callers hold the lock.
func (b *Batcher[K, V]) begin() *group[K, V] {
	g := &group[K, V]{full: make(chan struct{}), waiters: map[K]int{}}
	b.gathering = g
	g.flight = flight.Start(b.opts.Window+b.opts.Timeout, func(ctx context.Context) (map[K]Result[V], error) {
		return b.run(ctx, g)
	})

	return g
}

// run gathers for a while and then calls.
func (b *Batcher[K, V]) run(ctx context.Context, g *group[K, V]) (map[K]Result[V], error) {
	window := time.NewTimer(b.opts.Window)
	defer window.Stop()
	select {
	case <-window.C:
	case <-g.full:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	keys := b.stopGathering(g)
	if len(keys) == 0 {
		return nil, ctx.Err() // the last caller is leaving just now
	}
	ctx, cancel := context.WithTimeout(ctx, b.opts.Timeout)
	defer cancel()
	results, err := b.call(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("batch of %d: %w", len(keys), err)
	}

	return results, nil
}

// stopGathering fixes the keys of a batch: from now on, callers begin another.
func (b *Batcher[K, V]) stopGathering(g *group[K, V]) []K {
	b.mu.Lock()
	defer b.mu.Unlock()

	if b.gathering == g {
		b.gathering = nil
	}
	keys := g.keys
	g.keys = nil

	return keys
}

// leave withdraws a request, so that a batch still being gathered requests only
// what a caller waits for.
func (b *Batcher[K, V]) leave(g *group[K, V], key K) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if g.waiters[key]--; g.waiters[key] > 0 {
		return
	}
	delete(g.waiters, key)
	if i := slices.Index(g.keys, key); i >= 0 {
		g.keys = slices.Delete(g.keys, i, i+1)
	}
}
