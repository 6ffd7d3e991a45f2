package snapshot

import (
	"context"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

// DefaultListWait is how long after the beginning of a list queries wait for it.
const DefaultListWait = 5 * time.Second

// lister lists all objects, no more than once at a time. A list has a deadline of its
// own, and goes on when no caller waits for it.
type lister struct {
	mu      sync.Mutex
	burst   burst
	running *flight.Call[struct{}]
	begun   time.Time
}

// awaitList waits for a list of all objects, if one is running or if so many more are
// needed that one is to be made, and reports whether it did. It ends Options.ListWait
// after the list began at the latest: what is not known then is read by key or alias, which the
// cloud may be able to do sooner. So is what a list does not have, or one that failed.
func (s *Snapshot[V]) awaitList(ctx context.Context, unknown int) bool {
	list, begun := s.joinList(unknown) //nolint:contextcheck // a list does not end with a caller
	if list == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.ListWait-s.now().Sub(begun))
	defer cancel()
	_, _ = list.Wait(ctx)

	return true
}

// joinList returns the list that is running, one that it starts, or nil.
func (s *Snapshot[V]) joinList(unknown int) (list *flight.Call[struct{}], begun time.Time) {
	l, now := &s.lister, s.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running != nil && l.running.Join() {
		return l.running, l.begun
	}
	if s.store.listed(now) || !s.store.busy(now) && !l.burst.exceeds(unknown, now) {
		return nil, now
	}
	l.running, l.begun = flight.Start(s.options.Timeout, s.list), now
	l.running.Join()

	return l.running, l.begun
}

// list lists all objects. The part of a list that came before it failed is used, too.
func (s *Snapshot[V]) list(ctx context.Context) (struct{}, error) {
	begun := s.now()
	all, err := s.api.List(ctx)
	s.store.putList(all, err == nil, begun, s.now())
	switch {
	case err != nil:
		s.options.ListFailed(ctx, len(all), err)
	case s.options.Metrics != nil:
		s.options.Metrics.Refreshed(begun)
	}

	return struct{}{}, err
}
