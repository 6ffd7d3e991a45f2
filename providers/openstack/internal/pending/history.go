package pending

import (
	"maps"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// maxGap is the time between two looks after which the later one begins anew: the load
// balancer may have been ACTIVE meanwhile. The service controller calls again at least each
// five minutes.
const maxGap = 10 * time.Minute

// history is since when load balancers have been pending. The zero value is empty.
type history struct {
	mu  sync.Mutex
	all map[string]span
}

// span is from the first to the latest look that has shown a load balancer to be pending.
type span struct{ first, latest time.Time }

// note takes a look into account.
func (h *history) note(id string, status client.ProvisioningStatus, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	maps.DeleteFunc(h.all, func(_ string, s span) bool { return now.Sub(s.latest) > maxGap })
	if !status.IsPending() {
		delete(h.all, id)

		return
	}
	if h.all == nil {
		h.all = map[string]span{}
	}
	s, ok := h.all[id]
	if !ok {
		s.first = now
	}
	s.latest = now
	h.all[id] = s
}

// since returns how long a load balancer has been pending.
func (h *history) since(id string, now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.all[id]
	if !ok || now.Sub(s.latest) > maxGap {
		return 0
	}

	return now.Sub(s.first)
}

// Note takes the status of a load balancer into account that was read elsewhere, for
// [Waiter.Since].
func (w *Waiter) Note(id string, status client.ProvisioningStatus) {
	w.history.note(id, status, time.Now())
}

// Since returns how long this process has seen a load balancer pending without a break, by
// waits for it and by [Waiter.Note]. It is zero if the latest status was another one.
func (w *Waiter) Since(id string) time.Duration { return w.history.since(id, time.Now()) }
