package nodes

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/lru"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
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
func (vc *VCenter) id() string { return cmp.Or(vc.Inventory.InstanceUUID(), vc.Name) }

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

// assignments are the VMs of Nodes. It is safe for concurrent use.
type assignments struct {
	mu    sync.Mutex
	known *lru.Cache // nodeQuery to assignment
}

func newAssignments() *assignments { return &assignments{known: lru.New(maxAssignments)} }

// nodeQuery is one query for the VM of one Node. Two Nodes can have one UUID.
type nodeQuery struct{ node, uuid string }

// keyOf is the same for both byte orders of a UUID, whichever comes first.
func keyOf(ref instance.Ref, q inventory.Query) nodeQuery {
	key := nodeQuery{node: strings.ToLower(ref.NodeName)}
	if len(q.UUIDs) > 0 {
		key.uuid = slices.Min(q.UUIDs)
	}

	return key
}

// keysOf are those of several queries.
func keysOf(ref instance.Ref, queries []inventory.Query) []nodeQuery {
	return lists.Map(queries, func(q inventory.Query) nodeQuery { return keyOf(ref, q) })
}

// get returns what is known of a query.
func (a *assignments) get(key nodeQuery) assignment {
	known, _ := a.known.Get(key)
	as, _ := known.(assignment)

	return as
}

// assign records which VM is that of a query, and which ones are not. Complete means
// that every vCenter was searched.
func (a *assignments) assign(key nodeQuery, chosen vm, others []vm, complete bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.get(key)
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
	a.known.Add(key, now)
}

// maxCopies is how many copies of one VM are stored.
const maxCopies = 32

// found notes that the instance of a Node is there, so that none of its queries
// misses it.
func (a *assignments) found(keys []nodeQuery) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range keys {
		if as := a.get(key); !as.missed.IsZero() {
			as.missed = time.Time{}
			a.known.Add(key, as)
		}
	}
}

// miss notes that no query of a Node found anything.
func (a *assignments) miss(keys []nodeQuery, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range keys {
		if as := a.get(key); as.missed.IsZero() {
			as.missed = now
			a.known.Add(key, as)
		}
	}
}

// surely reports whether a VM is that of the assignment and others are copies.
func (a assignment) surely(v vm) bool { return a.sure && a.at == v.location() }

// machines returns the VMs that can be that of a Node: not one that was there beside
// its VM and stayed when that left, if it is switched off or that of another Node.
func (n identity) machines(found []vm) []vm {
	if n.assigned.has(found) {
		return found
	}

	return lists.Filter(found, func(v vm) bool { return !n.assigned.copies[v.location()] || !v.isOff() && !n.ofAnother(v) })
}
