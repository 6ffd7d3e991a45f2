package vsphere

import (
	"maps"
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// properties are fingerprints of an object's values as last reported, by path;
// nil for an object that no PropertySpec of the filter names.
type properties map[string]string

// filter finds what changed for one PropertyFilterSpec, by comparing with what
// it reported before.
type filter struct {
	mo.PropertyFilter

	collector *collector
	known     map[types.ManagedObjectReference]properties
	members   map[types.ManagedObjectReference]bool
	seen      uint64 // moment of the feed
	shaped    bool   // members are those of a moment whose shape still holds
}

func (f *filter) reset() {
	clear(f.known)
	f.seen, f.shaped = 0, false
}

// changes returns what happened since the last call, up to the moment at.
func (f *filter) changes(ctx *simulator.Context, at moment) []change {
	var updates []change
	var read []types.ManagedObjectReference
	if !f.shaped || at.shape > f.seen {
		selected := f.selected(ctx)
		f.members = make(map[types.ManagedObjectReference]bool, len(selected))
		for _, ref := range selected {
			f.members[ref] = true
			if _, ok := f.known[ref]; !ok {
				read = append(read, ref)
			}
		}
		f.shaped = true
		updates = f.left()
	}
	entering := len(read)
	for _, ref := range f.collector.v.feed.after(f.seen, f.members) {
		if _, ok := f.known[ref]; ok {
			read = append(read, ref)
		}
	}
	f.seen = at.now
	if len(read) == 0 {
		return updates
	}
	for i, ref := range read {
		if missing := f.missing(ref); missing != nil {
			updates = append(updates, change{filter: f.Self, missing: missing})

			continue
		}
		if update, ok := f.compare(ref, f.read(ctx, ref), i < entering); ok {
			updates = append(updates, change{filter: f.Self, update: update})
		}
	}

	return updates
}

// missing returns why an object cannot be read, or nil. What was reported of it
// stays known.
func (f *filter) missing(ref types.ManagedObjectReference) *types.MissingObject {
	fault := f.collector.v.policy.unreadable[ref][wholeObject]
	if fault == nil {
		return nil
	}
	if f.known[ref] == nil {
		f.known[ref] = properties{}
	}

	return &types.MissingObject{Obj: ref, Fault: types.LocalizedMethodFault{Fault: fault}}
}

// left drops the objects that are no longer selected and returns them.
func (f *filter) left() []change {
	var updates []change
	for ref, reported := range f.known {
		if f.members[ref] {
			continue
		}
		delete(f.known, ref)
		if reported != nil {
			updates = append(updates, change{
				filter: f.Self, update: types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindLeave},
			})
		}
	}

	return updates
}

// compare stores an object's values and returns how they differ from those
// reported before. A property that is no longer set is assigned nothing.
func (f *filter) compare(ref types.ManagedObjectReference, values map[string]types.AnyType, enter bool) (types.ObjectUpdate, bool) {
	before := f.known[ref]
	if values == nil {
		f.known[ref] = nil

		return types.ObjectUpdate{}, false
	}
	now := make(properties, len(values))
	for path, value := range values {
		now[path] = fingerprint(value)
	}
	faults := f.collector.v.policy.unreadable[ref]
	for path := range faults {
		if _, ok := now[path]; ok {
			now[path] = unreadableMark
		}
	}
	f.known[ref] = now
	update := types.ObjectUpdate{Obj: ref, Kind: types.ObjectUpdateKindModify}
	if enter {
		update.Kind = types.ObjectUpdateKindEnter
	}
	paths := slices.AppendSeq(slices.Collect(maps.Keys(now)), maps.Keys(before))
	slices.Sort(paths)
	for _, path := range slices.Compact(paths) {
		mark, isSet := now[path]
		old, wasSet := before[path]
		if fault := faults[path]; fault != nil && mark == unreadableMark {
			if mark != old {
				update.MissingSet = append(update.MissingSet, types.MissingProperty{
					Path: path, Fault: types.LocalizedMethodFault{Fault: fault},
				})
			}

			continue
		}
		if isSet != wasSet || mark != old {
			update.ChangeSet = append(update.ChangeSet, types.PropertyChange{
				Op: types.PropertyChangeOpAssign, Name: path, Val: values[path],
			})
		}
	}

	return update, enter || len(update.ChangeSet)+len(update.MissingSet) > 0
}

// read returns the values that the filter requests and that are set, or nil for
// an object that it does not request.
func (f *filter) read(ctx *simulator.Context, ref types.ManagedObjectReference) map[string]types.AnyType {
	obj := ctx.Session.Get(ref)
	if computed, ok := obj.(interface{ Get() mo.Reference }); ok {
		obj = computed.Get()
	}
	if obj == nil {
		return nil
	}
	var values map[string]types.AnyType
	object := managedObject(reflect.ValueOf(obj))
	for _, set := range f.Spec.PropSet {
		if !isA(ref.Type, set.Type) {
			continue
		}
		if values == nil {
			values = make(map[string]types.AnyType)
		}
		if set.All != nil && *set.All {
			readAll(object, values)
		}
		for _, path := range set.PathSet {
			if value, ok := readProperty(object, path); ok {
				values[path] = value
			}
		}
	}

	return values
}

// selected returns the objects that the filter's ObjectSet reaches, each once.
func (f *filter) selected(ctx *simulator.Context) []types.ManagedObjectReference {
	s := selection{
		ctx:   ctx,
		named: make(map[string]*types.TraversalSpec),
		taken: make(map[types.ManagedObjectReference]bool),
		been:  make(map[step]bool),
	}
	for _, object := range f.Spec.ObjectSet {
		if ctx.Session.Get(object.Obj) == nil {
			continue
		}
		if len(object.SelectSet) == 0 || object.Skip == nil || !*object.Skip {
			s.take(object.Obj)
		}
		s.follow(object.Obj, object.SelectSet)
	}

	return s.refs
}

// selection walks the inventory along traversal specs.
type selection struct {
	ctx   *simulator.Context
	named map[string]*types.TraversalSpec
	refs  []types.ManagedObjectReference
	taken map[types.ManagedObjectReference]bool
	been  map[step]bool
}

// step is one traversal from one object, which selects nothing new a second
// time.
type step struct {
	from types.ManagedObjectReference
	spec *types.TraversalSpec
}

func (s *selection) take(ref types.ManagedObjectReference) {
	if !s.taken[ref] {
		s.taken[ref] = true
		s.refs = append(s.refs, ref)
	}
}

func (s *selection) follow(from types.ManagedObjectReference, set []types.BaseSelectionSpec) {
	for _, base := range set {
		if spec, ok := base.(*types.TraversalSpec); ok && spec.Name != "" {
			s.named[spec.Name] = spec
		}
	}
	for _, base := range set {
		spec, ok := base.(*types.TraversalSpec)
		if !ok {
			spec = s.named[base.GetSelectionSpec().Name]
		}
		if spec == nil || s.been[step{from, spec}] || !isA(from.Type, spec.Type) {
			continue
		}
		s.been[step{from, spec}] = true
		for _, ref := range references(s.ctx.Session.Get(from), spec.Path) {
			if spec.Skip == nil || !*spec.Skip {
				s.take(ref)
			}
			s.follow(ref, spec.SelectSet)
		}
	}
}

// references returns the objects that a property refers to.
func references(obj mo.Reference, path string) []types.ManagedObjectReference {
	if computed, ok := obj.(interface{ Get() mo.Reference }); ok {
		obj = computed.Get()
	}
	if obj == nil {
		return nil
	}
	value, ok := follow(managedObject(reflect.ValueOf(obj)), path)
	if !ok {
		return nil
	}
	switch refs := value.Interface().(type) {
	case types.ManagedObjectReference:
		return []types.ManagedObjectReference{refs}
	case []types.ManagedObjectReference:
		return refs
	}

	return nil
}
