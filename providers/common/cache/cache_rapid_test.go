package cache_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
)

// caller is one Get of a random run.
type caller struct {
	At       time.Duration
	Key      int
	MaxAge   time.Duration
	Patience time.Duration // 0: no limit
}

// fetchOutcome is what one random fetch does.
type fetchOutcome struct {
	Takes time.Duration
	Fails bool
}

// version is a value with its key and the time of its fetch.
type version struct {
	key int
	at  time.Duration // when it was requested
}

var (
	genCaller = rapid.Custom(func(t *rapid.T) caller {
		ms := func(name string, of ...int) time.Duration {
			return time.Duration(rapid.SampledFrom(of).Draw(t, name)) * time.Millisecond
		}

		return caller{
			At:       ms("at", 0, 1, 5, 20, 30, 60, 61, 120),
			Key:      rapid.IntRange(0, 3).Draw(t, "key"),
			MaxAge:   ms("maxAge", 0, 1, 10, 50, 500),
			Patience: ms("patience", 0, 0, 2, 25),
		}
	})
	genOutcome = rapid.Custom(func(t *rapid.T) fetchOutcome {
		return fetchOutcome{
			Takes: time.Duration(rapid.SampledFrom([]int{0, 4, 15, 80}).Draw(t, "takes")) * time.Millisecond,
			Fails: rapid.Bool().Draw(t, "fails"),
		}
	})
)

// Whichever caller calls Get at any time, and whatever the fetches do: a value belongs
// to the key, is younger than the caller allows, and is returned within the caller's
// patience.
func TestPromises(t *testing.T) {
	t.Parallel()
	const ttl = 60 * time.Millisecond
	rapid.Check(t, func(rt *rapid.T) {
		callers := rapid.SliceOfN(genCaller, 1, 25).Draw(rt, "callers")
		outcomes := rapid.SliceOfN(genOutcome, 1, 6).Draw(rt, "outcomes")
		size := rapid.IntRange(1, 5).Draw(rt, "size")
		var mu sync.Mutex
		var broken []string
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			n := 0
			c := cache.New(func(ctx context.Context, key int) (version, error) {
				mu.Lock()
				outcome := outcomes[n%len(outcomes)]
				n++
				mu.Unlock()
				at := time.Since(start)
				select {
				case <-time.After(outcome.Takes):
				case <-ctx.Done():
					return version{}, ctx.Err()
				}
				if outcome.Fails {
					return version{}, errBoom
				}

				return version{key: key, at: at}, nil
			}, cache.Options{TTL: ttl, Size: size, Timeout: 50 * time.Millisecond})
			var wg sync.WaitGroup
			for _, caller := range callers {
				wg.Go(func() {
					problem := checkGet(t.Context(), c, caller, ttl, start)
					mu.Lock()
					defer mu.Unlock()
					if problem != "" {
						broken = append(broken, problem)
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Second) // let abandoned fetches end
		})
		for _, b := range broken {
			rt.Error(b)
		}
	})
}

// checkGet is one caller. It returns what is wrong with the result, if
// anything.
func checkGet(ctx context.Context, c *cache.Cache[int, version], caller caller, ttl time.Duration, start time.Time) string {
	time.Sleep(caller.At)
	if caller.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, caller.Patience)
		defer cancel()
	}
	got, err := c.GetWithin(ctx, caller.Key, caller.MaxAge)
	now := time.Since(start)
	allowed := min(caller.MaxAge, ttl)
	switch {
	case caller.Patience > 0 && now > caller.At+caller.Patience:
		return fmt.Sprintf("%+v waited until %v", caller, now)
	case err == nil && got.key != caller.Key:
		return fmt.Sprintf("%+v got %+v", caller, got)
	case err == nil && got.at < caller.At && caller.At-got.at >= allowed:
		return fmt.Sprintf("%+v got %+v, too old", caller, got)
	case err != nil && !errors.Is(err, errBoom) && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%+v got %v", caller, err)
	}

	return ""
}
