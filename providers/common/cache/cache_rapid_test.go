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

// trip is what one random fetch does.
type trip struct {
	Takes time.Duration
	Fails bool
}

// news is a value that tells where it comes from.
type news struct {
	key int
	at  time.Duration // when it was asked for
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
	genTrip = rapid.Custom(func(t *rapid.T) trip {
		return trip{
			Takes: time.Duration(rapid.SampledFrom([]int{0, 4, 15, 80}).Draw(t, "takes")) * time.Millisecond,
			Fails: rapid.Bool().Draw(t, "fails"),
		}
	})
)

// Whichever caller asks at any time, and whatever the fetches do: a value belongs to the
// key, is younger than the caller allows, and comes within the patience.
func TestPromises(t *testing.T) {
	t.Parallel()
	const ttl = 60 * time.Millisecond
	rapid.Check(t, func(rt *rapid.T) {
		callers := rapid.SliceOfN(genCaller, 1, 25).Draw(rt, "callers")
		trips := rapid.SliceOfN(genTrip, 1, 6).Draw(rt, "trips")
		size := rapid.IntRange(1, 5).Draw(rt, "size")
		var mu sync.Mutex
		var broken []string
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			n := 0
			c := cache.New(func(ctx context.Context, key int) (news, error) {
				mu.Lock()
				does := trips[n%len(trips)]
				n++
				mu.Unlock()
				at := time.Since(start)
				select {
				case <-time.After(does.Takes):
				case <-ctx.Done():
					return news{}, ctx.Err()
				}
				if does.Fails {
					return news{}, errBoom
				}

				return news{key: key, at: at}, nil
			}, cache.Options[news]{TTL: ttl, Size: size, Timeout: 50 * time.Millisecond})
			var wg sync.WaitGroup
			for _, who := range callers {
				wg.Go(func() {
					problem := ask(t.Context(), c, who, ttl, start)
					mu.Lock()
					defer mu.Unlock()
					if problem != "" {
						broken = append(broken, problem)
					}
				})
			}
			wg.Wait()
			time.Sleep(time.Second) // let deserted fetches end
		})
		for _, b := range broken {
			rt.Error(b)
		}
	})
}

// ask is one caller. It answers with the promise that was broken, if any.
func ask(ctx context.Context, c *cache.Cache[int, news], who caller, ttl time.Duration, start time.Time) string {
	time.Sleep(who.At)
	if who.Patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, who.Patience)
		defer cancel()
	}
	got, err := c.GetWithin(ctx, who.Key, who.MaxAge)
	now := time.Since(start)
	allowed := min(who.MaxAge, ttl)
	switch {
	case who.Patience > 0 && now > who.At+who.Patience:
		return fmt.Sprintf("%+v waited until %v", who, now)
	case err == nil && got.key != who.Key:
		return fmt.Sprintf("%+v got %+v", who, got)
	case err == nil && got.at < who.At && who.At-got.at >= allowed:
		return fmt.Sprintf("%+v got %+v, too old", who, got)
	case err != nil && !errors.Is(err, errBoom) && !errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%+v got %v", who, err)
	}

	return ""
}
