package inventory

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// store holds the published inventory. Its lock is held for memory accesses
// only.
type store struct {
	datacenters []string // as configured; none means all

	mu      sync.RWMutex
	live    *state // nil until the first inventory is complete
	memory  *memory
	changes uint64 // counts them, to tell what came before what
}

func newStore(datacenters []string) *store {
	return &store{datacenters: datacenters, memory: newMemory(maxRemembered)}
}

// publish replaces the inventory by one that was read from scratch. What is not
// in there any more has left.
func (s *store) publish(next *state) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.changes++
	if s.live != nil {
		s.inherit(next)
	}
	next.scope = next.tree.scope(s.datacenters)
	next.settle(maps.Keys(next.vms))
	s.stamp(next, maps.Keys(next.vms))
	s.live = next
}

// inherit hands on what only the previous inventory knows.
func (s *store) inherit(next *state) {
	for r, old := range s.live.vms {
		now, ok := next.vms[r]
		if ok && now.vm.UUID == "" {
			vm := *now.vm
			vm.UUID = old.vm.UUID
			next.putVM(&vm)
			now = next.vms[r]
		}
		if ok {
			now.since, now.wasInScope = old.since, old.wasInScope
		}
		if old.wasInScope && (!ok || now.vm.UUID != old.vm.UUID) {
			s.memory.add(old.vm.UUID, r, s.changes)
		}
	}
}

// stamp notes which change brought the VMs that are new.
func (s *store) stamp(in *state, refs func(func(Ref) bool)) {
	for r := range refs {
		if rec, ok := in.vms[r]; ok && rec.since == 0 {
			rec.since = s.changes
		}
	}
}

// apply takes over changes of the published inventory.
func (s *store) apply(updates []types.ObjectUpdate, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.changes++
	e := s.live.apply(updates, now)
	for _, t := range e.ended {
		s.memory.add(t.uuid, t.ref, s.changes)
	}
	if e.moved {
		s.live.scope = s.live.tree.scope(s.datacenters)
		s.live.settle(maps.Keys(s.live.vms))
	} else {
		s.live.settle(slices.Values(e.vms))
	}
	s.stamp(s.live, slices.Values(e.vms))
}

// chains lists the ways from a VM up to the root folder.
func (s *store) chains(vm *VM) [][]Ref {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if s.live == nil {
		return nil
	}

	return s.live.tree.chains(vm)
}

// searchable lists where to search, or says why a search would not be complete.
func (s *store) searchable() ([]*Ref, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if s.live == nil {
		return nil, errNotSynced
	}

	return s.live.scope.within(), s.live.scope.doubt()
}

// size counts what is held.
func (s *store) size() (vms, places int) {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if s.live == nil {
		return 0, 0
	}

	return len(s.live.vms), len(s.live.tree)
}
