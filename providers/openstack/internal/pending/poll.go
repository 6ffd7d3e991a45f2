package pending

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// maxAlone is how many load balancers are read alone. More of them are read by a list.
const maxAlone = 2

// poll looks at what is waited for, until the context ends. One read of the same never
// begins before the one before has ended.
func (w *Waiter) poll(ctx context.Context) {
	ticker := time.NewTicker(w.options.Interval)
	defer ticker.Stop()
	busy := map[string]bool{} // by ID, the list by an empty one
	ended := make(chan string)
	run := func(key string, read func(context.Context)) {
		if busy[key] {
			return
		}
		busy[key] = true
		go func() {
			// A read that hangs must not use up the time of the wait.
			bounded, cancel := context.WithTimeout(ctx, w.options.Limit/2)
			defer cancel()
			read(bounded)
			select {
			case ended <- key:
			case <-ctx.Done():
			}
		}()
	}
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-ended:
			delete(busy, key)
		case <-ticker.C:
			w.giveUpLong()
			due := w.due()
			if len(due) > maxAlone {
				run("", func(ctx context.Context) { w.lookAtAll(ctx, due) })

				continue
			}
			for id, waits := range due {
				run(id, func(ctx context.Context) { w.lookAt(ctx, id, waits) })
			}
		}
	}
}

// due returns the waits that are old enough for a look, and not at their end, by the load
// balancer.
func (w *Waiter) due() map[string][]*wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	due := map[string][]*wait{}
	for t := range w.waits {
		if age := time.Since(t.begun); age >= w.options.Interval && age < w.options.Limit {
			due[t.id] = append(due[t.id], t)
		}
	}

	return due
}

// giveUpLong ends waits that are too long for as many as there are.
func (w *Waiter) giveUpLong() {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := time.Duration(len(w.waits))
	for t := range w.waits {
		if t.looked && time.Since(t.begun) >= t.patience(w.options.Limit, n) {
			w.giveUp(t)
		}
	}
}

// lookAt reads one load balancer.
func (w *Waiter) lookAt(ctx context.Context, id string, waits []*wait) {
	l := look{}
	switch lb, err := w.api.GetLoadBalancer(ctx, id); {
	case errors.Is(err, apierr.ErrNotFound):
		l.status = client.ProvisioningDeleted
	case err != nil:
		l.err = err
	default:
		l.status = lb.Provisioning
	}
	w.show(ctx, waits, l)
}

// lookAtAll reads the statuses of all load balancers, and alone those that are missing.
func (w *Waiter) lookAtAll(ctx context.Context, due map[string][]*wait) {
	statuses, err := w.api.ProvisioningStatuses(ctx)
	for _, id := range slices.Sorted(maps.Keys(due)) {
		status, ok := statuses[id]
		switch {
		case err != nil:
			w.show(ctx, due[id], look{err: err})
		case ok:
			w.show(ctx, due[id], look{status: status})
		default:
			w.lookAt(ctx, id, due[id])
		}
	}
}

// show has waits take a look into account, unless nothing waits any more. Waits that are
// over get no further look.
func (w *Waiter) show(ctx context.Context, waits []*wait, l look) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(ctx.Err(), context.Canceled) {
		return // nothing was read
	}
	for _, t := range waits {
		if _, waiting := w.waits[t]; waiting && t.see(l) {
			delete(w.waits, t)
			w.crowd.ended(t, w.options.Interval)
		}
	}
	if l.err == nil && len(waits) > 0 {
		w.history.note(waits[0].id, l.status, time.Now())
	}
}
