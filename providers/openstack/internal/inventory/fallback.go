package inventory

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// errLate means that a list is still being read.
var errLate = apierr.Mark(apierr.ErrUnavailable, errors.New("the list is not complete yet"))

// soon returns what is listed, or errLate if that takes longer than a caller waits.
func soon[T any](ctx context.Context, from *cache.Value[T], wait time.Duration) (T, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	list, err := from.Get(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return list, errLate
	}

	return list, err
}

// maxReads is how many single objects are read at a time in place of a list.
const maxReads = 8

// fallback reads single objects in place of a list that is late or was refused. If that fails
// as well, the service is down: then callers get the error of the list for a while, so
// that they do not all make requests, and not all at once when the service is up again.
type fallback struct {
	clock clock.PassiveClock
	pause time.Duration
	slots chan struct{}

	mu     sync.Mutex
	failed time.Time
}

func newFallback(config Config) *fallback {
	return &fallback{clock: config.Clock, pause: config.RetryAge, slots: make(chan struct{}, maxReads)}
}

// instead reads an object in place of a list, unless the reason why there is none applies to the
// object as well. Without a reason, it just reads it.
func instead[T any](ctx context.Context, f *fallback, reason error, read func() (T, error)) (T, error) {
	var none T
	if reason == nil {
		return read()
	}
	if !isOfList(reason) {
		return none, reason
	}
	select {
	case f.slots <- struct{}{}:
		defer func() { <-f.slots }()
	case <-ctx.Done():
		return none, ctx.Err()
	}
	if f.isDown() {
		return none, reason
	}
	found, err := read()
	if err != nil && !errors.Is(err, ErrAbsent) && ctx.Err() == nil {
		f.setDown()
	}

	return found, err
}

func (f *fallback) isDown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()

	return f.clock.Since(f.failed) < f.pause
}

func (f *fallback) setDown() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = f.clock.Now()
}

// isOfList reports whether a list can fail for a reason and requests for single objects not.
// Without a login, without a connection, and while requests are throttled, everything fails.
func isOfList(reason error) bool {
	e, ok := errors.AsType[*client.Error](reason)

	return !ok || e.Service != client.Identity && e.Status != 0 && !errors.Is(reason, apierr.ErrThrottled)
}
