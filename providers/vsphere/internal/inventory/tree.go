package inventory

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// maxDepth ends a climb through a tree that has a circle in it for a moment,
// because only half of a move has been reported.
const maxDepth = 128

// ancestor is an object of the tree that is not a VM. One that was only referred
// to is not known: that is the root folder, which no view contains, and whatever
// cannot be read or was not reported yet.
type ancestor struct {
	links

	ref   Ref
	known bool
	// reading is the reading of the whole inventory that last reported the
	// ancestor.
	reading uint32
	// below are the ancestors that refer to this one, vms the VMs that do.
	below []*ancestor
	vms   []*record
}

// links is what the vCenter reports of an ancestor.
type links struct {
	name   string
	parent *ancestor
	folder *ancestor // of a vApp: the VM folder that holds it
	vApp   *ancestor // of a vApp: the vApp that holds it
}

// above are the ancestors that an ancestor refers to; each can be nil.
func (l *links) above() [3]*ancestor { return [...]*ancestor{l.parent, l.folder, l.vApp} }

// ancestorProperties lists the properties of the objects of the tree that the change
// feed reports, and where they are kept.
var ancestorProperties = map[string]func(l *links, t *tree, val any){
	"name":         func(l *links, _ *tree, val any) { l.name = as[string](val) },
	"parent":       func(l *links, t *tree, val any) { l.parent = t.at(ref(val)) },
	"parentFolder": func(l *links, t *tree, val any) { l.folder = t.at(ref(val)) },
	"parentVApp":   func(l *links, t *tree, val any) { l.vApp = t.at(ref(val)) },
}

// set takes over one property. Others than the requested ones are ignored.
func (l *links) set(t *tree, property string, val any) {
	if assign, ok := ancestorProperties[property]; ok {
		assign(l, t, val)
	}
}

// reference is empty for nil.
func (p *ancestor) reference() Ref {
	if p == nil {
		return Ref{}
	}

	return p.ref
}

// tree holds everything that is not a VM.
type tree struct {
	ancestors   map[Ref]*ancestor
	known       int
	datacenters map[*ancestor]bool // that are known
}

func newTree() *tree {
	return &tree{ancestors: map[Ref]*ancestor{}, datacenters: map[*ancestor]bool{}}
}

// at is the ancestor of a reference, which may be an unknown one; nil for none. It
// must be linked, or released with [tree.release].
func (t *tree) at(r Ref) *ancestor {
	if r == (Ref{}) {
		return nil
	}
	p, ok := t.ancestors[r]
	if !ok {
		p = &ancestor{ref: r}
		t.ancestors[r] = p
	}

	return p
}

// relink puts new links in place of those that p has.
func (t *tree) relink(p *ancestor, to links) {
	before := p.above()
	p.links = to
	for _, up := range to.above() {
		if up != nil {
			up.below = append(up.below, p)
		}
	}
	for _, up := range before {
		if up != nil {
			up.below = without(up.below, p)
			t.release(up)
		}
	}
}

// setKnown notes whether the vCenter reports an ancestor.
func (t *tree) setKnown(p *ancestor, known bool) {
	if known && !p.known {
		t.known++
	}
	if !known && p.known {
		t.known--
	}
	p.known = known
	if isDatacenter(p.ref) && known {
		t.datacenters[p] = true
	} else {
		delete(t.datacenters, p)
	}
	t.release(p)
}

// release drops an ancestor that is not known and that nothing refers to.
func (t *tree) release(p *ancestor) {
	if p != nil && !p.known && len(p.below) == 0 && len(p.vms) == 0 {
		delete(t.ancestors, p.ref)
	}
}

// without takes one element out of a list whose order does not matter.
func without[T comparable](list []T, gone T) []T {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == gone {
			last := len(list) - 1
			list[i] = list[last]
			var none T
			list[last] = none

			return list[:last]
		}
	}

	return list
}

// climb lists an ancestor and its own ancestors, nearest first, as far as they are known:
// all the way to the root folder unless something in between cannot be read.
// The next one is chosen by up.
func climb(from *ancestor, up func(*ancestor) *ancestor) []*ancestor {
	var chain []*ancestor
	for at := from; at != nil && len(chain) < maxDepth; at = up(at) {
		chain = append(chain, at)
	}

	return chain
}

// owner goes up the way that resources are owned: a vApp is a resource pool.
func owner(p *ancestor) *ancestor { return p.parent }

// holder goes up the way that VMs are shown in folders: a vApp stands in the
// vApp or the folder that holds it.
func holder(p *ancestor) *ancestor { return cmp.Or(p.vApp, p.folder, p.parent) }

// datacenterAbove is the first datacenter on the way up, or nil.
func datacenterAbove(from *ancestor, up func(*ancestor) *ancestor) *ancestor {
	for at, depth := from, 0; at != nil && depth < maxDepth; at, depth = up(at), depth+1 {
		if isDatacenter(at.ref) {
			return at
		}
	}

	return nil
}

// datacenterOf is the datacenter of a VM, or nil when too much of what is above
// it cannot be read.
func datacenterOf(r *reported) *ancestor {
	return cmp.Or(
		datacenterAbove(cmp.Or(r.vApp, r.parent), holder),
		datacenterAbove(r.host, owner),
		datacenterAbove(r.pool, owner),
	)
}

// chains lists the ways from a VM up to the root folder in the order in which
// zones are looked for.
func (t *tree) chains(vm *VM, root Ref) []Chain {
	var chains []Chain
	for _, refs := range [][]Ref{
		t.chain(vm.Host, owner),
		t.chain(vm.Pool, owner),
		append([]Ref{vm.Ref}, t.chain(cmp.Or(vm.ParentVApp, vm.Parent), holder)...),
	} {
		if last := len(refs) - 1; last >= 0 {
			chains = append(chains, Chain{Refs: refs, Complete: refs[last] == root})
		}
	}

	return chains
}

// chain lists the references on the way up.
func (t *tree) chain(from Ref, up func(*ancestor) *ancestor) []Ref {
	if from == (Ref{}) {
		return nil
	}
	p, ok := t.ancestors[from]
	if !ok {
		return []Ref{from}
	}

	return lists.Map(climb(p, up), (*ancestor).reference)
}

// inventoryPath is the path of a datacenter as users write it: /folder/name.
func inventoryPath(dc *ancestor) string {
	known := lists.Filter(climb(dc, owner), func(p *ancestor) bool { return p.known })
	names := lists.Map(known, func(p *ancestor) string { return p.name })
	slices.Reverse(names)

	return "/" + strings.Join(names, "/")
}

// byValue orders references.
func byValue(a, b Ref) int { return strings.Compare(a.Value, b.Value) }

func isDatacenter(r Ref) bool { return r.Type == typeDatacenter }

const (
	typeDatacenter = string(types.ManagedObjectTypeDatacenter)
	typeFolder     = string(types.ManagedObjectTypeFolder)
	typeVM         = string(types.ManagedObjectTypeVirtualMachine)
)
