package change

import (
	"time"

	expiring "k8s.io/apimachinery/pkg/util/cache"
)

// limitAge is how long a quota counts as reached.
const limitAge = 5 * time.Minute

// maxLimits is how many quotas are stored at most.
const maxLimits = 1 << 14

// Limits stores which quotas are reached, for all plans of a process, so that
// calls that would fail are not made for a while. It is safe for concurrent
// use. Nil is empty, and stores nothing.
type Limits struct {
	reached *expiring.LRUExpireCache // subject to the number of its resources
}

// NewLimits returns a Limits that is empty.
func NewLimits() *Limits { return &Limits{expiring.NewLRUExpireCache(maxLimits)} }

// Reach stores that the quota of a subject is reached at the current number of
// resources.
func (l *Limits) Reach(subject string, count int) {
	if l != nil {
		l.reached.Add(subject, count, limitAge)
	}
}

// Reached reports whether the quota of a subject is reached at the current
// number of resources. The result is false if the stored number was higher.
func (l *Limits) Reached(subject string, count int) bool {
	if l == nil {
		return false
	}
	known, ok := l.reached.Get(subject)

	return ok && count >= known.(int)
}
