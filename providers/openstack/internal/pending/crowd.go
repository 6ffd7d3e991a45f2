package pending

import "time"

const (
	// leastShare is the part of the limit that a wait for a change lasts at least: four
	// seconds, in which Octavia makes most changes of a load balancer that exists.
	leastShare = 5
	// manyInVain is how many waits in a row that ended in vain are a sign that the next one
	// does, too: half of the workers of the service controller.
	manyInVain = 5
	// roomInVain is how many waits there are at a time then.
	roomInVain = 2
	// roomToDelete is how many deletions are waited for at a time, unless they are quick.
	roomToDelete = 4
)

// kind is what a wait is for.
type kind int

const (
	forChange kind = iota // of a load balancer that exists
	forCreation
	forDeletion
)

// crowd bounds how many waits of a kind there are at a time, from how earlier ones ended. Each
// wait holds a worker of the service controller, and the Services that come after it wait for
// one.
//
//	                                     most waits at a time
//	deletions, unless they are quick     4, one more ends at once
//	of five in a row each was in vain    2, the oldest one ends when another one begins
//	anything else                        -
//
// The newest wait has the best prospects: the others were seen to last. The zero value has
// seen no wait.
type crowd struct {
	// changes and creations are the waits in vain for these.
	changes, creations streak
	// quick means that the last deletion that was waited for had ended at the first look.
	quick bool
}

// streak counts waits that have ended without a result since the last one with a result.
type streak struct {
	n     int
	until time.Time // for how long that counts
}

// of returns the streak of a kind, nil for deletions.
func (c *crowd) of(k kind) *streak {
	switch k {
	case forChange:
		return &c.changes
	case forCreation:
		return &c.creations
	case forDeletion:
	}

	return nil
}

// inVain takes into account that a wait ended without a result. One that gave way early shows
// nothing.
func (c *crowd) inVain(t *wait, limit time.Duration) {
	if t.kind == forDeletion {
		c.quick = c.quick && !t.looked

		return
	}
	now := time.Now()
	if now.Sub(t.begun) < limit/leastShare {
		return
	}
	s := c.of(t.kind)
	if now.After(s.until) {
		s.n = 0
	}
	s.n++
	s.until = now.Add(limit)
}

// ended takes into account that a wait ended with a result.
func (c *crowd) ended(t *wait, interval time.Duration) {
	if t.kind == forDeletion {
		c.quick = time.Since(t.begun) < 2*interval

		return
	}
	c.of(t.kind).n = 0
}

// excess returns a wait that has to end since a new one has begun, nil if none has to.
func (c *crowd) excess(waits map[*wait]struct{}, newest *wait) *wait {
	var oldest *wait
	n := 0
	for t := range waits {
		if t.kind != newest.kind {
			continue
		}
		n++
		if t != newest && (oldest == nil || t.begun.Before(oldest.begun)) {
			oldest = t
		}
	}
	if newest.kind == forDeletion {
		if n > roomToDelete && !c.quick {
			return newest
		}

		return nil
	}
	if s := c.of(newest.kind); s.n >= manyInVain && time.Now().Before(s.until) && n > roomInVain {
		return oldest
	}

	return nil
}
