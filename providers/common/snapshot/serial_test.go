package snapshot

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// after returns a fetch that takes some time and then returns err.
func after(d time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error { return wait(ctx, d, err) }
}

// TestSerialSharesFailures: a call that hangs and fails costs those who waited for
// it no call of their own. The next caller does not wait.
func TestSerialSharesFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fetch func(context.Context) error
		want  error
		after time.Duration
	}{
		"hangs": {after(time.Hour, nil), context.DeadlineExceeded, 20 * time.Second},
		"fails": {after(15*time.Second, errBroken), errBroken, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSerial(20 * time.Second)
				calls := 0
				fetch := func(ctx context.Context) error {
					calls++

					return tc.fetch(ctx)
				}
				var all sync.WaitGroup
				begun := time.Now()
				for range 10 {
					all.Go(func() {
						if err := s.do(t.Context(), fetch); !errors.Is(err, tc.want) {
							t.Error(err)
						}
					})
					time.Sleep(time.Second)
				}
				all.Wait()
				if took := time.Since(begun); calls != 1 || took != tc.after {
					t.Errorf("%d calls, the last caller waited until %s", calls, took)
				}
				if err := s.do(t.Context(), after(0, nil)); err != nil {
					t.Errorf("right afterwards: %v", err)
				}
			})
		})
	}
}

// TestSerialOfCallersThatGiveUp: the deadline of a caller ends neither the call that
// it began nor the wait of others, but a call for which no caller waits is canceled.
func TestSerialOfCallersThatGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSerial(20 * time.Second)
		short, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if err := s.do(short, after(15*time.Second, nil)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller with the short deadline: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			begun := time.Now()
			if err := s.do(t.Context(), after(0, nil)); err != nil || time.Since(begun) != 15*time.Second {
				t.Errorf("the caller that waited: %v after %s", err, time.Since(begun))
			}
		})
		all.Wait()

		alone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.do(alone, after(15*time.Second, nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		begun := time.Now()
		if err := s.do(t.Context(), after(0, nil)); err != nil || time.Since(begun) != 0 {
			t.Errorf("after a call for which no caller waits: %v, %s later", err, time.Since(begun))
		}
	})
}

// TestSerialRunsOneAtATime: also beside a call that all callers left and that does
// not end with its context.
func TestSerialRunsOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSerial(20 * time.Second)
		running, most, calls := 0, 0, 0
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%3+1)*time.Second)
				defer cancel()
				_ = s.do(ctx, func(context.Context) error {
					calls++
					running++
					most = max(most, running)
					time.Sleep(1500 * time.Millisecond)
					running--

					return nil
				})
			})
			if i == 9 {
				time.Sleep(3*time.Second + time.Millisecond) // the call that began last has no caller left
			}
		}
		all.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if most != 1 || running != 0 || calls < 4 {
			t.Errorf("%d calls, %d at a time, %d never end", calls, most, running)
		}
	})
}
