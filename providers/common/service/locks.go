package service

import (
	"context"
	"fmt"
	"sync"
)

// Locks is a set of locks, each under a key. The zero value is ready; a lock
// that nobody holds or waits for takes no memory.
type Locks struct {
	mu    sync.Mutex
	locks map[string]*lock
}

// lock is held by the caller that put a token into its channel.
type lock struct {
	room chan struct{}
	// users hold the lock or wait for it. Guarded by Locks.mu.
	users int
}

// Lock takes the lock of a key, waiting until it is free or ctx ends; in the
// latter case it is not taken, and the error wraps why. The function that it
// gives frees the lock; only its first call counts.
func (l *Locks) Lock(ctx context.Context, key string) (unlock func(), err error) {
	held := l.join(key)
	select {
	case held.room <- struct{}{}:
	default:
		select {
		case held.room <- struct{}{}:
		case <-ctx.Done():
			l.leave(key, held)
			return nil, fmt.Errorf("wait for the end of another call for %s: %w", key, context.Cause(ctx))
		}
	}
	return sync.OnceFunc(func() {
		<-held.room
		l.leave(key, held)
	}), nil
}

func (l *Locks) join(key string) *lock {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.locks == nil {
		l.locks = map[string]*lock{}
	}
	held := l.locks[key]
	if held == nil {
		held = &lock{room: make(chan struct{}, 1)}
		l.locks[key] = held
	}
	held.users++
	return held
}

func (l *Locks) leave(key string, held *lock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held.users--
	if held.users == 0 {
		delete(l.locks, key)
	}
}
