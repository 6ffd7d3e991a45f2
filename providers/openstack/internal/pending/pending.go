// Package pending waits for load balancers that Octavia is changing.
//
// Octavia refuses every change of a load balancer whose provisioning status is not
// ACTIVE, and every change makes it pending:
// https://docs.openstack.org/api-ref/load-balancer/v2/#provisioning-status-codes.
//
// What it promises:
//
//   - No wait is longer than its limit, so that a load balancer that stays pending holds
//     no worker of the service controller.
//   - The more waits there are the shorter they are, so that they leave workers for other
//     Services: see patience. Once many have ended in vain, few are left at a time: see
//     crowd.
//   - Up to two load balancers cost one call each per interval. More of them cost one call
//     per interval together, apart from those that are missing in its result.
//   - The first look at one of up to two load balancers begins an interval after the wait,
//     or a tenth of one later. More of them share their looks, so that the first one begins
//     up to two intervals after the wait. A read right after a write may come from a node of the
//     database that does not have the write yet, and show the status before it:
//     https://galeracluster.com/library/kb/read-after-write.html. If a node is behind for
//     longer than that, a wait ends too early; Octavia refuses the next change then, which
//     package change sends again after another wait.
//   - What would end the work on a load balancer needs two looks in a row, unless one
//     before has shown the change under way: that it does not exist, where it is waited
//     for to be ACTIVE, and ERROR, where it is waited for to be deleted.
//   - That a load balancer is missing in a list is no proof: only the response to a GET
//     is.
//   - A failed look does not end a wait unless it is certain that all others fail, too.
//   - No call and no goroutine is left once nothing waits.
//
// When not to use it: to find out whether a load balancer is pending, which is part of
// every read of it.
package pending

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	DefaultLimit    = 20 * time.Second
)

// API makes the calls to Octavia.
type API interface {
	GetLoadBalancer(ctx context.Context, id string) (*client.LoadBalancerInfo, error)
	ProvisioningStatuses(ctx context.Context) (map[string]client.ProvisioningStatus, error)
}

var _ API = (*client.LoadBalancerService)(nil)

// Options are the times that tests shorten. The zero value is that of production.
type Options struct {
	// Interval is the time before the first look, and between two looks; default
	// [DefaultInterval].
	Interval time.Duration
	// Limit is how long a wait lasts; default [DefaultLimit].
	Limit time.Duration
}

// Waiter waits for load balancers. It is safe for concurrent use.
type Waiter struct {
	api     API
	options Options
	history history

	mu    sync.Mutex
	waits map[*wait]struct{}
	crowd crowd
	// stop ends the poller. It is nil without waits.
	stop context.CancelFunc
}

// NewWaiter makes no call.
func NewWaiter(api API, options Options) *Waiter {
	options.Interval = cmp.Or(options.Interval, DefaultInterval)
	options.Limit = cmp.Or(options.Limit, DefaultLimit)

	return &Waiter{api: api, options: options, waits: map[*wait]struct{}{}}
}

// Limit is how long a wait lasts.
func (w *Waiter) Limit() time.Duration { return w.options.Limit }

// Active waits until a load balancer is ACTIVE. The error is an [ErrPending], an
// [ErrFailed], an [ErrGone], that of the last look, or that of the context.
func (w *Waiter) Active(ctx context.Context, id string) error {
	return w.wait(ctx, &wait{id: id, judge: (*wait).active})
}

// Created is Active for a load balancer that was just requested.
func (w *Waiter) Created(ctx context.Context, id string) error {
	return w.wait(ctx, &wait{id: id, judge: (*wait).active, kind: forCreation})
}

// Gone waits until a load balancer is deleted: Octavia responds with 404 to it, or with the
// status DELETED. The error is an [ErrPending], an [ErrFailed], that of the last look, or
// that of the context.
func (w *Waiter) Gone(ctx context.Context, id string) error {
	return w.wait(ctx, &wait{id: id, judge: (*wait).gone, kind: forDeletion})
}

func (w *Waiter) wait(ctx context.Context, t *wait) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("wait for load balancer %s: %w", t.id, context.Cause(ctx))
	}
	t.begun, t.done, t.latest = time.Now(), make(chan error, 1), ErrPending
	w.join(t) //nolint:contextcheck // the poller has a context of its own, since several waits share it
	defer w.leave(t)
	limit := time.NewTimer(w.options.Limit)
	defer limit.Stop()
	var err error
	select {
	case err = <-t.done:
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-limit.C:
		err = w.latest(t)
	}
	if err != nil {
		return fmt.Errorf("wait for load balancer %s: %w", t.id, err)
	}

	return nil
}

// latest returns the result of a wait at its limit.
func (w *Waiter) latest(t *wait) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case err := <-t.done:
		return err
	default:
		w.giveUp(t)

		return t.latest
	}
}

// giveUp ends a wait without a result. The caller holds mu.
func (w *Waiter) giveUp(t *wait) {
	t.done <- t.latest
	delete(w.waits, t)
	w.crowd.inVain(t, w.options.Limit)
}

// join adds a wait, and starts the poller if there is none. A wait that there is no room for
// ends at once, or the oldest one does.
func (w *Waiter) join(t *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waits[t] = struct{}{}
	for {
		excess := w.crowd.excess(w.waits, t)
		if excess == nil {
			break
		}
		w.giveUp(excess)
	}
	if w.stop == nil {
		ctx, cancel := context.WithCancel(context.Background())
		w.stop = cancel
		go w.poll(ctx)
	}
}

// leave removes a wait, and ends the poller if there is no other one.
func (w *Waiter) leave(t *wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waits, t)
	if len(w.waits) == 0 && w.stop != nil {
		w.stop()
		w.stop = nil
	}
}
