package inventory

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

// turns limits how many servers are read alone in one pass, and lets all of them have
// their turn. It is safe for concurrent use.
type turns struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// begun is when the pass began, taken how many turns it has had.
	begun time.Time
	taken int
	// wanted is when each server last wanted a turn, had is when it last had one.
	wanted, had map[string]time.Time
}

func newTurns(clock clock.PassiveClock) *turns {
	return &turns{clock: clock, wanted: map[string]time.Time{}, had: map[string]time.Time{}}
}

// take reports whether it is the turn of a server. If there are more of them than turns,
// each has one of its own before one has two.
func (t *turns) take(id string) bool {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.begun) >= certainty.Pass {
		t.begun, t.taken = now, 0
		t.forget(now)
	}
	t.wanted[id] = now
	if t.taken >= certainty.MaxConfirmations {
		return false
	}
	passes := (len(t.wanted) + certainty.MaxConfirmations - 1) / certainty.MaxConfirmations
	if last, before := t.had[id]; before && passes > 1 && now.Sub(last) < time.Duration(passes)*certainty.Pass {
		return false
	}
	t.taken++
	t.had[id] = now

	return true
}

// forget drops the servers that no longer want a turn. Callers hold the lock.
func (t *turns) forget(now time.Time) {
	maps.DeleteFunc(t.wanted, func(_ string, at time.Time) bool { return now.Sub(at) > 6*certainty.Pass })
	for id := range t.had {
		if _, waits := t.wanted[id]; !waits {
			delete(t.had, id)
		}
	}
}
