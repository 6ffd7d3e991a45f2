package instance

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestRecentEnds proves that a key is free again at its moment, not before.
func TestRecentEnds(t *testing.T) {
	t.Parallel()

	r := newRecent[string](2)
	for i, step := range []struct {
		after time.Duration
		want  bool
	}{{0, true}, {0, false}, {time.Minute - 1, false}, {time.Minute, true}, {time.Minute, false}} {
		at := now.Add(step.after)
		if got := r.claim("a", at, at.Add(time.Minute)); got != step.want {
			t.Errorf("step %d: got %t", i, got)
		}
	}
}

// TestRecentIsBounded proves that old keys are evicted.
func TestRecentIsBounded(t *testing.T) {
	t.Parallel()

	r := newRecent[int](3)
	for key := range 100 {
		if !r.claim(key, now, now.Add(time.Hour)) {
			t.Errorf("key %d is not free", key)
		}
	}
	if r.until.Len() != 3 {
		t.Errorf("%d keys are stored", r.until.Len())
	}
	if r.claim(99, now, now.Add(time.Hour)) {
		t.Error("the newest key was evicted")
	}
}

// TestRecentClaimIsExclusive proves that of many at once one gets the key.
func TestRecentClaimIsExclusive(t *testing.T) {
	t.Parallel()

	r := newRecent[int](10)
	var got atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for key := range 10 {
				if r.claim(key, now, now.Add(time.Hour)) {
					got.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if got.Load() != 10 {
		t.Errorf("10 keys were given %d times", got.Load())
	}
}
