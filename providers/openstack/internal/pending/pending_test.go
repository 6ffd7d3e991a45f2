package pending_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// OS-LB-6: how a wait for one load balancer ends.
func TestEnds(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		// status is that at the beginning, and change is made after 1.5 s.
		status string
		change func(f *fixture, id string)
		// gone waits for the deletion.
		gone  bool
		want  error
		after time.Duration
		gets  int
	}{
		"active at once": {
			reason: "the first look is after an interval, since an earlier one may be stale",
			status: active, after: time.Second, gets: 1,
		},
		"active later": {
			reason: "the second look shows it",
			status: updated, change: func(f *fixture, id string) { f.SetLoadBalancerStatus(id, active) },
			after: 2 * time.Second, gets: 2,
		},
		"never active": {
			reason: "the worker is needed for others",
			status: updated, want: pending.ErrPending, after: 20 * time.Second, gets: 19,
		},
		"fails": {
			reason: "nothing changes that but a deletion",
			status: updated, change: func(f *fixture, id string) { f.SetLoadBalancerStatus(id, failed) },
			want: pending.ErrFailed, after: 2 * time.Second, gets: 2,
		},
		"deleted meanwhile": {
			reason: "a look has shown it before",
			status: updated, change: func(f *fixture, id string) { f.DeleteLoadBalancer(id) },
			want: pending.ErrGone, after: 2 * time.Second, gets: 2,
		},
		"being deleted": {
			reason: "it cannot be changed any more",
			status: deleted, want: pending.ErrPending, after: 20 * time.Second, gets: 19,
		},
		"an unknown status": {
			reason: "it is not ACTIVE",
			status: "PAUSED", want: pending.ErrPending, after: 20 * time.Second, gets: 19,
		},
		"gone": {
			reason: "Octavia responds with 404",
			status: deleted, change: func(f *fixture, id string) { f.DeleteLoadBalancer(id) },
			gone: true, after: 2 * time.Second, gets: 2,
		},
		"kept as deleted": {
			reason: "some implementations keep it with this status",
			status: deleted, change: func(f *fixture, id string) { f.SetLoadBalancerStatus(id, "DELETED") },
			gone: true, after: 2 * time.Second, gets: 2,
		},
		"the deletion fails": {
			reason: "the deletion was seen under way",
			status: deleted, change: func(f *fixture, id string) { f.SetLoadBalancerStatus(id, failed) },
			gone: true, want: pending.ErrFailed, after: 2 * time.Second, gets: 2,
		},
		"in ERROR before the deletion": {
			reason: "a stale read may show that once, and no more",
			status: failed, gone: true, want: pending.ErrFailed, after: 2 * time.Second, gets: 2,
		},
		"in ERROR before the deletion, and gone": {
			reason: "the first look was stale",
			status: failed, change: func(f *fixture, id string) { f.DeleteLoadBalancer(id) },
			gone: true, after: 2 * time.Second, gets: 2,
		},
		"never gone": {
			reason: "a deletion can stay pending, too",
			status: deleted, gone: true, want: pending.ErrPending, after: 20 * time.Second, gets: 19,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(f *fixture) {
				id := f.add(1, test.status)[0]
				if test.change != nil {
					later(1500*time.Millisecond, func() { test.change(f, id) })
				}
				wait := f.Active
				if test.gone {
					wait = f.Gone
				}
				f.ends(test.reason, func() error { return wait(f.t.Context(), id) }, test.want, test.after)
				f.looks(test.reason, test.gets, 0)
				time.Sleep(time.Minute)
				f.looks("nothing waits", 0, 0)
			})
		})
	}
}

// A load balancer that was just created may be missing on another node of the database.
func TestNewLoadBalancerIsMissing(t *testing.T) {
	t.Parallel()
	missing := openstack.Error(http.StatusNotFound, "", "Load Balancer could not be found.")
	inBubble(t, func(f *fixture) {
		id := f.add(1, "PENDING_CREATE")[0]
		later(1500*time.Millisecond, func() { f.SetLoadBalancerStatus(id, active) })
		f.Interceptor().Inject(opGet, simserver.First(1), missing)
		f.ends("once is no proof", func() error { return f.Active(f.t.Context(), id) }, nil, 2*time.Second)
	})
	inBubble(t, func(f *fixture) {
		id := f.add(1, "PENDING_CREATE")[0]
		f.Interceptor().Inject(opGet, simserver.First(2), missing)
		f.ends("twice is", func() error { return f.Active(f.t.Context(), id) }, pending.ErrGone, 2*time.Second)
	})
}

// A failed look ends a wait only if all others fail, too.
func TestFailedLooks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		fault  simserver.Fault
		times  simserver.When
		want   error
		after  time.Duration
	}{
		"denied": {
			reason: "rights do not come back in seconds",
			fault:  openstack.Denied(), times: simserver.Always(), want: apierr.ErrDenied, after: time.Second,
		},
		"throttled for good": {
			reason: "the status may be ACTIVE, and is not known",
			fault:  openstack.Throttled("30"), times: simserver.Always(), want: apierr.ErrThrottled, after: 20 * time.Second,
		},
		"broken once": {
			reason: "the next look shows it",
			fault:  simserver.Status(http.StatusInternalServerError), times: simserver.First(1), after: 2 * time.Second,
		},
		"broken for good": {
			reason: "nothing is known",
			fault:  simserver.Status(http.StatusInternalServerError), times: simserver.Always(), want: apierr.ErrUnavailable, after: 20 * time.Second,
		},
		"no response": {
			reason: "a look that hangs is given up for the next one",
			fault:  simserver.Slow(time.Hour), times: simserver.First(1), after: 11100 * time.Millisecond,
		},
		"never a response": {
			reason: "the wait is bounded all the same",
			fault:  simserver.Slow(time.Hour), times: simserver.Always(), want: apierr.ErrUnavailable, after: 20 * time.Second,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(f *fixture) {
				id := f.add(1, active)[0]
				f.Interceptor().Inject(opGet, test.times, test.fault)
				f.ends(test.reason, func() error { return f.Active(f.t.Context(), id) }, test.want, test.after)
			})
		})
	}
}

// A failure of the look before the last does not hide that the load balancer is pending.
func TestPendingAfterAFailure(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add(1, updated)[0]
		f.Interceptor().Inject(opGet, simserver.First(1), simserver.Status(http.StatusInternalServerError))
		f.ends("the last look counts", func() error { return f.Active(f.t.Context(), id) }, pending.ErrPending, 20*time.Second)
	})
}

// Waits end with the context, and leave nothing behind.
func TestCanceled(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add(1, updated)[0]
		because := errors.New("shutdown")
		ctx, cancel := context.WithCancelCause(f.t.Context())
		later(2500*time.Millisecond, func() { cancel(because) })
		f.ends("the cause is kept", func() error { return f.Active(ctx, id) }, because, 2500*time.Millisecond)
		f.looks("one each second", 2, 0)
		f.ends("there is no wait", func() error { return f.Active(ctx, id) }, because, 0)
		time.Sleep(time.Minute)
		f.looks("nothing waits", 0, 0)

		f.Interceptor().Inject(opGet, simserver.Always(), simserver.Slow(time.Hour))
		late, cancel2 := context.WithTimeout(f.t.Context(), 3*time.Second)
		defer cancel2()
		f.ends("while a look hangs", func() error { return f.Active(late, id) }, context.DeadlineExceeded, 3*time.Second)
		synctest.Wait()
	})
}

// OS-LB-6: load balancers that stay pending for ever hold no worker for long, and cost one
// call a second together. Deletions, after which there is nothing to do, hold them even
// shorter.
func TestManyPendingForEver(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		var workers sync.WaitGroup
		for _, id := range f.add(20, updated) {
			workers.Go(func() {
				f.ends("as short as they are many", func() error { return f.Active(f.t.Context(), id) }, pending.ErrPending, 4*time.Second)
			})
		}
		workers.Wait()
		f.looks("one call a second", 0, 3)
		for _, id := range f.add(4, deleted) {
			workers.Go(func() {
				f.ends("a deletion", func() error { return f.Gone(f.t.Context(), id) }, pending.ErrPending, 1300*time.Millisecond)
			})
		}
		time.Sleep(time.Millisecond)
		id := f.add(1, deleted)[0]
		f.ends("one deletion more", func() error { return f.Gone(f.t.Context(), id) }, pending.ErrPending, 0)
		workers.Wait()
	})
}

// OS-LB-6: once waits for changes have ended in vain, few are left at a time: the newest ones.
// One that ends with a result shows that the others may, too.
func TestCrowd(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		var workers sync.WaitGroup
		vain := func(reason string, n int, status string, wait func(id string) error, after time.Duration) {
			for _, id := range f.add(n, status) {
				workers.Go(func() { f.ends(reason, func() error { return wait(id) }, pending.ErrPending, after) })
			}
		}
		change := func(id string) error { return f.Active(f.t.Context(), id) }
		vain("a fifth of the limit", 5, updated, change, 4*time.Second)
		workers.Wait()

		vain("there is room for two", 2, updated, change, time.Second)
		time.Sleep(time.Second)
		created := f.add(1, "PENDING_CREATE")[0]
		later(1500*time.Millisecond, func() { f.SetLoadBalancerStatus(created, active) })
		workers.Go(func() {
			f.ends("a creation is another kind", func() error { return f.Created(f.t.Context(), created) }, nil, 2*time.Second)
		})
		newest := f.add(2, updated)
		for _, id := range newest {
			later(1500*time.Millisecond, func() { f.SetLoadBalancerStatus(id, active) })
			workers.Go(func() { f.ends("the newest ones", func() error { return change(id) }, nil, 2*time.Second) })
		}
		workers.Wait()

		vain("there was a result", 4, updated, change, 5*time.Second)
		workers.Wait()
	})
	inBubble(t, func(f *fixture) {
		var workers sync.WaitGroup
		for i, id := range f.add(15, deleted) {
			if i == 5 {
				workers.Wait()
			}
			f.DeleteLoadBalancer(id)
			want, after := error(nil), time.Second
			if i == 4 {
				want, after = pending.ErrPending, 0
			}
			workers.Go(func() {
				f.ends("deletions are quick", func() error { return f.Gone(f.t.Context(), id) }, want, after)
			})
			synctest.Wait()
		}
		workers.Wait()
	})
}

// Two waits that begin one after the other have looks of their own, each an interval after
// its beginning.
func TestTwoWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		var waits sync.WaitGroup
		for i, id := range f.add(2, active) {
			waits.Go(func() {
				time.Sleep(time.Duration(i) * 300 * time.Millisecond)
				f.ends("the wait before makes no difference", func() error { return f.Active(f.t.Context(), id) }, nil, time.Second)
			})
		}
		waits.Wait()
		f.looks("one each", 2, 0)
	})
}

// Waits that begin one after the other share looks; none of them counts for a wait that
// began less than an interval before.
func TestSharedLooks(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		ids := f.add(5, updated)
		var waits sync.WaitGroup
		for i, id := range ids {
			waits.Go(func() {
				time.Sleep(time.Duration(i) * 100 * time.Millisecond)
				// The lists are 1 s, 2 s, ... after the first wait.
				f.ends("the first list that is an interval later", func() error { return f.Active(f.t.Context(), id) },
					nil, 3*time.Second-time.Duration(i)*100*time.Millisecond)
			})
		}
		time.Sleep(2500 * time.Millisecond)
		f.looks("all together", 0, 2)
		for _, id := range ids {
			f.SetLoadBalancerStatus(id, active)
		}
		waits.Wait()
		f.looks("one more for all", 0, 1)
	})
}

// OS-COST-5: many short waits, each of which is due at another moment, cost one look per second
// together.
func TestShortWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		var waits sync.WaitGroup
		for i, id := range f.add(20, active) {
			waits.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				if err := f.Active(f.t.Context(), id); err != nil {
					f.t.Error(err)
				}
			})
		}
		waits.Wait()
		f.looks("after 1 and 2 seconds", 0, 2)
	})
}

// A wait that begins does not bring the next look at others forward: two looks that show the
// same in a row are an interval apart.
func TestLooksAreApart(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		ids := f.add(3, "PENDING_CREATE")
		// The node of the database that responds first does not have them yet.
		f.Interceptor().Inject(opGet, simserver.First(2), openstack.Error(http.StatusNotFound, "", "Load Balancer could not be found."))
		later(1500*time.Millisecond, func() {
			for _, id := range ids {
				f.SetLoadBalancerStatus(id, active)
			}
		})
		var waits sync.WaitGroup
		for _, id := range ids[:2] {
			waits.Go(func() {
				f.ends("the next look is shared", func() error { return f.Created(f.t.Context(), id) }, nil, 2*time.Second)
			})
		}
		time.Sleep(1050 * time.Millisecond)
		f.looks("each alone", 2, 0)
		waits.Go(func() {
			f.ends("and so is the first one of another", func() error { return f.Created(f.t.Context(), ids[2]) }, nil, 1050*time.Millisecond)
		})
		waits.Wait()
	})
}

// Two waits for one load balancer are one look.
func TestSameLoadBalancer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add(1, active)[0]
		var waits sync.WaitGroup
		for range 10 {
			waits.Go(func() {
				f.ends("all of them end", func() error { return f.Active(f.t.Context(), id) }, nil, time.Second)
			})
		}
		waits.Wait()
		f.looks("one look", 1, 0)
	})
}

// OS-LB-6: that a list does not have a load balancer is no proof that it is gone.
func TestMissingInAList(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		ids := f.add(3, deleted)
		f.DeleteLoadBalancer(ids[2])
		f.Interceptor().Inject(opList, simserver.Always(), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"loadbalancers": []}`)) // a client that is gone misses it
		})
		var waits sync.WaitGroup
		for _, id := range ids[:2] {
			waits.Go(func() {
				f.ends("it is there", func() error { return f.Gone(f.t.Context(), id) }, pending.ErrPending, 5*time.Second)
			})
		}
		f.ends("it is gone", func() error { return f.Gone(f.t.Context(), ids[2]) }, nil, time.Second)
		synctest.Wait()
		f.looks("each missing one is read alone", 3, 1)
		waits.Wait()
	})
}

// A list that fails is no look at any of them.
func TestFailedList(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		f.Interceptor().Inject(opList, simserver.First(2), simserver.Status(http.StatusInternalServerError))
		var waits sync.WaitGroup
		for _, id := range f.add(3, active) {
			waits.Go(func() {
				f.ends("the third look shows it", func() error { return f.Active(f.t.Context(), id) }, nil, 3*time.Second)
			})
		}
		waits.Wait()
		f.looks("nothing is read alone", 0, 3)
	})
}

// Since when a load balancer has been pending.
func TestSince(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add(1, updated)[0]
		check := func(reason string, want time.Duration) {
			f.t.Helper()
			if got := f.Since(id); got != want {
				f.t.Errorf("%s: %s, want %s", reason, got, want)
			}
		}
		check("it was not read", 0)
		f.Note(id, "PENDING_UPDATE")
		for range 4 {
			f.ends("a try", func() error { return f.Active(f.t.Context(), id) }, pending.ErrPending, 20*time.Second)
			time.Sleep(5*time.Minute - 20*time.Second)
		}
		check("from the first read on", 20*time.Minute)
		later(1500*time.Millisecond, func() { f.SetLoadBalancerStatus(id, active) })
		f.ends("it is ACTIVE again", func() error { return f.Active(f.t.Context(), id) }, nil, 2*time.Second)
		check("it is not pending", 0)
		f.Note(id, "PENDING_UPDATE")
		time.Sleep(time.Minute)
		check("from the next time on", time.Minute)
		time.Sleep(10 * time.Minute)
		check("it was not read for long", 0)
		f.Note(id, "PENDING_UPDATE")
		check("it begins anew", 0)
		f.Note(id, "ERROR")
		check("that is not pending", 0)
	})
}

// The times can be shortened.
func TestOptions(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		w := pending.NewWaiter(f.api, pending.Options{Interval: 10 * time.Millisecond, Limit: 55 * time.Millisecond})
		id := f.add(1, updated)[0]
		f.ends("as set", func() error { return w.Active(f.t.Context(), id) }, pending.ErrPending, 55*time.Millisecond)
		f.looks("as set", 5, 0)
	})
}
