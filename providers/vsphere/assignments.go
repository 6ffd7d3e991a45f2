package vsphere

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// maxAssignments is how many Nodes are known at most: more than a cluster has.
const maxAssignments = 1 << 14

// location is a VM by the instance UUID of its vCenter and its reference there.
type location struct {
	vcenter string
	ref     inventory.Ref
}

func (v vm) location() location { return location{vcenter: v.vcenter.id(), ref: v.Ref} }

// id is the same for two sections of one vCenter.
func (vc *vcenter) id() string { return cmp.Or(vc.inventory.InstanceUUID(), vc.name) }

// assignment is the VM of a Node.
type assignment struct {
	at location
	// sure means that the VM ran while it was the only one, so that others with
	// its UUID are copies.
	sure bool
	// copies are other VMs that had the UUID at the same time.
	copies map[location]bool
	// missed is since when no VM is found, zero while there is one.
	missed time.Time
}

// has reports whether the VM of the assignment is among those that were found.
func (a assignment) has(found []vm) bool {
	return slices.ContainsFunc(found, func(v vm) bool { return v.location() == a.at })
}

// assignments are the VMs of Nodes by query. It is safe for concurrent use.
type assignments struct {
	mu    sync.Mutex
	known *lru.Cache // text to assignment
}

func newAssignments() *assignments { return &assignments{known: lru.New(maxAssignments)} }

// keyOf is the same for both byte orders of a UUID, whichever comes first.
func keyOf(q inventory.Query) string {
	if len(q.UUIDs) > 0 {
		return slices.Min(q.UUIDs)
	}

	return "name " + strings.ToLower(strings.Join(q.Names, " "))
}

// get returns what is known of a query.
func (a *assignments) get(q inventory.Query) assignment {
	known, _ := a.known.Get(keyOf(q))
	as, _ := known.(assignment)

	return as
}

// assign records which VM is that of a query, and which ones are not. Complete means
// that every vCenter was searched.
func (a *assignments) assign(q inventory.Query, chosen vm, others []vm, complete bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.get(q)
	now := assignment{at: chosen.location(), copies: map[location]bool{}}
	now.sure = before.sure && before.at == now.at || complete && len(others) == 0 && chosen.runs()
	if before.at == now.at && before.sure == now.sure && len(others) == 0 {
		return
	}
	maps.Copy(now.copies, before.copies)
	if len(now.copies) > maxCopies {
		clear(now.copies)
	}
	for _, v := range others {
		now.copies[v.location()] = true
	}
	delete(now.copies, now.at)
	a.known.Add(keyOf(q), now)
}

// maxCopies is how many copies of one VM are stored.
const maxCopies = 32

// found notes that the instance of a Node is there, so that none of its queries
// misses it.
func (a *assignments) found(queries []inventory.Query) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range queries {
		if as := a.get(q); !as.missed.IsZero() {
			as.missed = time.Time{}
			a.known.Add(keyOf(q), as)
		}
	}
}

// miss notes that no query of a Node found anything.
func (a *assignments) miss(queries []inventory.Query, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, q := range queries {
		if as := a.get(q); as.missed.IsZero() {
			as.missed = now
			a.known.Add(keyOf(q), as)
		}
	}
}

// surely reports whether a VM is that of the assignment and others are copies.
func (a assignment) surely(v vm) bool { return a.sure && a.at == v.location() }

// machines returns the VMs that can be that of a query: not a copy of it that is
// switched off and stayed when it left.
func (a assignment) machines(found []vm) []vm {
	if a.has(found) {
		return found
	}

	return slices.DeleteFunc(slices.Clone(found), func(v vm) bool { return a.copies[v.location()] && v.isOff() })
}
