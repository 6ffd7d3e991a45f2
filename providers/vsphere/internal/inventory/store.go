package inventory

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// store guards the inventory. Its lock is held for memory accesses only.
type store struct {
	mu     sync.RWMutex
	live   *state
	synced bool // whether the whole inventory has been read once
	memory *tombstones
	// changes counts the responses of the change feed, to order what they
	// contain. The pages of one response are one change, and so is a reading of
	// the whole inventory.
	changes uint64
	root    Ref // the root folder of the vCenter

	queried *queried
	// latest is when the latest page of changes came, completeSince since when the
	// inventory has been complete and followed without a break.
	latest, completeSince time.Time
	// hosted and proven are as in [Absence].
	hosted, proven atomic.Bool
}

func newStore(datacenters []string) *store {
	live := newState(datacenters)
	live.scope = live.tree.scope(datacenters)

	return &store{live: live, memory: newTombstones(maxTombstones), changes: 1, queried: newQueried()}
}

// forget keeps what was queried, and nothing else.
func (s *store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.live = newState(s.live.datacenters)
	s.live.scope = s.live.tree.scope(s.live.datacenters)
	s.memory, s.synced, s.completeSince = newTombstones(maxTombstones), false, time.Time{}
	s.proven.Store(false)
}

// beginReading prepares for the whole inventory. Verifying counts how it differs
// from what is known.
func (s *store) beginReading(verifying bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.changes++
	s.live.reading++
	s.live.verifying, s.live.corrected = verifying, 0
	if !verifying {
		s.completeSince = time.Time{}
		s.proven.Store(false)
	}
}

// endReading removes what was there before and was not read again. It returns how
// many objects were other than known.
func (s *store) endReading() (corrected int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.addTombstones(s.live.sweep())
	s.synced, s.live.verifying = true, false
	s.changes++
	if s.completeSince.IsZero() {
		s.completeSince = s.latest
		if s.visible() {
			s.prove()
		}
	}

	return s.live.corrected
}

// apply takes over one page of changes.
func (s *store) apply(updates []types.ObjectUpdate, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.latest = now
	s.addTombstones(s.live.apply(updates, now, s.changes))
}

// responded notes that the vCenter responded to a poll that was allowed to take that
// long. It is called before the response is applied.
func (s *store) responded(now time.Time, allowed time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if !s.completeSince.IsZero() && now.Sub(s.latest) > max(maxResponseAge, allowed) {
		s.completeSince = now
	}
}

// endUpdate is called when a response has no more pages.
func (s *store) endUpdate() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.changes++
}

// addTombstones records which VMs left that were queried.
func (s *store) addTombstones(ended []vmUUID) {
	for _, t := range ended {
		if s.queried.has(t.uuid) {
			s.memory.add(t.uuid, tombstone{ref: t.ref, at: s.changes, when: s.latest})
		}
	}
}

// chains lists the ways from a VM up to the root folder.
func (s *store) chains(vm *VM) []Chain {
	s.mu.RLock()
	defer s.mu.RUnlock()

	return s.live.tree.chains(vm, s.root)
}

// setRoot notes which folder is the root folder. No view contains it.
func (s *store) setRoot(root Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.root = root
}

// searchable returns why a search would not be complete.
func (s *store) searchable() error {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if !s.synced {
		return errNotSynced
	}

	return s.live.scope.doubt()
}

// size counts what is held.
func (s *store) size() (vms, ancestors int) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if !s.synced {
		return 0, 0
	}

	return len(s.live.vms), s.live.tree.known
}
