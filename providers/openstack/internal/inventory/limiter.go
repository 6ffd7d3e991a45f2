package inventory

import (
	"maps"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

// limiter bounds how many servers are read alone in one pass, and is fair to all of them.
// It is safe for concurrent use.
type limiter struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// begun is when the pass began, allowed how many requests it has had.
	begun   time.Time
	allowed int
	// wanted is when a request for a server was last wanted, made when one was last made.
	wanted, made map[string]time.Time
}

func newLimiter(clock clock.PassiveClock) *limiter {
	return &limiter{clock: clock, wanted: map[string]time.Time{}, made: map[string]time.Time{}}
}

// allow reports whether a server may be read now. If there are more of them than a pass
// may read, each is read once before one is read twice.
func (l *limiter) allow(id string) bool {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.begun) >= certainty.Pass {
		l.begun, l.allowed = now, 0
		l.clean(now)
	}
	l.wanted[id] = now
	if l.allowed >= certainty.MaxConfirmations {
		return false
	}
	round := l.round()
	if last, before := l.made[id]; before && round > certainty.Pass && now.Sub(last) < round {
		return false
	}
	l.allowed++
	l.made[id] = now

	return true
}

// round is how long it takes to read each server once that is to be read. Callers hold the
// lock.
func (l *limiter) round() time.Duration {
	passes := (len(l.wanted) + certainty.MaxConfirmations - 1) / certainty.MaxConfirmations

	return time.Duration(passes) * certainty.Pass
}

// clean drops the servers that are no longer to be read. Callers hold the lock.
func (l *limiter) clean(now time.Time) {
	maps.DeleteFunc(l.wanted, func(_ string, at time.Time) bool { return now.Sub(at) > 6*certainty.Pass })
	for id := range l.made {
		if _, wanted := l.wanted[id]; !wanted {
			delete(l.made, id)
		}
	}
}
