package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// closer counts the calls of Close, which block until release.
type closer struct {
	calls, ended atomic.Int32
	release      chan struct{}
	err          error
}

func (c *closer) Close(ctx context.Context) error {
	c.calls.Add(1)
	select {
	case <-c.release:
	case <-ctx.Done():
		c.err = ctx.Err()
	}
	c.ended.Add(1)

	return c.err
}

// The cloud is logged out of once, and the process does not end before the
// logout has: a signal and a lost lease can coincide.
func TestCloseCloudOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud := &closer{release: make(chan struct{})}
		life := &lifetime{}
		life.track(cloud)
		var left atomic.Int32
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				life.closeCloud()
				left.Add(1)
			})
		}
		synctest.Wait()
		if n := left.Load(); n != 0 {
			t.Errorf("%d calls returned during the logout", n)
		}
		close(cloud.release)
		all.Wait()
		life.closeCloud()
		if n := cloud.calls.Load(); n != 1 {
			t.Errorf("closed %d times", n)
		}
	})
}

// A cloud that does not respond delays the exit only for a bounded time.
func TestCloseCloudIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		cloud := &closer{release: make(chan struct{})}
		life := &lifetime{}
		life.track(cloud)
		life.closeCloud() // otherwise the test deadlocks
		if !errors.Is(cloud.err, context.DeadlineExceeded) {
			t.Errorf("closing ended with %v", cloud.err)
		}
	})
}

// The end of the process waits for that of a proof, which has a session of its own, but not forever. Nothing
// of it is started afterwards.
func TestCloseCloudWaitsForProof(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		logout time.Duration
		closed bool
	}{
		"Ends":  {closeTimeout / 2, true},
		"Hangs": {2 * closeTimeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				life := &lifetime{ctx: t.Context()}
				var loggedOut atomic.Bool
				life.watch(func(ctx context.Context) {
					<-ctx.Done()
					time.Sleep(tc.logout)
					loggedOut.Store(true)
				})
				began := time.Now()
				if closed := life.closeCloud(); closed != tc.closed || loggedOut.Load() != tc.closed || time.Since(began) > closeTimeout {
					t.Errorf("closed %t, logged out %t, after %v", closed, loggedOut.Load(), time.Since(began))
				}
				time.Sleep(tc.logout) // the watcher ends with the test
			})
		})
	}
}

// Nothing is closed for a cloud without sessions, or without a cloud.
func TestCloseCloudWithoutSessions(t *testing.T) {
	t.Parallel()
	life := &lifetime{}
	life.closeCloud()
	life = &lifetime{}
	life.track(&fakeCloud{})
	life.closeCloud()
	if life.cloud != nil {
		t.Errorf("tracks %v, which cannot be closed", life.cloud)
	}
}
