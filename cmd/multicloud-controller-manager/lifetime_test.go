package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// closer counts how often it is closed, and takes until release.
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

// The cloud is logged out of once, and nobody leaves the process before that
// has ended: a signal and a lost lease can come at the same time.
func TestCloseCloudOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cloud := &closer{release: make(chan struct{})}
		life := &lifetime{}
		life.holds(cloud)
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
			t.Errorf("%d may leave while the logout is under way", n)
		}
		close(cloud.release)
		all.Wait()
		life.closeCloud()
		if n := cloud.calls.Load(); n != 1 {
			t.Errorf("closed %d times", n)
		}
	})
}

// A cloud that does not answer holds nobody up for long.
func TestCloseCloudIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(*testing.T) {
		cloud := &closer{release: make(chan struct{})}
		life := &lifetime{}
		life.holds(cloud)
		life.closeCloud() // or the test ends as a deadlock
		if !errors.Is(cloud.err, context.DeadlineExceeded) {
			t.Errorf("closing ended with %v", cloud.err)
		}
	})
}

// A cloud without sessions, and none at all, need nothing.
func TestCloseCloudWithoutSessions(t *testing.T) {
	t.Parallel()
	life := &lifetime{}
	life.closeCloud()
	life = &lifetime{}
	life.holds(&fakeCloud{})
	life.closeCloud()
	if life.cloud != nil {
		t.Errorf("holds %v, which cannot be closed", life.cloud)
	}
}
