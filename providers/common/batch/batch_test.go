package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{}) // drops the stacks of recovered panics
	goleak.VerifyTestMain(m)
}

var errBoom = errors.New("boom")

// recorder is a Func that returns a value for each key and records its calls.
type recorder struct {
	mu    sync.Mutex
	calls [][]string
	then  func(ctx context.Context, keys []string) (map[string]batch.Result[string], error)
}

func (r *recorder) call(ctx context.Context, keys []string) (map[string]batch.Result[string], error) {
	r.mu.Lock()
	r.calls = append(r.calls, slices.Clone(keys))
	r.mu.Unlock()
	if r.then != nil {
		return r.then(ctx, keys)
	}

	return echo(keys), nil
}

func echo(keys []string) map[string]batch.Result[string] {
	results := map[string]batch.Result[string]{}
	for _, k := range keys {
		results[k] = batch.Result[string]{Value: "about " + k}
	}

	return results
}

// getAll runs one Get per key, all at the same moment, and returns the outcomes
// in the order of the keys.
func getAll(ctx context.Context, b *batch.Batcher[string, string], keys ...string) (values []string, errs []error) {
	values, errs = make([]string, len(keys)), make([]error, len(keys))
	var wg sync.WaitGroup
	for i, k := range keys {
		wg.Go(func() { values[i], errs[i] = b.Get(ctx, k) })
	}
	wg.Wait()

	return values, errs
}

func TestFullBatchDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		r := &recorder{}
		getAll(t.Context(), batch.New(r.call, batch.Options{Window: time.Hour, MaxSize: 3}), "a", "b", "c")
		if waited := time.Since(start); waited != 0 {
			t.Errorf("a full batch waited %v", waited)
		}
	})
}

// TestFailureIsSharedAndNotReplayed shows FW-NODE-14.
func TestFailureIsSharedAndNotReplayed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{then: func(context.Context, []string) (map[string]batch.Result[string], error) {
			return echo([]string{"a", "b"}), errBoom
		}}
		values, errs := getAll(t.Context(), batch.New(r.call, batch.Options{Window: time.Second}), "a", "b", "c", "a")
		for i := range errs {
			if !errors.Is(errs[i], errBoom) || values[i] != "" {
				t.Errorf("caller %d got %q, %v", i, values[i], errs[i])
			}
		}
		if len(r.calls) != 1 {
			t.Errorf("a failed batch must not be replayed: %d calls", len(r.calls))
		}
	})
}

func TestPanicIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{then: func(context.Context, []string) (map[string]batch.Result[string], error) {
			panic("oh")
		}}
		b := batch.New(r.call, batch.Options{Window: time.Second})
		_, errs := getAll(t.Context(), b, "a", "b")
		for i, err := range errs {
			if err == nil || err.Error() != "panic in call: oh" {
				t.Errorf("caller %d got %v", i, err)
			}
		}
		r.then = nil
		if got, err := b.Get(t.Context(), "a"); got != "about a" || err != nil {
			t.Errorf("the batcher must live on: got %q, %v", got, err)
		}
	})
}

// FW-NODE-14: a caller whose context ends leaves; the others get their results
// from the very same call, which is not affected.
func TestLeavingDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{then: func(ctx context.Context, keys []string) (map[string]batch.Result[string], error) {
			time.Sleep(10 * time.Second)

			return echo(keys), ctx.Err()
		}}
		b := batch.New(r.call, batch.Options{Window: time.Second})
		first, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := b.Get(first, "a"); !errors.Is(err, context.Canceled) {
				t.Errorf("the caller that left: got %v", err)
			}
		})
		wg.Go(func() {
			if got, err := b.Get(t.Context(), "b"); got != "about b" || err != nil {
				t.Errorf("the caller that stayed: got %q, %v", got, err)
			}
		})
		time.Sleep(5 * time.Second) // the call is running
		cancel()
		wg.Wait()
		if len(r.calls) != 1 {
			t.Errorf("%d calls", len(r.calls))
		}
	})
}

func TestCallEndsWithTheLastCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended error
		r := &recorder{then: func(ctx context.Context, _ []string) (map[string]batch.Result[string], error) {
			<-ctx.Done()
			ended = ctx.Err()

			return nil, ended
		}}
		b := batch.New(r.call, batch.Options{Window: time.Second, Timeout: time.Hour})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		getAll(ctx, b, "a", "b")
		synctest.Wait()
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("the call must be canceled: %v", ended)
		}
	})
}

func TestOnlyAwaitedKeysAreRequested(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		b := batch.New(r.call, batch.Options{Window: 10 * time.Second})
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = b.Get(impatient, "gone") })
		wg.Go(func() { _, _ = b.Get(impatient, "shared") })
		wg.Go(func() { _, _ = b.Get(t.Context(), "shared") })
		wg.Wait()
		if diff := cmp.Diff([][]string{{"shared"}}, r.calls); diff != "" {
			t.Errorf("calls: %s", diff)
		}

		getAll(impatient, b, "dead") // an ended context makes no request
		late, cancelLate := context.WithTimeout(t.Context(), time.Second)
		defer cancelLate()
		getAll(late, b, "dead") // leaves before the window ends
		time.Sleep(time.Minute)
		if len(r.calls) != 1 {
			t.Errorf("a batch that all callers left must not be requested: %v", r.calls)
		}
		if got, err := b.Get(t.Context(), "next"); got != "about next" || err != nil {
			t.Errorf("the next batch: got %q, %v", got, err)
		}
	})
}

func TestDeadlineOfTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{then: func(ctx context.Context, _ []string) (map[string]batch.Result[string], error) {
			deadline, ok := ctx.Deadline()
			if !ok || time.Until(deadline) != 7*time.Second {
				t.Errorf("deadline of the call: %v, %t", time.Until(deadline), ok)
			}
			<-ctx.Done()

			return nil, fmt.Errorf("list things: %w", ctx.Err())
		}}
		b := batch.New(r.call, batch.Options{Window: time.Minute, MaxSize: 2, Timeout: 7 * time.Second})
		_, errs := getAll(t.Context(), b, "a", "b")
		for _, err := range errs {
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
		}
	})
}

// While a call is stuck, others gather, call and return; the function itself
// may call Get.
func TestNoLockDuringACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{}
		b := batch.New(r.call, batch.Options{Window: time.Second, Timeout: time.Hour})
		r.then = func(ctx context.Context, keys []string) (map[string]batch.Result[string], error) {
			switch keys[0] {
			case "stuck":
				<-ctx.Done()
			case "outer":
				inner, err := b.Get(ctx, "inner")

				return map[string]batch.Result[string]{"outer": {Value: "outer and " + inner}}, err
			}

			return echo(keys), nil
		}
		stuck, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = b.Get(stuck, "stuck") })
		time.Sleep(2 * time.Second)
		if got, err := b.Get(t.Context(), "outer"); got != "outer and about inner" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
		cancel()
		wg.Wait()
	})
}
