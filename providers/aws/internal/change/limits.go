package change

import (
	"sync"
	"time"
)

// limitAge is how long a quota counts as reached.
const limitAge = 5 * time.Minute

// Limits is which quotas are reached, for all plans of a process: calls that would
// fail are not made for a while. It is safe for concurrent use. The zero value and
// nil has none.
type Limits struct {
	mu  sync.Mutex
	all map[string]limit
}

// limit is a quota that was reached when there were so many things.
type limit struct {
	count int
	since time.Time
}

// Reach stores that no more things fit under a subject than there are now.
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

// Reached reports whether no more things fit under a subject, if there are so many
// now. That is not known if there were more of them before.
func (l *Limits) Reached(subject string, count int) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	known, ok := l.all[subject]
	return ok && count >= known.count && time.Since(known.since) < limitAge
}
