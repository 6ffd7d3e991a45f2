package flight_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/flight"
)

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{}) // drops the stacks of recovered panics
	goleak.VerifyTestMain(m)
}

var errBoom = errors.New("boom")

func TestOutcomeReachesEveryWaiter(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		value  string
		err    error
	}{
		"Value": {"what the function returned", "value", nil},
		"Error": {"a failure is shared, not repeated", "", errBoom},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				c := flight.Start(time.Minute, func(context.Context) (string, error) {
					runs++
					time.Sleep(time.Second)

					return tc.value, tc.err
				})
				var wg sync.WaitGroup
				for range 9 {
					if !c.Join() {
						t.Fatal("a running call must accept waiters")
					}
					wg.Go(func() {
						if got, err := c.Wait(t.Context()); got != tc.value || !errors.Is(err, tc.err) {
							t.Errorf("%s: got %q, %v", tc.reason, got, err)
						}
					})
				}
				if got, err := c.Wait(t.Context()); got != tc.value || !errors.Is(err, tc.err) {
					t.Errorf("%s: got %q, %v", tc.reason, got, err)
				}
				wg.Wait()
				if runs != 1 {
					t.Errorf("the function ran %d times", runs)
				}
				if c.Join() {
					t.Error("a finished call must not accept waiters")
				}
			})
		})
	}
}

func TestWaiterLeavesAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := flight.Start(time.Minute, func(ctx context.Context) (int, error) {
			time.Sleep(10 * time.Second)

			return 7, ctx.Err()
		})
		if !c.Join() {
			t.Fatal("a running call must accept waiters")
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Wait(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the hurried waiter: got %v", err)
		}
		if got, err := c.Wait(t.Context()); got != 7 || err != nil {
			t.Errorf("the patient waiter must be unaffected: got %d, %v", got, err)
		}
	})
}

func TestAbandonedCallIsCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ended error
		c := flight.Start(time.Hour, func(ctx context.Context) (int, error) {
			<-ctx.Done()
			ended = ctx.Err()

			return 0, ctx.Err()
		})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := c.Wait(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		if c.Join() {
			t.Error("an abandoned call must not accept waiters")
		}
		synctest.Wait()
		if !errors.Is(ended, context.Canceled) {
			t.Errorf("the function must be canceled: got %v", ended)
		}
	})
}

func TestDeadline(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		fn     func(context.Context) (int, error)
		want   error
	}{
		"OwnError": {
			"the error of a function that ends in time is returned",
			func(ctx context.Context) (int, error) {
				<-ctx.Done()

				return 0, errBoom
			}, errBoom,
		},
		"IgnoresContext": {
			"one that ignores its context cannot hold its waiters",
			func(context.Context) (int, error) {
				time.Sleep(time.Hour)

				return 1, nil
			}, context.DeadlineExceeded,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				c := flight.Start(time.Minute, tc.fn)
				if _, err := c.Wait(t.Context()); !errors.Is(err, tc.want) {
					t.Errorf("%s: got %v, want %v", tc.reason, err, tc.want)
				}
				if waited := time.Since(start); waited > time.Minute+flight.Grace {
					t.Errorf("%s: waited %v", tc.reason, waited)
				}
				time.Sleep(2 * time.Hour) // let it end
			})
		})
	}
}

func TestBadEndingsDoNotHang(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		fn     func(context.Context) (int, error)
		want   string
	}{
		"Panic":    {"a panic is an error", func(context.Context) (int, error) { panic("oh") }, "panic in call: oh"},
		"NilPanic": {"even without a value", func(context.Context) (int, error) { panic(nil) }, "panic in call: panic called with nil argument"},
		"Goexit": {"a goroutine that just ends too", func(context.Context) (int, error) {
			runtime.Goexit()

			return 0, nil
		}, "call ended without a result"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := flight.Start(time.Minute, tc.fn)
				if _, err := c.Wait(t.Context()); err == nil || err.Error() != tc.want {
					t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
				}
			})
		})
	}
}
