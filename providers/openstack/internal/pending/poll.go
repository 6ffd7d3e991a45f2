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

// maxAlone is how many load balancers are read alone. If more of them are waited for, they are
// read by a list.
const maxAlone = 2

// ticks is how often within an interval the poller finds out which waits are due.
const ticks = 10

// poll looks at what is waited for, until the context ends. Neither a load balancer nor the
// list is read within an interval of the read before, nor before that has ended.
func (w *Waiter) poll(ctx context.Context) {
	tick := max(w.options.Interval/ticks, time.Millisecond)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	busy := map[string]bool{} // by ID, the list by an empty one
	ended := make(chan string)
	run := func(key string, read func(context.Context)) {
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
	latest := map[string]time.Time{} // reads within the last interval, by the same keys
	rests := func(key string) bool { return busy[key] || !latest[key].IsZero() }
	for {
		select {
		case <-ctx.Done():
			return
		case key := <-ended:
			delete(busy, key)
		case now := <-ticker.C:
			w.giveUpLong()
			// A tick may be late and the next one on time.
			maps.DeleteFunc(latest, func(_ string, at time.Time) bool { return now.Sub(at) >= w.options.Interval-tick/2 })
			due, many := w.due()
			maps.DeleteFunc(due, func(id string, _ []*wait) bool { return rests(id) })
			if many && (len(due) == 0 || rests("")) {
				continue
			}
			for id, waits := range due {
				latest[id] = now
				if !many {
					run(id, func(ctx context.Context) { w.lookAt(ctx, id, waits) })
				}
			}
			if many {
				latest[""] = now
				run("", func(ctx context.Context) { w.lookAtAll(ctx, due) })
			}
		}
	}
}

// due returns the waits that are old enough for a look, and not at their end, by the load
// balancer, and reports whether too many load balancers are waited for to read each alone.
func (w *Waiter) due() (due map[string][]*wait, many bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due = map[string][]*wait{}
	all := map[string]bool{}
	for t := range w.waits {
		all[t.id] = true
		if age := time.Since(t.begun); age >= w.options.Interval && age < w.options.Limit {
			due[t.id] = append(due[t.id], t)
		}
	}

	return due, len(all) > maxAlone
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
