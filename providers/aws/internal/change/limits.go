package change

import (
	"sync"
	"time"
)

// limitAge is how long a quota counts as reached.
const limitAge = 5 * time.Minute

// Limits stores which quotas are reached, for all plans of a process, so that
// calls that would fail are not made for a while. It is safe for concurrent
// use. The zero value and nil are empty.
type Limits struct {
	mu  sync.Mutex
	all map[string]limit
}

// limit is a quota that was reached at a number of resources.
type limit struct {
	count int
	since time.Time
}

// Reach stores that the quota of a subject is reached at the current number of
// resources.
func (l *Limits) Reach(subject string, count int) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]limit{}
	}
	l.all[subject] = limit{count, time.Now()}
}

// Reached reports whether the quota of a subject is reached at the current
// number of resources. The result is false if the stored number was higher.
func (l *Limits) Reached(subject string, count int) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.all[subject]

	return ok && count >= known.count && time.Since(known.since) < limitAge
}
