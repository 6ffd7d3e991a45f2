package instance

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

// maxConfirmations is how many results are kept, and calls are found that run: more than controllers have workers.
const maxConfirmations = 1 << 10

// confirmations run Source.Confirm, one call at a time for each Ref. Callers
// that want the same Ref share the running call and, for a while, its result:
// the controllers that check whether a Node's instance exists and the ones that
// read its metadata must not use up each other's calls.
type confirmations struct {
	source   Source
	provider string
	clock    clock.PassiveClock
	// timeout bounds a call, ttl is how long a result is shared.
	timeout, ttl time.Duration

	mu    sync.Mutex
	calls *lru.Cache // Ref to *confirmation
}

// confirmation is one call of Source.Confirm.
type confirmation struct {
	call *flight.Call[Result]
	// until is when the result expires. It is zero while the call runs, and
	// stays zero for a result that is not shared afterwards.
	until time.Time
}

// newConfirmations returns confirmations without any call.
func newConfirmations(source Source, opts Options) *confirmations {
	return &confirmations{
		source: source, provider: opts.Provider, clock: opts.Clock, timeout: opts.Timeout, ttl: opts.NegativeTTL,
		calls: lru.New(maxConfirmations),
	}
}

// get returns the result of a Confirm that runs, or that began less than the TTL
// ago, or of a new one.
func (c *confirmations) get(ctx context.Context, ref Ref) Result {
	result, err := c.join(ref).Wait(ctx) //nolint:contextcheck // the call has a context of its own, since several callers wait for it
	if err != nil {
		return Failed(err)
	}

	return result
}

// join returns the call whose result the caller waits for.
func (c *confirmations) join(ref Ref) *flight.Call[Result] {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.calls.Get(ref); ok {
		k := known.(*confirmation)
		if c.clock.Now().Before(k.until) || k.call.Join() {
			return k.call
		}
	}

	return c.start(ref).call
}

// start begins a call. Callers hold the lock.
func (c *confirmations) start(ref Ref) *confirmation {
	k, begun := &confirmation{}, c.clock.Now()
	k.call = flight.Start(c.timeout, func(ctx context.Context) (Result, error) {
		result := c.source.Confirm(ctx, ref).queried(c.provider, begun)
		if !errors.Is(ctx.Err(), context.Canceled) { // every caller gave up, so it means nothing
			c.keep(ref, k, result, begun)
		}

		return result, nil
	})
	c.calls.Add(ref, k)

	return k
}

// keep sets when a result expires. A missing instance is evidence from when the
// call began. One that is missing for now lasts half as long and from now on. So
// does an error, a quarter as long: the next attempt for a waiting Node must not get
// it again. An instance that was found is not kept: the next Lookup finds it.
func (c *confirmations) keep(ref Ref, k *confirmation, result Result, begun time.Time) {
	var until time.Time
	result = result.living()
	if result.kept != nil {
		until = c.clock.Now().Add(c.ttl / 2)
	} else if result.IsAbsent() {
		until = begun.Add(c.ttl)
	} else if _, err := result.Get(); err != nil {
		until = c.clock.Now().Add(c.ttl / 4)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	k.until = until
	if latest, _ := c.calls.Get(ref); until.IsZero() && latest == k {
		c.calls.Remove(ref)
	}
}
