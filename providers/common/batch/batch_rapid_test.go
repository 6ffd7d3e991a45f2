package batch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

// caller is one request of a random run.
type caller struct {
	At       time.Duration // when it calls Get
	Key      int
	Patience time.Duration // 0: no limit
}

// outcome is what one random call does.
type outcome struct {
	Takes  time.Duration
	Ending int // 0, 1: succeeds; 2: fails; 3: panics; 4: leaves key 0 out; 5: key 1 is an error
}

// callError carries the number of the call that failed.
type callError struct{ call int }

func (e callError) Error() string { return fmt.Sprintf("call %d failed", e.call) }

// called notes one call: when it began and its keys.
type called struct {
	at   time.Duration
	keys []int
}

// response identifies the call and the key it belongs to.
type response struct{ call, key int }

var (
	genCaller = rapid.Custom(func(t *rapid.T) caller {
		return caller{
			At:       rapid.SampledFrom([]time.Duration{0, 5, 10, 20, 35, 50, 100}).Draw(t, "at") * time.Millisecond,
			Key:      rapid.IntRange(0, 5).Draw(t, "key"),
			Patience: rapid.SampledFrom([]time.Duration{0, 0, 1, 12, 30}).Draw(t, "patience") * time.Millisecond,
		}
	})
	genOutcome = rapid.Custom(func(t *rapid.T) outcome {
		return outcome{
			Takes:  rapid.SampledFrom([]time.Duration{0, 3, 15, 40, 200}).Draw(t, "takes") * time.Millisecond,
			Ending: rapid.IntRange(0, 5).Draw(t, "ending"),
		}
	})
)

// fixture runs the callers against a batcher and collects every violation.
type fixture struct {
	opts     batch.Options
	outcomes []outcome
	start    time.Time

	mu     sync.Mutex
	calls  []called
	broken []string
}

// Whichever keys are requested at any time, and whatever the calls do: every
// caller gets the result for its own key from a call made after its request, or
// the error of that call, or its own deadline; and no key is part of a call
// without a request.
func TestPromises(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		callers := rapid.SliceOfN(genCaller, 1, 25).Draw(rt, "callers")
		w := &fixture{
			outcomes: rapid.SliceOfN(genOutcome, 1, 6).Draw(rt, "outcomes"),
			opts: batch.Options{
				Window:  10 * time.Millisecond,
				MaxSize: rapid.IntRange(0, 4).Draw(rt, "maxSize"),
				Timeout: 100 * time.Millisecond,
			},
		}
		synctest.Test(t, func(t *testing.T) { w.run(t.Context(), callers) })
		for _, b := range w.broken {
			rt.Error(b)
		}
	})
}

func (w *fixture) run(ctx context.Context, callers []caller) {
	w.start = time.Now()
	b := batch.New(w.call, w.opts)
	var wg sync.WaitGroup
	for _, c := range callers {
		wg.Go(func() {
			time.Sleep(c.At)
			own := ctx
			if c.Patience > 0 {
				var cancel context.CancelFunc
				own, cancel = context.WithTimeout(ctx, c.Patience)
				defer cancel()
			}
			got, err := b.Get(own, c.Key)
			w.check(c, own, got, err)
		})
	}
	wg.Wait()
	time.Sleep(time.Second) // let abandoned calls end
	w.checkCalls(callers)
}

func (w *fixture) call(ctx context.Context, keys []int) (map[int]batch.Result[response], error) {
	w.mu.Lock()
	n := len(w.calls)
	w.calls = append(w.calls, called{at: time.Since(w.start), keys: slices.Clone(keys)})
	w.mu.Unlock()

	outcome := w.outcomes[n%len(w.outcomes)]
	select {
	case <-time.After(outcome.Takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	results := map[int]batch.Result[response]{}
	for _, k := range keys {
		results[k] = batch.Result[response]{Value: response{call: n, key: k}}
	}
	switch outcome.Ending {
	case 2:
		return nil, callError{n}
	case 3:
		panic(callError{n})
	case 4:
		delete(results, 0)
	case 5:
		if _, requested := results[1]; requested {
			results[1] = batch.Result[response]{Err: callError{n}}
		}
	}

	return results, nil
}

// check checks what one caller got.
func (w *fixture) check(c caller, own context.Context, got response, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	now := time.Since(w.start)
	if c.Patience > 0 && now > c.At+c.Patience {
		w.fail("%+v waited until %v", c, now)
	}
	var failed callError
	switch {
	case err == nil:
		if got.key != c.Key || w.calls[got.call].at < c.At {
			w.fail("%+v got %+v of a call at %v", c, got, w.calls[got.call].at)
		}
	case errors.As(err, &failed):
		at := w.calls[failed.call]
		if !slices.Contains(at.keys, c.Key) || at.at < c.At {
			w.fail("%+v got the error of call %d, %+v", c, failed.call, at)
		}
	case errors.Is(err, batch.ErrNoResult):
		if c.Key != 0 {
			w.fail("%+v got no result", c)
		}
	case own.Err() != nil:
	case errors.Is(err, context.DeadlineExceeded):
		if !slices.ContainsFunc(w.outcomes, func(o outcome) bool { return o.Takes > w.opts.Timeout }) {
			w.fail("%+v timed out, but no call is slow", c)
		}
	default:
		if !slices.ContainsFunc(w.outcomes, func(o outcome) bool { return o.Ending == 3 }) {
			w.fail("%+v got %v", c, err)
		}
	}
}

// checkCalls checks that each call has only distinct keys that were requested
// within its window: so nothing is requested twice, or again.
func (w *fixture) checkCalls(callers []caller) {
	requests := slices.SortedFunc(slices.Values(callers), func(a, b caller) int { return cmp.Compare(a.At, b.At) })
	for n, call := range w.calls {
		if len(call.keys) == 0 || w.opts.MaxSize > 0 && len(call.keys) > w.opts.MaxSize {
			w.fail("call %d has %d keys", n, len(call.keys))
		}
		for _, key := range call.keys {
			i := slices.IndexFunc(requests, func(c caller) bool {
				return c.Key == key && c.At <= call.at && call.at <= c.At+w.opts.Window
			})
			if i < 0 {
				w.fail("call %d at %v has the key %d, which was not requested", n, call.at, key)

				continue
			}
			requests = slices.Delete(requests, i, i+1) // accounts for one key of one call
		}
	}
}

func (w *fixture) fail(format string, args ...any) {
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}
