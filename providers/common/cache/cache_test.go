package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{}) // drops the stacks of recovered panics
	goleak.VerifyTestMain(m)
}

var errBoom = errors.New("boom")

// cloud is a Fetch that counts itself: the nth value of k is "k#n".
type cloud struct {
	mu    sync.Mutex
	count map[string]int
	takes time.Duration
	err   error
}

func (c *cloud) fetch(ctx context.Context, key string) (string, error) {
	c.mu.Lock()
	if c.count == nil {
		c.count = map[string]int{}
	}
	c.count[key]++
	n, takes, err := c.count[key], c.takes, c.err
	c.mu.Unlock()
	select {
	case <-time.After(takes):
		return fmt.Sprintf("%s#%d", key, n), err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (c *cloud) set(takes time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.takes, c.err = takes, err
}

func (c *cloud) calls(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.count[key]
}

type getter func(context.Context, string, time.Duration) (string, error)

// want checks one result.
func want(t *testing.T, get getter, key string, maxAge time.Duration, value string, wantErr error) {
	t.Helper()
	got, err := get(t.Context(), key, maxAge)
	if got != value || !errors.Is(err, wantErr) {
		t.Errorf("%s within %v: got %q, %v, want %q, %v", key, maxAge, got, err, value, wantErr)
	}
}

func TestCallersShareAFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{takes: time.Second}
		var mu sync.Mutex
		seen := map[cache.Outcome]int{}
		c := cache.New(source.fetch, cache.Options{TTL: time.Minute, Observe: func(o cache.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			seen[o]++
		}})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() { want(t, c.GetWithin, "a", time.Minute, "a#1", nil) })
		}
		wg.Wait()
		want(t, c.GetWithin, "a", time.Minute, "a#1", nil)
		if diff := cmp.Diff(map[cache.Outcome]int{cache.Miss: 1, cache.Shared: 19, cache.Hit: 1}, seen); diff != "" {
			t.Errorf("outcomes: %s", diff)
		}
	})
}

// A fetch that was young when a caller joined it, and too old when it ended,
// does not count for that caller. It does for the one who began it.
func TestSlowFetchIsTooOldForItsWaiters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{takes: 25 * time.Second}
		c := cache.New(source.fetch, cache.Options{TTL: 10 * time.Second})
		var wg sync.WaitGroup
		wg.Go(func() { want(t, c.GetWithin, "a", time.Hour, "a#1", nil) })
		time.Sleep(5 * time.Second)
		for range 10 {
			wg.Go(func() { want(t, c.GetWithin, "a", time.Hour, "a#2", nil) })
		}
		wg.Wait()
		if got := source.calls("a"); got != 2 {
			t.Errorf("%d fetches", got)
		}
	})
}

func TestErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{err: errBoom}
		c := cache.New(source.fetch, cache.Options{TTL: time.Minute})
		want(t, c.GetWithin, "a", time.Minute, "", errBoom)
		want(t, c.GetWithin, "a", time.Minute, "", errBoom)
		if source.calls("a") != 2 {
			t.Errorf("errors must not be kept: %d calls", source.calls("a"))
		}
		source.set(0, nil)
		want(t, c.GetWithin, "a", time.Minute, "a#3", nil)
		source.set(0, errBoom)
		want(t, c.GetWithin, "a", 0, "", errBoom)
		want(t, c.GetWithin, "a", time.Minute, "a#3", nil) // still young enough for this caller
		time.Sleep(time.Minute)
		want(t, c.GetWithin, "a", time.Hour, "", errBoom) // never stale instead of an error
		if got, at, ok := c.Peek("a"); got != "a#3" || !ok || time.Since(at) != time.Minute {
			t.Errorf("peek: got %q, %v ago, %t", got, time.Since(at), ok)
		}
	})
}

func TestKeptErrors(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{err: errBoom}
		c := cache.New(source.fetch, cache.Options{TTL: time.Minute, KeepError: func(err error) time.Duration {
			if errors.Is(err, errBoom) {
				return time.Hour
			}

			return 0
		}})
		for range 3 {
			if _, err := c.Get(t.Context(), "a"); !errors.Is(err, errBoom) {
				t.Errorf("got %v", err)
			}
			time.Sleep(10 * time.Minute)
		}
		if source.calls("a") != 1 {
			t.Errorf("a kept error must not be requested again: %d calls", source.calls("a"))
		}
		source.set(0, nil)
		want(t, c.GetWithin, "a", time.Minute, "a#2", nil) // too old an error for this caller
		time.Sleep(2 * time.Minute)
		want(t, c.GetWithin, "a", time.Hour, "a#3", nil) // the success has ended the error
		source.set(0, context.DeadlineExceeded)
		want(t, c.GetWithin, "b", time.Hour, "", context.DeadlineExceeded)
		want(t, c.GetWithin, "b", time.Hour, "", context.DeadlineExceeded)
		if source.calls("b") != 2 {
			t.Errorf("only chosen errors are kept: %d calls", source.calls("b"))
		}
	})
}

func TestLeavingDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{takes: 10 * time.Second}
		c := cache.New(source.fetch, cache.Options{TTL: time.Minute})
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Get(impatient, "a"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("hurried: got %v", err)
			}
		})
		wg.Go(func() { want(t, c.GetWithin, "a", time.Minute, "a#1", nil) })
		wg.Wait()
	})
}

func TestDeadlineOfTheFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{takes: time.Hour}
		c := cache.New(source.fetch, cache.Options{TTL: time.Minute, Timeout: 5 * time.Second})
		start := time.Now()
		want(t, c.GetWithin, "a", time.Minute, "", context.DeadlineExceeded)
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("waited %v", waited)
		}
	})
}

func TestNoLockDuringAFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c *cache.Cache[string, string]
		c = cache.New(func(ctx context.Context, key string) (string, error) {
			switch key {
			case "stuck":
				<-ctx.Done()
			case "outer":
				inner, err := c.Get(ctx, "inner")

				return "outer and " + inner, err
			}

			return key, ctx.Err()
		}, cache.Options{TTL: time.Minute, Timeout: time.Hour})
		stuck, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = c.Get(stuck, "stuck") })
		synctest.Wait()
		want(t, c.GetWithin, "outer", time.Minute, "outer and inner", nil)
		c.Forget("outer")
		if _, _, ok := c.Peek("stuck"); ok {
			t.Error("there is nothing to peek at")
		}
		cancel()
		wg.Wait()
	})
}

func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		c := cache.New(func(context.Context, string) (string, error) {
			if calls++; calls == 1 {
				panic("oh")
			}

			return "fine", nil
		}, cache.Options{TTL: time.Minute})
		if _, err := c.Get(t.Context(), "a"); err == nil || err.Error() != "panic in call: oh" {
			t.Errorf("got %v", err)
		}
		want(t, c.GetWithin, "a", time.Minute, "fine", nil)
	})
}

func TestForget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{takes: 10 * time.Second}
		c := cache.New(source.fetch, cache.Options{TTL: time.Hour})
		want(t, c.GetWithin, "a", time.Hour, "a#1", nil)
		c.Forget("a")
		var wg sync.WaitGroup
		wg.Go(func() { want(t, c.GetWithin, "a", time.Hour, "a#2", nil) })
		time.Sleep(time.Second)
		c.Forget("a") // while it is being fetched
		wg.Wait()
		want(t, c.GetWithin, "a", time.Hour, "a#3", nil)
	})
}

func TestSizeIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{}
		c := cache.New(source.fetch, cache.Options{TTL: time.Hour, Size: 2})
		want(t, c.GetWithin, "a", time.Hour, "a#1", nil)
		want(t, c.GetWithin, "b", time.Hour, "b#1", nil)
		want(t, c.GetWithin, "a", time.Hour, "a#1", nil) // a is used later than b
		want(t, c.GetWithin, "c", time.Hour, "c#1", nil)
		want(t, c.GetWithin, "a", time.Hour, "a#1", nil)
		want(t, c.GetWithin, "b", time.Hour, "b#2", nil)
	})
}

func TestValue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{takes: time.Second}
		v := cache.NewValue(
			func(ctx context.Context) (string, error) { return source.fetch(ctx, "list") },
			cache.Options{TTL: time.Minute},
		)
		within := func(ctx context.Context, _ string, maxAge time.Duration) (string, error) {
			return v.GetWithin(ctx, maxAge)
		}
		if _, _, ok := v.Peek(); ok {
			t.Error("there is nothing to peek at yet")
		}
		want(t, within, "list", time.Minute, "list#1", nil)
		want(t, within, "list", time.Minute, "list#1", nil)
		want(t, within, "list", time.Second, "list#2", nil)
		v.Forget()
		want(t, within, "list", time.Minute, "list#3", nil)
		if got, at, ok := v.Peek(); got != "list#3" || time.Since(at) != time.Second || !ok {
			t.Errorf("peek: got %q, %v ago, %t", got, time.Since(at), ok)
		}
	})
}

// TestClock: values and errors age by the clock that is passed.
func TestClock(t *testing.T) {
	t.Parallel()

	now := clocktesting.NewFakePassiveClock(time.Now())
	c := &cloud{}
	cached := cache.New(c.fetch, cache.Options{
		TTL: time.Minute, KeepError: func(error) time.Duration { return time.Second }, Clock: now,
	})
	get := func(want int) {
		t.Helper()
		if _, err := cached.Get(t.Context(), "a"); !errors.Is(err, c.err) || c.calls("a") != want {
			t.Errorf("%d calls, want %d: %v", c.calls("a"), want, err)
		}
	}
	get(1)
	now.SetTime(now.Now().Add(time.Minute - 1))
	get(1)
	c.set(0, errBoom)
	now.SetTime(now.Now().Add(1))
	get(2)
	get(2)
	now.SetTime(now.Now().Add(time.Second))
	get(3)
}

// TestDetached: a fetch that takes longer than its callers wait goes on, is the only one, and
// what it returns counts for twice its time.
func TestDetached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		source := &cloud{takes: 40 * time.Second}
		c := cache.New(source.fetch, cache.Options{TTL: 30 * time.Second, Timeout: time.Hour, Detached: true})
		for range 7 {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if _, err := c.Get(ctx, "k"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a fetch of 40 s is done: %v", err)
			}
			cancel()
		}
		want(t, c.GetWithin, "k", time.Second, "k#1", nil) // waits for it
		time.Sleep(39 * time.Second)
		want(t, c.GetWithin, "k", time.Hour, "k#1", nil)
		source.set(time.Second, nil)
		time.Sleep(2 * time.Second)
		want(t, c.GetWithin, "k", time.Hour, "k#2", nil)
		time.Sleep(28 * time.Second)
		want(t, c.GetWithin, "k", time.Hour, "k#2", nil)
		time.Sleep(2 * time.Second)
		want(t, c.GetWithin, "k", time.Hour, "k#3", nil)
		if n := source.calls("k"); n != 3 {
			t.Errorf("%d fetches", n)
		}
	})
}

// TestClose: what no caller waits for ends with its owner.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cache.NewValue(func(ctx context.Context) (int, error) {
			<-ctx.Done()

			return 0, ctx.Err()
		}, cache.Options{Timeout: time.Hour, Detached: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Get(ctx); err == nil {
			t.Error("it is done")
		}
		began := time.Now()
		c.Close()
		synctest.Wait() // the bubble ends only without goroutines
		if !time.Now().Equal(began) {
			t.Error("it went on")
		}
	})
}
