package inventory

import (
	"maps"
	"sync"
	"time"
)

// Absence is what an inventory has about missing VMs.
type Absence struct {
	// Left is when the last VM with one of the UUIDs left, zero if none was known.
	Left time.Time
	// Complete is since when the inventory has been complete and followed without
	// a break, zero if it is not.
	Complete time.Time
	// Visible reports whether there is a VM that was queried by UUID.
	Visible bool
	// Hosted reports whether there ever was one, Proven whether there was one since
	// the whole inventory was read anew.
	Hosted, Proven bool
}

// maxResponseAge is how long the vCenter may not respond for the inventory to have
// been followed without a break. A poll that is given more time may take that.
const maxResponseAge = 30 * time.Second

// Absence returns what is known of the VMs of a query that has no result. It
// makes no call.
func (i *Inventory) Absence(q Query) Absence { return i.store.absence(q) }

func (s *store) absence(q Query) Absence {
	s.mu.RLock()
	defer s.mu.RUnlock()

	visible := s.visible()
	if visible {
		s.prove()
	}
	a := Absence{Complete: s.completeSince, Visible: visible, Hosted: s.hosted.Load(), Proven: s.proven.Load()}
	for _, uuid := range q.UUIDs {
		for _, d := range s.memory.of(normal(uuid)) {
			if d.when.After(a.Left) {
				a.Left = d.when
			}
		}
	}

	return a
}

// visible reports whether there is a VM that was queried by UUID. That is proof
// that the vCenter is the one of the cluster. Callers hold the lock.
func (s *store) visible() bool {
	return s.queried.any(func(uuid string) bool { return len(pick(s.live.byUUID[uuid], counts)) > 0 })
}

// prove records that a VM that was queried by UUID is there. While the inventory is
// read anew, it may have been there before alone. Callers hold the lock.
func (s *store) prove() {
	s.hosted.Store(true)
	if !s.completeSince.IsZero() {
		s.proven.Store(true)
	}
}

const (
	// maxQueried is how many UUIDs are kept that were queried: a Node has two, one
	// in each byte order.
	maxQueried = 1 << 15
	// queriedTTL is how long one is kept at least.
	queriedTTL = time.Hour
)

// queried are the UUIDs of Nodes. Other VMs that leave have no tombstone,
// however many come and go.
type queried struct {
	mu sync.Mutex
	at map[string]time.Time
}

func newQueried() *queried { return &queried{at: map[string]time.Time{}} }

// note records that the VMs of a query are looked up.
func (a *queried) note(q Query, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, uuid := range q.UUIDs {
		key := normal(uuid)
		if _, ok := a.at[key]; ok || a.makeRoom(now) {
			a.at[key] = now
		}
	}
}

// makeRoom evicts entries to store one more. Callers hold the lock.
func (a *queried) makeRoom(now time.Time) bool {
	if len(a.at) < maxQueried {
		return true
	}
	maps.DeleteFunc(a.at, func(_ string, at time.Time) bool { return now.Sub(at) > queriedTTL })

	return len(a.at) < maxQueried
}

func (a *queried) has(uuid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.at[uuid]

	return ok
}

// any reports whether one of them has a property.
func (a *queried) any(has func(uuid string) bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for uuid := range a.at {
		if has(uuid) {
			return true
		}
	}

	return false
}
