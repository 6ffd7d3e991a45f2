package inventory

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// maxReads is how many single objects are read at a time in place of a list.
const maxReads = 8

// fallback reads single objects in place of a list that is late or was refused. If that shows
// that the service is down, callers get the error of the list for a while, so
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
	if isOfAll(reason) {
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
	if ctx.Err() == nil && isDown(err) {
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

// isOfAll reports whether all requests fail for a reason: without a login, without a
// connection, and while requests are throttled. A response, or none in time, is of one request.
func isOfAll(reason error) bool {
	e, ok := errors.AsType[*client.Error](reason)

	return ok && (e.Service == client.Identity || !e.WasSent() || errors.Is(reason, apierr.ErrThrottled))
}

// isDown reports whether the error of a request for one object means that the service is down.
func isDown(err error) bool {
	e, ok := errors.AsType[*client.Error](err)

	return isOfAll(err) || ok && e.Status >= http.StatusInternalServerError
}
