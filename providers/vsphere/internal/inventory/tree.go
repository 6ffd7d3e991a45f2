package inventory

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// maxDepth ends a climb through a tree that has a circle in it for a moment,
// because only half of a move has been reported.
const maxDepth = 128

// place is where an object that is not a VM stands in the tree.
type place struct {
	name   string
	parent Ref
	folder Ref // of a vApp: the VM folder that holds it
	vApp   Ref // of a vApp: the vApp that holds it
}

// placeProperties lists what we ask about the objects of the tree, and where
// the answer goes.
var placeProperties = map[string]func(p *place, val any){
	"name":         func(p *place, val any) { p.name = as[string](val) },
	"parent":       func(p *place, val any) { p.parent = ref(val) },
	"parentFolder": func(p *place, val any) { p.folder = ref(val) },
	"parentVApp":   func(p *place, val any) { p.vApp = ref(val) },
}

// set takes over one property. Others than we asked for are left alone.
func (p *place) set(property string, val any) {
	if assign, ok := placeProperties[property]; ok {
		assign(p, val)
	}
}

// tree holds everything that is not a VM. The root folder is not in it, as no
// view contains its own root.
type tree map[Ref]place

// climb lists from and its ancestors, nearest first, as far as they are known:
// all the way to the root folder unless something in between cannot be read.
// The next object is chosen by up.
func (t tree) climb(from Ref, up func(place) Ref) []Ref {
	var chain []Ref
	for at := from; at != (Ref{}) && len(chain) < maxDepth; {
		chain = append(chain, at)
		at = up(t[at])
	}

	return chain
}

// owner goes up the way that resources are owned: a vApp is a resource pool.
func owner(p place) Ref { return p.parent }

// holder goes up the way that VMs are shown in folders: a vApp stands in the
// vApp or the folder that holds it.
func holder(p place) Ref {
	for _, r := range []Ref{p.vApp, p.folder} {
		if r != (Ref{}) {
			return r
		}
	}

	return p.parent
}

// folders lists the vApps and folders that hold a VM.
func (t tree) folders(vm *VM) []Ref {
	if vm.ParentVApp != (Ref{}) {
		return t.climb(vm.ParentVApp, holder)
	}

	return t.climb(vm.Parent, holder)
}

// datacenter is the datacenter of a VM, or nothing when too much of what is
// above it cannot be read.
func (t tree) datacenter(vm *VM) Ref {
	if dc := firstDatacenter(t.folders(vm)); dc != (Ref{}) {
		return dc
	}

	return firstDatacenter(slices.Concat(t.climb(vm.Host, owner), t.climb(vm.Pool, owner)))
}

func firstDatacenter(chain []Ref) Ref {
	if i := slices.IndexFunc(chain, isDatacenter); i >= 0 {
		return chain[i]
	}

	return Ref{}
}

// chains lists the ways from a VM up to the root folder in the order in which
// zones are looked for.
func (t tree) chains(vm *VM) [][]Ref {
	return slices.DeleteFunc([][]Ref{
		t.climb(vm.Host, owner),
		t.climb(vm.Pool, owner),
		append([]Ref{vm.Ref}, t.folders(vm)...),
	}, func(chain []Ref) bool { return len(chain) == 0 })
}

// inventoryPath is the path of a datacenter as users write it: /folder/name.
func (t tree) inventoryPath(dc Ref) string {
	var names []string
	for _, r := range t.climb(dc, owner) {
		if p, ok := t[r]; ok {
			names = append(names, p.name)
		}
	}
	slices.Reverse(names)

	return "/" + strings.Join(names, "/")
}

// scope is the set of datacenters whose VMs count.
type scope struct {
	all     bool
	in      map[Ref]bool
	missing []string // configured, but not there
}

func (s scope) contains(dc Ref) bool { return s.all || s.in[dc] }

// within lists where to search, in a fixed order: in each datacenter, or once
// without any if all count.
func (s scope) within() []*Ref {
	if s.all {
		return []*Ref{nil}
	}
	var refs []*Ref
	for _, r := range slices.SortedFunc(maps.Keys(s.in), byValue) {
		refs = append(refs, &r)
	}

	return refs
}

// doubt says why a VM can exist that the scope does not show.
func (s scope) doubt() error {
	if len(s.missing) > 0 {
		return fmt.Errorf("datacenter %s does not exist or cannot be read", strings.Join(s.missing, ", "))
	}
	if len(s.in) == 0 {
		return errNoDatacenter
	}

	return nil
}

// scope finds the configured datacenters: each is a name, an inventory path,
// "Datacenter:" and a managed object ID, or that ID alone. A name can mean
// several datacenters in different folders, which then all count.
func (t tree) scope(configured []string) scope {
	s := scope{all: len(configured) == 0, in: map[Ref]bool{}}
	for r := range t {
		if s.all && isDatacenter(r) {
			s.in[r] = true
		}
	}
	for _, want := range configured {
		found := t.datacenters(want)
		if len(found) == 0 {
			s.missing = append(s.missing, want)
		}
		for _, r := range found {
			s.in[r] = true
		}
	}

	return s
}

// datacenters finds what one configured entry means. A name wins over an ID.
func (t tree) datacenters(want string) []Ref {
	var named []Ref
	for r, p := range t {
		if !isDatacenter(r) {
			continue
		}
		if p.name == want || strings.Contains(want, "/") && t.inventoryPath(r) == path.Clean("/"+want) {
			named = append(named, r)
		}
	}
	if len(named) > 0 {
		return named
	}
	byID := Ref{Type: typeDatacenter, Value: strings.TrimPrefix(want, typeDatacenter+":")}
	if _, ok := t[byID]; ok {
		return []Ref{byID}
	}

	return nil
}

// byValue orders references.
func byValue(a, b Ref) int { return strings.Compare(a.Value, b.Value) }

func isDatacenter(r Ref) bool { return r.Type == typeDatacenter }

const (
	typeDatacenter = string(types.ManagedObjectTypeDatacenter)
	typeVM         = string(types.ManagedObjectTypeVirtualMachine)
)
