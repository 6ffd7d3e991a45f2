package keylock

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks Set
		first, err := locks.Lock(t.Context(), "default/web")
		if err != nil {
			t.Fatal(err)
		}
		if other, err := locks.Lock(t.Context(), "default/api"); err != nil {
			t.Errorf("another key must be free: %v", err)
		} else {
			other()
		}

		var got atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			second, err := locks.Lock(t.Context(), "default/web")
			if err != nil {
				t.Error(err)

				return
			}
			got.Store(true)
			second()
		})
		synctest.Wait()
		if got.Load() {
			t.Error("the lock was taken twice")
		}
		first()
		first()
		wg.Wait()
		if len(locks.locks) != 0 {
			t.Errorf("locks that are not in use must not be stored: %v", locks.locks)
		}
	})
}

// A waiting caller returns when its own context ends, and the lock stays
// usable.
func TestLockEndsWithTheContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var locks Set
		unlock, err := locks.Lock(t.Context(), "default/web")
		if err != nil {
			t.Fatal(err)
		}
		reason := errors.New("the caller went away")
		ctx, cancel := context.WithCancelCause(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := locks.Lock(ctx, "default/web"); !errors.Is(err, reason) {
				t.Errorf("waited and got %v", err)
			}
		})
		synctest.Wait()
		cancel(reason)
		wg.Wait()
		unlock()
		again, err := locks.Lock(t.Context(), "default/web")
		if err != nil {
			t.Fatal(err)
		}
		again()
		if len(locks.locks) != 0 {
			t.Errorf("locks that are not in use must not be stored: %v", locks.locks)
		}
	})
}

func TestLockExcludes(t *testing.T) {
	t.Parallel()
	var locks Set
	var wg sync.WaitGroup
	inside := 0 // the race detector reports two that are inside
	for range 8 {
		wg.Go(func() {
			for range 50 {
				unlock, err := locks.Lock(t.Context(), "vpc-1")
				if err != nil {
					t.Error(err)

					return
				}
				inside++
				unlock()
			}
		})
	}
	wg.Wait()
	if inside != 8*50 {
		t.Errorf("%d were inside", inside)
	}
}
