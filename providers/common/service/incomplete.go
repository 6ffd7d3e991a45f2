package service

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cloud-provider/api"
)

// The service controller tries again after as much time as the same was missing,
// within these bounds: what heals by itself is soon complete, and what a user has to
// change costs little.
const (
	MinRetryAfter = 30 * time.Second
	MaxRetryAfter = 5 * time.Minute
	// soonAfter is when it tries again what the next sync can end.
	soonAfter = 5 * time.Second
)

// Gap is something that a load balancer lacks although no call failed, or that it
// has and its Service does not need any more. There is no event when that can change.
type Gap struct {
	// Key stays the same as long as the gap is the same.
	Key string
	// Text is for users.
	Text string
	// Soon means that the next sync ends it, unlike others, which it would find again.
	Soon bool
}

// IncompleteError is that a load balancer serves and has gaps. The service controller
// tries again after the time of the RetryError that it wraps.
type IncompleteError struct {
	retry *api.RetryError
	cause error
}

// Error implements error.
func (e *IncompleteError) Error() string { return e.retry.Error() }

// Unwrap returns the RetryError, and the cause if there is one.
func (e *IncompleteError) Unwrap() []error {
	if e.cause == nil {
		return []error{e.retry}
	}

	return []error{e.retry, e.cause}
}

// Incomplete returns the IncompleteError about the gaps that an operation leaves; the
// cause may be nil. Without gaps it returns the cause. The service controller calls
// EnsureLoadBalancer at once after an error of UpdateLoadBalancer: without a cause
// that is left out if it is going to call it anyway.
func (r *Reconciler[S]) Incomplete(op Operation, gaps []Gap, cause error) error {
	uid := op.Service.UID
	if len(gaps) == 0 {
		if op.Ensures {
			r.retries.forget(uid)
		}

		return cause
	}
	var keys, texts []string
	for _, gap := range gaps {
		keys, texts = append(keys, gap.Key), append(texts, gap.Text)
	}
	after := MinRetryAfter
	switch {
	case op.Ensures:
		after = r.retries.schedule(uid, keys)
		if slices.ContainsFunc(gaps, func(gap Gap) bool { return gap.Soon }) {
			after = soonAfter
		}
	case cause == nil && r.retries.covers(uid, keys):
		return nil
	}
	text := "load balancer " + op.LoadBalancer + " is not complete and is synced again later: " + strings.Join(texts, "; ")

	return &IncompleteError{retry: api.NewRetryError(text, after), cause: cause}
}

// retries are the Services for which EnsureLoadBalancer is called again. The zero
// value is empty.
type retries struct {
	mu  sync.Mutex
	all map[types.UID]retry
}

// retry is which gaps a load balancer has had since when.
type retry struct {
	keys  []string
	since time.Time
}

// schedule stores the gaps of a load balancer, and returns when to try again.
func (r *retries) schedule(uid types.UID, keys []string) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.all[uid]
	if !ok || !slices.Equal(known.keys, keys) {
		known = retry{keys, time.Now()}
	}
	if r.all == nil {
		r.all = map[types.UID]retry{}
	}
	r.all[uid] = known

	return min(max(time.Since(known.since), MinRetryAfter), MaxRetryAfter)
}

// covers reports whether it is tried again because of all these gaps.
func (r *retries) covers(uid types.UID, keys []string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	known, ok := r.all[uid]

	return ok && !slices.ContainsFunc(keys, func(key string) bool { return !slices.Contains(known.keys, key) })
}

// forget drops a load balancer that is complete or deleted.
func (r *retries) forget(uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.all, uid)
}
