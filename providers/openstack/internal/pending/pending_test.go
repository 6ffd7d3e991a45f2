package pending_test

import (
	"context"
	"errors"
	"fmt"
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

// How long waits last at most.
const (
	limit = pending.DefaultLimit
	short = pending.DefaultShort
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
			status: updated, want: pending.ErrPending, after: limit, gets: 76,
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
			status: deleted, want: pending.ErrPending, after: limit, gets: 76,
		},
		"an unknown status": {
			reason: "it is not ACTIVE",
			status: "PAUSED", want: pending.ErrPending, after: limit, gets: 76,
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
			status: deleted, gone: true, want: pending.ErrPending, after: limit, gets: 76,
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
				f.looks(test.reason, test.gets)
				time.Sleep(time.Minute)
				f.looks("nothing waits", 0)
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
			fault:  openstack.Throttled("30"), times: simserver.Always(), want: apierr.ErrThrottled, after: limit,
		},
		"broken once": {
			reason: "the next look shows it",
			fault:  simserver.Status(http.StatusInternalServerError), times: simserver.First(1), after: 2 * time.Second,
		},
		"broken for good": {
			reason: "nothing is known",
			fault:  simserver.Status(http.StatusInternalServerError), times: simserver.Always(), want: apierr.ErrUnavailable, after: limit,
		},
		"no response": {
			reason: "a look that hangs is given up for the next one",
			fault:  simserver.Slow(time.Hour), times: simserver.First(1), after: 34100 * time.Millisecond,
		},
		"never a response": {
			reason: "the wait is bounded all the same",
			fault:  simserver.Slow(time.Hour), times: simserver.Always(), want: apierr.ErrUnavailable, after: limit,
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
		f.ends("the last look counts", func() error { return f.Active(f.t.Context(), id) }, pending.ErrPending, limit)
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
		f.looks("one each second", 2)
		f.ends("there is no wait", func() error { return f.Active(ctx, id) }, because, 0)
		time.Sleep(time.Minute)
		f.looks("nothing waits", 0)

		f.Interceptor().Inject(opGet, simserver.Always(), simserver.Slow(time.Hour))
		late, cancel2 := context.WithCancel(f.t.Context())
		later(3*time.Second, cancel2)
		f.ends("while a look hangs", func() error { return f.Active(late, id) }, context.Canceled, 3*time.Second)
		synctest.Wait()
	})
}

// OS-LB-6: all workers but five wait up to the limit, or half of fewer than ten. Load balancers that stay
// pending leave the other workers for other Services after six seconds, and new ones after three.
func TestManyPending(t *testing.T) {
	t.Parallel()
	for workers, room := range map[int]int{0: 5, 1: 1, 4: 2, 20: 15} { // 0: not set
		t.Run(fmt.Sprintf("%d workers", workers), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(f *fixture) {
				if workers > 0 {
					f.SetWorkers(workers)
				}
				var all sync.WaitGroup
				for i, id := range f.add(room+5, updated) {
					reason, after := "one of the first", limit
					if i >= room {
						reason, after = "there is no room", short
					}
					all.Go(func() {
						f.ends(reason, func() error { return f.Active(f.t.Context(), id) }, pending.ErrPending, after)
					})
					synctest.Wait()
					if f.HasRoom() != (i < room-1) {
						f.t.Errorf("room with %d waits: %t", i+1, f.HasRoom())
					}
				}
				f.ends("a creation", func() error {
					_, err := f.Created(f.t.Context(), f.add(1, "PENDING_CREATE")[0])

					return err
				}, pending.ErrPending, short/2)
				f.ends("another Service", func() error {
					ctx, end := f.Within(f.t.Context())
					defer end()
					<-ctx.Done()

					return ctx.Err()
				}, context.DeadlineExceeded, short)
				time.Sleep(limit - 2*time.Second - short - short/2)
				id := f.add(1, deleted)[0]
				later(80*time.Second, func() { f.DeleteLoadBalancer(id) })
				began := time.Now()
				if err := f.Gone(f.t.Context(), id); err != nil || time.Since(began) < 80*time.Second {
					f.t.Errorf("a wait for which there is room before its end: %v after %s", err, time.Since(began))
				}
				all.Wait()
				if ctx, end := f.Within(f.t.Context()); !f.isLong(ctx) {
					f.t.Error("there is room for another Service")
				} else {
					end()
				}
			})
		})
	}
}

// isLong reports whether a context lasts as long as a wait.
func (f *fixture) isLong(ctx context.Context) bool {
	end, _ := ctx.Deadline()

	return time.Until(end) == limit
}

// OS-LB-6: a wait ends before the operation that it is part of, which publishes what there is.
func TestEndsBeforeOperation(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		id := f.add(1, updated)[0]
		ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
		defer cancel()
		f.ends("it is still being changed", func() error { return f.Active(ctx, id) }, pending.ErrPending, 114*time.Second)
	})
}

// The times can be shortened.
func TestOptions(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		w := pending.NewWaiter(f.api, pending.Options{Interval: 10 * time.Millisecond, Limit: 55 * time.Millisecond})
		id := f.add(1, updated)[0]
		f.ends("as set", func() error { return w.Active(f.t.Context(), id) }, pending.ErrPending, 55*time.Millisecond)
		f.looks("as set", 5)
	})
}
