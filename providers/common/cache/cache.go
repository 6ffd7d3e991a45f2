// Package cache keeps results from the cloud for a while, each under a key of its
// own.
//
// What it promises:
//
//   - A value is handed out only while it is younger than the caller allows,
//     and never because a later fetch failed. Its age counts from the moment its
//     fetch began. Only the caller who began a fetch, or who came before it,
//     gets its value however long the fetch took.
//   - Callers who want the same key at the same time share one fetch, if that
//     began recently enough for each of them. Each waits no longer than its
//     own context allows; the fetch has a context and a deadline of its own and
//     is canceled early only when no caller is left, or never, see [Options.Detached].
//   - The size is bounded: the least recently used entry is evicted first.
//   - No lock is held during a fetch, and a panic in it is an error.
//   - Errors are not kept unless [Options.KeepError] is set. Their age counts from the
//     end of the fetch.
//
// When not to use it: see package snapshot where one call reads many objects and a
// list has all of them; package batch where results are not kept.
package cache

import (
	"cmp"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

// Defaults for what [Options] leaves out.
const (
	DefaultSize    = 1024
	DefaultTimeout = 30 * time.Second
)

// Outcome is how a caller got its result, for counting.
type Outcome string

// The outcomes of a Get.
const (
	// Hit came from the cache.
	Hit Outcome = "hit"
	// Shared waited for the fetch that another caller began.
	Shared Outcome = "shared"
	// Miss began a fetch.
	Miss Outcome = "miss"
)

// Fetch reads one key from the cloud. It must return soon after ctx ends, which
// is not the context of any caller.
type Fetch[K comparable, V any] func(ctx context.Context, key K) (V, error)

// Options are how long values live. Callers share them and must not change them.
type Options struct {
	// TTL is the age at which a value is no longer handed out.
	TTL time.Duration
	// Size is the number of entries kept; 0 means DefaultSize.
	Size int
	// Timeout bounds a fetch; 0 means DefaultTimeout.
	Timeout time.Duration
	// Detached is for fetches that may take longer than any caller waits: they go on when
	// all callers have left, until [Cache.Close], and are joined however long ago they
	// began. A value counts for twice the time that its fetch took, if that is longer than
	// the TTL.
	Detached bool
	// KeepError returns how long an error is handed out before the next fetch; 0
	// means not at all. Without it no error is kept.
	KeepError func(error) time.Duration
	// Observe is called with how each caller got its result. It must be quick.
	Observe func(Outcome)
	// Clock is that of the ages; by default it is the real one.
	Clock clock.PassiveClock
}

// Cache keeps one value per key. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	fetch Fetch[K, V]
	opts  Options

	mu       sync.Mutex
	values   *lru.Cache // K to kept[V]
	failures *lru.Cache // K to kept[error]
	flights  map[K]*inflight[V]
}

// kept is a value, with the moment its fetch began, or an error, with the moment it ended.
type kept[T any] struct {
	what T
	at   time.Time
	ttl  time.Duration
}

// inflight is a fetch under way.
type inflight[V any] struct {
	call *flight.Call[V]
	at   time.Time
}

// result is what a caller gets: at once, or from a call that began at a moment.
type result[V any] struct {
	value V
	err   error
	call  *flight.Call[V]
	at    time.Time
}

func (r result[V]) wait(ctx context.Context) (V, error) {
	if r.call == nil {
		return r.value, r.err
	}

	return r.call.Wait(ctx)
}

// New returns a Cache of what fetch returns.
func New[K comparable, V any](fetch Fetch[K, V], opts Options) *Cache[K, V] {
	opts.Size = cmp.Or(opts.Size, DefaultSize)
	opts.Timeout = cmp.Or(opts.Timeout, DefaultTimeout)
	opts.Clock = cmp.Or[clock.PassiveClock](opts.Clock, clock.RealClock{})

	return &Cache[K, V]{
		fetch:    fetch,
		opts:     opts,
		values:   lru.New(opts.Size),
		failures: lru.New(opts.Size),
		flights:  map[K]*inflight[V]{},
	}
}

// Get returns the value of key, younger than the TTL, or an error kept for it.
func (c *Cache[K, V]) Get(ctx context.Context, key K) (V, error) {
	return c.GetWithin(ctx, key, math.MaxInt64)
}

// GetWithin returns the value of key, younger than maxAge and the TTL. With a
// maxAge of 0 it is fetched for this very call. A kept error younger than maxAge is
// returned when there is no such value.
func (c *Cache[K, V]) GetWithin(ctx context.Context, key K, maxAge time.Duration) (V, error) {
	var zero V
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	called := c.opts.Clock.Now()
	found, how := c.find(key, maxAge)
	value, err := found.wait(ctx)
	if err == nil && !c.opts.Detached && found.expired(called, c.opts.Clock.Now(), min(maxAge, c.opts.TTL)) && ctx.Err() == nil {
		found, how = c.find(key, maxAge) // a fetch that began after this call
		value, err = found.wait(ctx)
	}
	if c.opts.Observe != nil {
		c.opts.Observe(how)
	}
	if err != nil {
		return zero, err
	}

	return value, nil
}

// expired reports whether the result of a fetch that began before the caller
// came is too old for it by now.
func (r result[V]) expired(called, now time.Time, maxAge time.Duration) bool {
	return r.call != nil && r.at.Before(called) && now.Sub(r.at) >= maxAge
}

// Peek returns the last value of key and the moment its fetch began, however old
// it is: the caller must check its age. It makes no call.
func (c *Cache[K, V]) Peek(key K) (value V, at time.Time, ok bool) {
	k, ok := get[V](c.values, key)
	if !ok {
		return value, time.Time{}, false
	}

	return k.what, k.at, true
}

// began returns when the fetch of key under way began.
func (c *Cache[K, V]) began(key K) (at time.Time, running bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, running := c.flights[key]
	if running {
		at = f.at
	}

	return at, running
}

// Forget drops what is known of key. The result of a fetch under way is still that
// of the callers that wait for it, but of none that comes later.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()

	delete(c.flights, key)
	c.values.Remove(key)
	c.failures.Remove(key)
}

// Close cancels the fetches under way. Callers that wait for them get an error.
func (c *Cache[K, V]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()

	for _, f := range c.flights {
		f.call.Cancel()
	}
}

// find returns what is kept, or joins a fetch that began within maxAge, or begins
// one.
func (c *Cache[K, V]) find(key K, maxAge time.Duration) (result[V], Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()

	now := c.opts.Clock.Now()
	if k, ok := get[V](c.values, key); ok && k.within(now, maxAge) {
		return result[V]{value: k.what}, Hit
	}
	if k, ok := get[error](c.failures, key); ok && k.within(now, maxAge) {
		return result[V]{err: k.what}, Hit
	}
	f, ok := c.flights[key]
	if ok && (c.opts.Detached || now.Sub(f.at) < min(maxAge, c.opts.TTL)) && f.call.Join() {
		return result[V]{call: f.call, at: f.at}, Shared
	}
	f = c.begin(key, now)
	if c.opts.Detached {
		f.call.Join() // a caller that never leaves
	}

	return result[V]{call: f.call, at: f.at}, Miss
}

// begin starts a fetch. Callers hold the lock.
func (c *Cache[K, V]) begin(key K, now time.Time) *inflight[V] {
	f := &inflight[V]{at: now}
	c.flights[key] = f
	f.call = flight.Start(c.opts.Timeout, func(ctx context.Context) (V, error) {
		defer c.land(key, f)
		value, err := c.fetch(ctx, key)
		if err != nil {
			c.keepError(ctx, key, f, err)
		} else {
			c.keepValue(key, f, value)
		}

		return value, err
	})

	return f
}

// keepValue keeps a value, unless a later fetch or a Forget overtook it.
func (c *Cache[K, V]) keepValue(key K, f *inflight[V], value V) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.flights[key] == f {
		ttl := c.opts.TTL
		if c.opts.Detached {
			ttl = max(ttl, 2*c.opts.Clock.Since(f.at))
		}
		c.values.Add(key, kept[V]{what: value, at: f.at, ttl: ttl})
		c.failures.Remove(key)
	}
}

// keepError keeps an error if that is wanted. That of a fetch which all callers
// left does not come from the cloud.
func (c *Cache[K, V]) keepError(ctx context.Context, key K, f *inflight[V], err error) {
	if c.opts.KeepError == nil || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	ttl := c.opts.KeepError(err)
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.flights[key] == f && ttl > 0 {
		c.failures.Add(key, kept[error]{what: err, at: c.opts.Clock.Now(), ttl: ttl})
	}
}

// land ends a fetch, however it went.
func (c *Cache[K, V]) land(key K, f *inflight[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.flights[key] == f {
		delete(c.flights, key)
	}
}

func get[T any](from *lru.Cache, key any) (kept[T], bool) {
	got, ok := from.Get(key)
	if !ok {
		return kept[T]{}, false
	}

	return got.(kept[T]), true
}

// within reports whether k is young enough for a caller.
func (k kept[T]) within(now time.Time, maxAge time.Duration) bool {
	return now.Sub(k.at) < min(maxAge, k.ttl)
}
