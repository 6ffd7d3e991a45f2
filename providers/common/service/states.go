package service

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// stateAge is how long the state of a Service is kept without an operation: one that is deleted
// while another process leads has no last one.
const stateAge = 24 * time.Hour

// states has the state of each Service. The zero value is empty.
type states[S any] struct {
	mu  sync.Mutex
	all map[types.UID]*stateOf[S]
}

type stateOf[S any] struct {
	state S
	used  time.Time
}

// of returns the state of a Service. Another Service of the same name has another one.
func (s *states[S]) of(uid types.UID, now time.Time) *S {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.all[uid]
	if known == nil {
		maps.DeleteFunc(s.all, func(_ types.UID, old *stateOf[S]) bool { return now.Sub(old.used) > stateAge })
		known = new(stateOf[S])
		if s.all == nil {
			s.all = map[types.UID]*stateOf[S]{}
		}
		s.all[uid] = known
	}
	known.used = now

	return &known.state
}

// forget drops the state of a Service.
func (s *states[S]) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, uid)
}
