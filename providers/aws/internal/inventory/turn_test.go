package inventory

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

var errBroken = errors.New("broken")

// takes returns a fetch that takes some time and then returns err.
func takes(d time.Duration, err error) func(context.Context) error {
	return func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestTurnSharesFailures: a call that hangs and fails costs those who waited for
// it no call of their own. The next caller does not wait.
func TestTurnSharesFailures(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fetch func(context.Context) error
		want  error
		after time.Duration
	}{
		"hangs": {takes(time.Hour, nil), context.DeadlineExceeded, 20 * time.Second},
		"fails": {takes(15*time.Second, errBroken), errBroken, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				turns := newTurn(20 * time.Second)
				calls := 0
				fetch := func(ctx context.Context) error { calls++; return tc.fetch(ctx) }
				var all sync.WaitGroup
				begun := time.Now()
				for range 10 {
					all.Go(func() {
						if err := turns.do(t.Context(), fetch); !errors.Is(err, tc.want) {
							t.Error(err)
						}
					})
					time.Sleep(time.Second)
				}
				all.Wait()
				if took := time.Since(begun); calls != 1 || took != tc.after {
					t.Errorf("%d calls, the last caller waited until %s", calls, took)
				}
				if err := turns.do(t.Context(), takes(0, nil)); err != nil {
					t.Errorf("right afterwards: %v", err)
				}
			})
		})
	}
}

// TestTurnOfCallersThatGiveUp: the deadline of a caller ends neither the call that
// it began nor the wait of others, but a call for which no caller waits is canceled.
func TestTurnOfCallersThatGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurn(20 * time.Second)
		short, cancel := context.WithTimeout(t.Context(), 12*time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if err := turns.do(short, takes(15*time.Second, nil)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the caller with the short deadline: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			begun := time.Now()
			if err := turns.do(t.Context(), takes(0, nil)); err != nil || time.Since(begun) != 15*time.Second {
				t.Errorf("the caller that waited: %v after %s", err, time.Since(begun))
			}
		})
		all.Wait()

		alone, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := turns.do(alone, takes(15*time.Second, nil)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		begun := time.Now()
		if err := turns.do(t.Context(), takes(0, nil)); err != nil || time.Since(begun) != 0 {
			t.Errorf("after a call for which no caller waits: %v, %s later", err, time.Since(begun))
		}
	})
}

// TestTurnRunsOneAtATime: also beside a call that was canceled and does not end.
func TestTurnRunsOneAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := newTurn(20 * time.Second)
		running, most := 0, 0
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i%3+1)*time.Second)
				defer cancel()
				_ = turns.do(ctx, func(context.Context) error {
					running++
					most = max(most, running)
					time.Sleep(1500 * time.Millisecond)
					running--
					return nil
				})
			})
		}
		all.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if most != 1 || running != 0 {
			t.Errorf("%d at a time, %d never end", most, running)
		}
	})
}

// TestDeadlineOfACallerIsItsOwn: of two callers that want the same instances, the
// one that came first gives up before EC2 answers.
func TestDeadlineOfACallerIsItsOwn(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{}, realTime)
	ids := b.seed.AddNodes(2)
	synctest.Test(t, func(t *testing.T) {
		inventory := New(newClient(t, b.cloud), b.config)
		b.cloud.Gate().Break(describe, front.First(1), front.Slow(15*time.Second))
		var all sync.WaitGroup
		all.Go(func() {
			short, cancel := context.WithTimeout(t.Context(), 12*time.Second)
			defer cancel()
			if _, err := inventory.Get(short, ids); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the first caller: %v", err)
			}
		})
		synctest.Wait()
		all.Go(func() {
			if found, err := inventory.Get(t.Context(), ids); err != nil || len(found) != 2 {
				t.Errorf("the second caller: %d instances, %v", len(found), err)
			}
		})
		all.Wait()
	})
	if got := len(b.forms()); got != 1 {
		t.Errorf("%d calls", got)
	}
}

// TestFailureIsSharedByWaiters: of many callers that wait for a call that fails
// none costs a call.
func TestFailureIsSharedByWaiters(t *testing.T) {
	t.Parallel()
	b := newFixture(t, aws.Options{}, realTime)
	ids := b.seed.AddNodes(10)
	synctest.Test(t, func(t *testing.T) {
		inventory := New(newClient(t, b.cloud), b.config)
		b.cloud.Gate().Break(describe, front.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
			time.Sleep(time.Second)
			aws.Denied()(w, r, apply)
		})
		before := b.cloud.Gate().Total()
		var all sync.WaitGroup
		for _, id := range ids {
			all.Go(func() {
				if _, err := inventory.Get(t.Context(), []string{id}); err == nil {
					t.Error("no error")
				}
			})
		}
		all.Wait()
		if got := b.cloud.Gate().Total() - before; got != 1 {
			t.Errorf("%d calls", got)
		}
		b.cloud.Gate().Mend()
		if found, err := inventory.Get(t.Context(), ids); err != nil || len(found) != len(ids) {
			t.Errorf("afterwards: %d instances, %v", len(found), err)
		}
	})
}

// realTime lets an inventory go by the time of a bubble of testing/synctest.
func realTime(c *Config) { c.Clock = clock.RealClock{} }
