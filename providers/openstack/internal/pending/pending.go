// Package pending waits for load balancers that Octavia is changing.
//
// Octavia refuses every change of a load balancer whose provisioning status is not
// ACTIVE, and every change makes it pending:
// https://docs.openstack.org/api-ref/load-balancer/v2/#provisioning-status-codes.
//
// What it promises:
//
//   - A wait ends with the change, or at its limit, which is before the end of the operation
//     that it is part of. All workers of the service controller but a few can wait as long as
//     that, see [Waiter.SetWorkers]. Further waits are short: their workers are needed for other
//     Services.
//   - The first look is an interval after the beginning of the wait. A read right after a
//     write may come from a node of the database that does not have the write yet, and show
//     the status before it: https://galeracluster.com/library/kb/read-after-write.html. If a
//     node is behind for longer than that, a wait ends too early; Octavia refuses the next
//     change then, which package change sends again after another wait.
//   - What would end the work on a load balancer needs two looks in a row, unless one
//     before has shown the change under way: that it does not exist, where it is waited
//     for to be ACTIVE, and ERROR, where it is waited for to be deleted.
//   - A failed look does not end a wait unless it is certain that all others fail, too.
//
// When not to use it: to find out whether a load balancer is pending, which is part of
// every read of it.
package pending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// Errors of waits.
var (
	// ErrPending means that a load balancer is still being changed at the end of the wait.
	ErrPending = apierr.Mark(apierr.ErrConflict, errors.New("it is still being changed"))
	// ErrFailed means that the provisioning status became ERROR: Octavia refuses every
	// change but a deletion. It may serve nevertheless.
	ErrFailed = errors.New("its provisioning status is ERROR")
	// ErrGone means that a load balancer was deleted during a wait for a change of it.
	ErrGone = errors.New("it was deleted")
)

// Defaults of [Options].
const (
	DefaultInterval = time.Second
	DefaultLimit    = 5 * time.Minute
	DefaultShort    = 6 * time.Second
)

const (
	// defaultWorkers is how many workers the service controller has unless it is set, and
	// spareWorkers how many of them wait for a short time only, or half of fewer than ten.
	defaultWorkers, spareWorkers = 10, 5
	// Two looks are an interval apart, and a tenth of the wait so far if that is longer, but not
	// more than five intervals.
	share, slowest = 10, 5
	// reserve is the part that a wait leaves of the time of its operation, which has to publish
	// the result: of five minutes, a quarter of one.
	reserve = 20
)

// API makes the calls to Octavia.
type API interface {
	GetLoadBalancer(ctx context.Context, id string) (*client.LoadBalancerInfo, error)
}

var _ API = (*client.LoadBalancerService)(nil)

// Options are the times of waits. Zero fields have the defaults.
type Options struct {
	// Interval is the time before the first look.
	Interval time.Duration
	// Limit is how long a wait lasts.
	Limit time.Duration
	// Short is the limit while there is no room for a longer wait: Octavia makes most changes
	// of a load balancer that exists in half of it. For a creation, it is half of that.
	Short time.Duration
}

// Waiter waits for load balancers. It is safe for concurrent use.
type Waiter struct {
	api     API
	options Options
	long    *semaphore.Weighted
}

// NewWaiter makes no call.
func NewWaiter(api API, options Options) *Waiter {
	options.Interval = cmp.Or(options.Interval, DefaultInterval)
	options.Limit = cmp.Or(options.Limit, DefaultLimit)
	options.Short = min(cmp.Or(options.Short, DefaultShort), options.Limit)

	w := &Waiter{api: api, options: options}
	w.SetWorkers(defaultWorkers)

	return w
}

// SetWorkers sets how many workers the service controller has, before the first wait.
func (w *Waiter) SetWorkers(n int) {
	w.long = semaphore.NewWeighted(int64(n - min(spareWorkers, n/2)))
}

// Limit is how long a wait lasts.
func (w *Waiter) Limit() time.Duration { return w.options.Limit }

// HasRoom reports whether a wait would last up to the limit.
func (w *Waiter) HasRoom() bool {
	room := w.long.TryAcquire(1)
	if room {
		w.long.Release(1)
	}

	return room
}

// Active waits until a load balancer is ACTIVE. The error is an [ErrPending], an
// [ErrFailed], an [ErrGone], that of the last look, or that of the context.
func (w *Waiter) Active(ctx context.Context, id string) error {
	return w.wait(ctx, &wait{id: id, short: w.options.Short, ends: (*wait).active})
}

// Created is Active for a load balancer that was just requested. It returns the load balancer as the
// last look has shown it, nil if none has.
func (w *Waiter) Created(ctx context.Context, id string) (*client.LoadBalancerInfo, error) {
	t := &wait{id: id, short: w.options.Short / 2, ends: (*wait).active}
	err := w.wait(ctx, t)

	return t.shown, err
}

// Gone waits until a load balancer is deleted: Octavia responds with 404 to it, or with the
// status DELETED. The error is an [ErrPending], an [ErrFailed], that of the last look, or
// that of the context.
func (w *Waiter) Gone(ctx context.Context, id string) error {
	return w.wait(ctx, &wait{id: id, short: w.options.Short, ends: (*wait).gone})
}

// Within returns a context for a wait for something else than Octavia, such as another Service:
// it ends when a wait would. The function that it returns must be called at the end of the wait.
func (w *Waiter) Within(ctx context.Context) (context.Context, context.CancelFunc) {
	if !w.long.TryAcquire(1) {
		return context.WithTimeout(ctx, w.options.Short)
	}
	waiting, cancel := context.WithTimeout(ctx, w.limit(ctx))

	return waiting, func() {
		cancel()
		w.long.Release(1)
	}
}

func (w *Waiter) wait(ctx context.Context, t *wait) error {
	t.latest = ErrPending
	if err := w.poll(ctx, t); err != nil {
		return fmt.Errorf("wait for load balancer %s: %w", t.id, err)
	}

	return nil
}

// poll looks at a load balancer until a look ends the wait, or its time is over.
func (w *Waiter) poll(ctx context.Context, t *wait) error {
	limit, began := w.limit(ctx), time.Now()
	long := false
	defer func() {
		if long {
			w.long.Release(1)
		}
	}()
	for {
		elapsed := time.Since(began)
		left := limit - elapsed
		if long = long || w.long.TryAcquire(1); !long {
			left = min(left, t.short-elapsed)
		}
		interval := min(max(w.options.Interval, elapsed/share), slowest*w.options.Interval)
		if !sleep(ctx, min(interval, left)) {
			return context.Cause(ctx)
		}
		if left -= interval; left <= 0 {
			return t.latest
		}
		l := w.look(ctx, t.id, left)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if l.shown != nil {
			t.shown = l.shown
		}
		if over, err := t.ends(t, l); over {
			return err
		}
		t.see(l)
	}
}

// limit returns how long a wait lasts.
func (w *Waiter) limit(ctx context.Context) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return w.options.Limit
	}

	left := time.Until(end)

	return min(w.options.Limit, left-left/reserve)
}

// sleep reports whether a time has passed before the context has ended.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return ctx.Err() == nil
	}
}
