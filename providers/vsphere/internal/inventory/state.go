package inventory

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// state is the inventory. The lock of the store guards it.
//
// The whole inventory is read into the state that is there: what a reading
// reports is marked with its number, and what has another number at the end has
// left. So there is never a second copy of it.
type state struct {
	datacenters []string // as configured; none means all
	tree        *tree
	vms         map[string]*record // by the value of their reference
	scope       scope

	byUUID  index
	byShort index // first label of the host name, in lower case
	byIP    index
	unnamed map[*record]bool // VMs whose UUID was never read

	reading      uint32 // number of the latest reading of the whole inventory
	verifying    bool   // count what that reading corrects
	corrected    int
	scopeUpdates int // counts the VMs that were looked at because something moved
}

func newState(datacenters []string) *state {
	return &state{
		datacenters: datacenters,
		tree:        newTree(),
		vms:         map[string]*record{},
		byUUID:      index{}, byShort: index{}, byIP: index{},
		unnamed: map[*record]bool{},
	}
}

// index finds VMs by a property of theirs.
type index map[string][]*record

func (x index) add(key string, rec *record) {
	if key != "" {
		x[key] = append(x[key], rec)
	}
}

func (x index) remove(key string, rec *record) {
	rest := without(x[key], rec)
	if len(rest) == 0 {
		delete(x, key)
	} else {
		x[key] = rest
	}
}

// changeSet is what changes of a state mean for the rest of the state.
type changeSet struct {
	moved   []*ancestor // ancestors that have moved
	vms     []*record   // VMs that have
	ended   []vmUUID    // VMs that are no longer the one with a UUID
	rescope bool        // the configured datacenters can be other ones now
}

// vmUUID is a VM and its UUID.
type vmUUID struct {
	uuid string
	ref  Ref
}

// apply applies what the vCenter reported. It returns the VMs that lost the
// UUID they had. Those that are new came with the given change.
func (s *state) apply(updates []types.ObjectUpdate, now time.Time, change uint64) []vmUUID {
	var e changeSet
	for _, u := range updates {
		r := ref(u.Obj)
		switch {
		case r.Type != typeVM:
			s.applyAncestor(r, u, &e)
		case u.Kind == types.ObjectUpdateKindLeave:
			s.removeVM(s.vms[r.Value], &e)
		default:
			s.applyVM(r, u, &e).seen(now, change)
		}
	}
	s.updateScope(&e)

	return e.ended
}

// seen notes that the vCenter reported a VM.
func (r *record) seen(now time.Time, change uint64) {
	r.observed = now
	if r.since == 0 {
		r.since = change
	}
}

// sweep removes what the latest reading of the whole inventory did not report.
func (s *state) sweep() []vmUUID {
	var e changeSet
	for _, rec := range s.vms {
		if rec.reading != s.reading {
			s.removeVM(rec, &e)
		}
	}
	for _, p := range s.tree.ancestors {
		if p.known && p.reading != s.reading {
			s.changeAncestor(p, links{}, false, &e)
		}
	}
	s.updateScope(&e)

	return e.ended
}

// correct counts a difference between the state and a reading that verifies it.
func (s *state) correct() {
	if s.verifying {
		s.corrected++
	}
}

func (s *state) applyAncestor(r Ref, u types.ObjectUpdate, e *changeSet) {
	p := s.tree.at(r)
	var to links
	if u.Kind == types.ObjectUpdateKindLeave {
		s.changeAncestor(p, to, false, e)

		return
	}
	if partial(u) {
		to = p.links
	}
	eachProperty(u, func(path string, val any) { to.set(s.tree, path, val) })
	p.reading = s.reading
	s.changeAncestor(p, to, true, e)
}

// changeAncestor sets the links of an ancestor, and whether it is known.
func (s *state) changeAncestor(p *ancestor, to links, known bool, e *changeSet) {
	if p.known == known && p.links == to {
		s.tree.release(p)

		return
	}
	s.correct()
	if p.known != known || p.above() != to.above() {
		e.moved = append(e.moved, p)
	}
	e.rescope = e.rescope || isDatacenter(p.ref) || p.ref.Type == typeFolder
	s.tree.relink(p, to)
	s.tree.setKnown(p, known)
}

func (s *state) applyVM(r Ref, u types.ObjectUpdate, e *changeSet) *record {
	rec, ok := s.vms[r.Value]
	if !ok {
		rec = &record{value: r.Value}
		s.vms[r.Value] = rec
		s.unnamed[rec] = true
		e.vms = append(e.vms, rec)
	}
	to := reported{uuid: rec.uuid}
	if partial(u) {
		to = rec.reported
	}
	eachProperty(u, func(path string, val any) { to.set(s.tree, path, val) })
	rec.reading = s.reading
	if !ok || to != rec.reported {
		s.correct()
		s.changeVM(rec, to, e)
	}

	return rec
}

// changeVM applies what is reported of a VM.
func (s *state) changeVM(rec *record, to reported, e *changeSet) {
	if rec.uuid != to.uuid {
		e.end(rec)
	}
	s.eachKey(rec, func(x index, key string) { x.remove(key, rec) })
	before := rec.ancestors()
	if before != to.ancestors() {
		e.vms = append(e.vms, rec)
	}
	rec.reported = to
	s.tree.attach(rec, before)
	s.eachKey(rec, func(x index, key string) { x.add(key, rec) })
	if rec.uuid != "" {
		delete(s.unnamed, rec)
	}
}

func (s *state) removeVM(rec *record, e *changeSet) {
	if rec == nil {
		return
	}
	s.correct()
	e.end(rec)
	s.eachKey(rec, func(x index, key string) { x.remove(key, rec) })
	before := rec.ancestors()
	rec.reported = reported{}
	s.tree.attach(rec, before)
	delete(s.unnamed, rec)
	delete(s.vms, rec.value)
}

// attach moves a VM from the ancestors that it referred to before to those that it
// refers to now.
func (t *tree) attach(rec *record, before [4]*ancestor) {
	for i, p := range rec.ancestors() {
		if p == before[i] {
			continue
		}
		if p != nil {
			p.vms = append(p.vms, rec)
		}
		if before[i] != nil {
			before[i].vms = without(before[i].vms, rec)
			t.release(before[i])
		}
	}
}

// end notes that a VM is no longer the one with the UUID it has.
func (e *changeSet) end(rec *record) {
	if rec.wasInScope && rec.uuid != "" {
		e.ended = append(e.ended, vmUUID{uuid: rec.uuid, ref: rec.ref()})
	}
}

// eachKey says under what a VM is found in each index.
func (s *state) eachKey(rec *record, do func(x index, key string)) {
	do(s.byUUID, rec.uuid)
	do(s.byShort, shortName(strings.ToLower(rec.hostName)))
	do(s.byIP, canonicalIP(rec.ipAddress))
}

// partial reports whether an update leaves what it does not mention as it was.
// What cannot be read at the moment is not known to have changed.
func partial(u types.ObjectUpdate) bool {
	return u.Kind == types.ObjectUpdateKindModify || len(u.MissingSet) > 0
}

// perishable are the properties that are meaningless once they cannot be read
// any more.
var perishable = []string{"runtime.powerState", "runtime.connectionState"}

// eachProperty passes on what an update contains of single properties; what is
// unset is nil.
func eachProperty(u types.ObjectUpdate, set func(property string, val any)) {
	for _, missing := range u.MissingSet {
		if slices.Contains(perishable, missing.Path) {
			set(missing.Path, nil)
		}
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
	canonical := ip.Unmap().WithZone("").String()
	if canonical == text {
		return text // which is kept anyway
	}

	return canonical
}
