package inventory

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
)

// limiter bounds how many servers are read alone in one pass, and is fair to all of them,
// however long a pass takes. It is safe for concurrent use.
type limiter struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// begun is when the pass began.
	begun time.Time
	// next are the servers that are to be read in this pass, spare is how many others may.
	next  sets.Set[string]
	spare int
	// all are the servers that were to be read in this pass and the one before.
	all map[string]waiting
}

// longPass is the longest time that a pass may take in which all Nodes are looked at. More
// time between two of them is a pause, in which a server may have been found.
const longPass = 2 * time.Minute

// waiting is a server that is to be read.
type waiting struct {
	// since and until are when it was first and last to be read, without a pause. Read is
	// when it was read last.
	since, until, read time.Time
}

func newLimiter(clock clock.PassiveClock) *limiter {
	return &limiter{clock: clock, all: map[string]waiting{}}
}

// allow reports whether a server may be read now. If there are more of them than a pass
// may read, each is read once before one is read twice.
func (l *limiter) allow(id string) bool {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.begun) >= certainty.Pass {
		l.begin(now)
	}
	w := l.all[id]
	if now.Sub(w.until) > longPass {
		w.since = now
	}
	w.until = now
	allowed := l.next.Has(id)
	switch {
	case allowed:
		l.next.Delete(id)
	case l.spare > 0:
		l.spare--
		allowed = true
	}
	if allowed {
		w.read = now
	}
	l.all[id] = w

	return allowed
}

// begin begins a pass, in which those are read whose last time is the longest ago. Callers
// hold the lock.
func (l *limiter) begin(now time.Time) {
	before := l.begun
	maps.DeleteFunc(l.all, func(_ string, w waiting) bool { return w.until.Before(before) })
	ids := slices.SortedFunc(maps.Keys(l.all), func(a, b string) int {
		return cmp.Or(l.all[a].read.Compare(l.all[b].read), strings.Compare(a, b))
	})
	ids = ids[:min(len(ids), certainty.MaxConfirmations)]
	l.begun, l.next, l.spare = now, sets.New(ids...), certainty.MaxConfirmations-len(ids)
}

// waitsSince reports whether a server was to be read since a moment without a pause.
func (l *limiter) waitsSince(id string, at time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, waits := l.all[id]

	return waits && !w.since.After(at)
}
