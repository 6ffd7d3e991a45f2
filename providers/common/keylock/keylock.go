// Package keylock has a lock for each key, such as the name of a Service or the ID
// of a VPC.
//
// What it promises: calls for the same key never run at the same time, and waiting
// for one ends with the caller's context; a key that is not in use takes no memory.
//
// It is not for reads that many callers share, which packages flight, batch and
// cache make once, nor for state in memory, for which a mutex is enough.
package keylock

import (
	"context"
	"fmt"
	"sync"
)

// Set is a set of locks, each under a key. The zero value is ready. It is safe for
// concurrent use.
type Set struct {
	mu    sync.Mutex
	locks map[string]*lock
}

// lock is held by the caller that put a token into its channel.
type lock struct {
	token chan struct{}
	// users hold the lock or wait for it. Guarded by Set.mu.
	users int
}

// Lock takes the lock of a key, waiting until it is free or ctx ends; in the
// latter case it is not taken, and the error wraps why. The function that it
// returns frees the lock; only its first call counts.
func (s *Set) Lock(ctx context.Context, key string) (unlock func(), err error) {
	held := s.join(key)
	select {
	case held.token <- struct{}{}:
	default:
		select {
		case held.token <- struct{}{}:
		case <-ctx.Done():
			s.leave(key, held)

			return nil, fmt.Errorf("wait for the end of another call for %s: %w", key, context.Cause(ctx))
		}
	}

	return sync.OnceFunc(func() {
		<-held.token
		s.leave(key, held)
	}), nil
}

func (s *Set) join(key string) *lock {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks == nil {
		s.locks = map[string]*lock{}
	}
	held := s.locks[key]
	if held == nil {
		held = &lock{token: make(chan struct{}, 1)}
		s.locks[key] = held
	}
	held.users++

	return held
}

func (s *Set) leave(key string, held *lock) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held.users--
	if held.users == 0 {
		delete(s.locks, key)
	}
}
