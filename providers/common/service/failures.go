package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// failureTTL is how long a failure counts without another operation: the service
// controller tries again within 5 minutes, plus the time of an operation. Later it has
// given up, because the Service is deleted or is the task of another controller.
const failureTTL = 30 * time.Minute

// failures are the Services whose last operation failed. The zero value is empty.
type failures struct {
	mu  sync.Mutex
	all map[types.UID]failure
}

// failure is when the operations on a load balancer failed for the first and the last
// time, without a success in between.
type failure struct{ first, last time.Time }

// note stores the result of an operation. One that was canceled shows nothing about the
// load balancer.
func (f *failures) note(uid types.UID, err error, at time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		delete(f.all, uid)
	case errors.Is(err, context.Canceled):
	default:
		if f.all == nil {
			f.all = map[types.UID]failure{}
		}
		known, ok := f.all[uid]
		if !ok {
			known.first = at
		}
		known.last = at
		f.all[uid] = known
	}
}

// since returns since when the operations on each of the load balancers have failed, and
// drops those that are not tried again.
func (f *failures) since(now time.Time) []time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []time.Time
	for uid, failure := range f.all {
		if now.Sub(failure.last) > failureTTL {
			delete(f.all, uid)

			continue
		}
		all = append(all, failure.first)
	}

	return all
}
