package inventory

import (
	"cmp"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// record is a VM with what we make of it.
type record struct {
	vm *VM
	// since is the change that brought the VM.
	since uint64
	// placed says that we know whether the VM counts, inScope that it does and
	// wasInScope that it ever did.
	placed     bool
	inScope    bool
	wasInScope bool
}

// state is a whole inventory. While its first pages arrive it belongs to the
// feed alone; once it is published, the lock of the store guards it.
type state struct {
	tree  tree
	vms   map[Ref]*record
	scope scope

	byUUID  index
	byHost  index // lower-case host name
	byShort index // its first label
	byIP    index
	unnamed map[Ref]bool // VMs whose UUID was never told
}

func newState() *state {
	return &state{
		tree:   tree{},
		vms:    map[Ref]*record{},
		byUUID: index{}, byHost: index{}, byShort: index{}, byIP: index{},
		unnamed: map[Ref]bool{},
	}
}

// index finds VMs by a property of theirs.
type index map[string][]Ref

func (x index) add(key string, ref Ref) {
	if key != "" {
		x[key] = append(x[key], ref)
	}
}

func (x index) remove(key string, ref Ref) {
	rest := slices.DeleteFunc(x[key], func(r Ref) bool { return r == ref })
	if len(rest) == 0 {
		delete(x, key)
	} else {
		x[key] = rest
	}
}

// effect is what a change of a state means for the rest of the state.
type effect struct {
	moved bool  // the tree has changed
	vms   []Ref // VMs that came or changed
	ended []tie // VMs that are no longer the one with a UUID
}

// tie is a VM and its UUID.
type tie struct {
	uuid string
	ref  Ref
}

// apply takes over what the vCenter reported.
func (s *state) apply(updates []types.ObjectUpdate, now time.Time) effect {
	var e effect
	for _, u := range updates {
		r := ref(u.Obj)
		switch {
		case r.Type != typeVM:
			s.applyPlace(r, u)
			e.moved = true
		case u.Kind == types.ObjectUpdateKindLeave:
			e.end(s.vms[r], "")
			s.removeVM(r)
		default:
			old := s.vms[r]
			vm := s.changed(r, u)
			vm.Observed = now
			e.end(old, vm.UUID)
			s.putVM(vm)
			e.vms = append(e.vms, r)
		}
	}

	return e
}

// end notes that a VM is no longer the one with the UUID it had.
func (e *effect) end(old *record, uuid string) {
	if old != nil && old.wasInScope && old.vm.UUID != uuid {
		e.ended = append(e.ended, tie{uuid: old.vm.UUID, ref: old.vm.Ref})
	}
}

func (s *state) applyPlace(r Ref, u types.ObjectUpdate) {
	if u.Kind == types.ObjectUpdateKindLeave {
		delete(s.tree, r)

		return
	}
	var p place
	if u.Kind == types.ObjectUpdateKindModify {
		p = s.tree[r]
	}
	eachProperty(u, p.set)
	s.tree[r] = p
}

// changed is the VM after an update. A UUID that was there before is kept when
// the vCenter has none to tell: that VM's files are out of reach, no more.
func (s *state) changed(r Ref, u types.ObjectUpdate) *VM {
	vm := &VM{Ref: r}
	uuid := ""
	if old, ok := s.vms[r]; ok {
		uuid = old.vm.UUID
		if u.Kind == types.ObjectUpdateKindModify {
			*vm = *old.vm
		}
	}
	eachProperty(u, vm.set)
	vm.UUID = cmp.Or(vm.UUID, uuid)
	vm.Datacenter = s.tree.datacenter(vm)

	return vm
}

// eachProperty hands over what an update says of single properties; what is
// unset or cannot be read is nil.
func eachProperty(u types.ObjectUpdate, set func(property string, val any)) {
	for _, missing := range u.MissingSet {
		set(missing.Path, nil)
	}
	for _, c := range u.ChangeSet {
		switch c.Op {
		case types.PropertyChangeOpRemove, types.PropertyChangeOpIndirectRemove:
			set(c.Name, nil)
		default:
			set(c.Name, c.Val)
		}
	}
}

func (s *state) putVM(vm *VM) {
	rec := &record{}
	if old, ok := s.vms[vm.Ref]; ok {
		*rec = *old
		s.removeVM(vm.Ref)
	}
	rec.vm = vm
	s.vms[vm.Ref] = rec
	s.eachKey(vm, func(x index, key string) { x.add(key, vm.Ref) })
	if vm.UUID == "" {
		s.unnamed[vm.Ref] = true
	}
}

func (s *state) removeVM(r Ref) {
	rec, ok := s.vms[r]
	if !ok {
		return
	}
	s.eachKey(rec.vm, func(x index, key string) { x.remove(key, r) })
	delete(s.unnamed, r)
	delete(s.vms, r)
}

// eachKey says under what a VM is found in each index.
func (s *state) eachKey(vm *VM, do func(x index, key string)) {
	host := strings.ToLower(vm.HostName)
	do(s.byUUID, vm.UUID)
	do(s.byHost, host)
	do(s.byShort, shortName(host))
	do(s.byIP, canonicalIP(vm.IPAddress))
}

// settle decides for the given VMs whether they count. It must run again for
// every VM when the tree changes.
func (s *state) settle(refs iter.Seq[Ref]) {
	for r := range refs {
		rec, ok := s.vms[r]
		if !ok {
			continue
		}
		if dc := s.tree.datacenter(rec.vm); dc != rec.vm.Datacenter {
			moved := *rec.vm
			moved.Datacenter = dc
			rec.vm = &moved
		}
		rec.placed = s.scope.all || rec.vm.Datacenter != Ref{}
		rec.inScope = s.scope.contains(rec.vm.Datacenter)
		rec.wasInScope = rec.wasInScope || rec.inScope
	}
}

// shortName is the first label of a host name. An address has no labels.
func shortName(host string) string {
	if canonicalIP(host) != "" {
		return host
	}
	short, _, _ := strings.Cut(host, ".")

	return short
}

// canonicalIP is the one way of writing an address, or nothing.
func canonicalIP(text string) string {
	ip, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil {
		return ""
	}

	return ip.Unmap().WithZone("").String()
}
