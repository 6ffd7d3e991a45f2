package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// errManyAncestors means that a page does not have all ancestors of VMs.
var errManyAncestors = errors.New("too many objects are above the VMs")

// readAncestors reads what is above VMs, unless the inventory has it: while that is read
// for the first time, the change feed may report a VM long before its datacenter.
func (i *Inventory) readAncestors(ctx context.Context, vms []*VM) error {
	refs := i.store.unplaced(vms)
	if len(refs) == 0 {
		return nil
	}
	now := i.cfg.Clock.Now()
	result := new(types.RetrieveResult)
	err := i.call(ctx, func(ctx context.Context, c *vim25.Client) error {
		i.store.setRoot(ref(c.ServiceContent.RootFolder))
		res, err := methods.RetrievePropertiesEx(ctx, c, &types.RetrievePropertiesEx{
			This:    c.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{{PropSet: ancestorSpecs(), ObjectSet: lists.Map(refs, upwards)}},
		})
		if err != nil || res.Returnval == nil {
			return err //nolint:wrapcheck // it is wrapped below
		}
		result = res.Returnval
		dropPages(ctx, c, result.Token)

		return authenticatedAll(result.Objects)
	})
	if err == nil && result.Token != "" {
		err = errManyAncestors
	}
	if err != nil {
		return fmt.Errorf("read what is above %d VMs, first %s: %w", len(refs), refs[0].Value, err)
	}
	i.store.addAncestors(result.Objects, now)

	return nil
}

// upwards selects all objects above a VM.
func upwards(vm Ref) types.ObjectSpec {
	up := []types.BaseSelectionSpec{
		&types.SelectionSpec{Name: "parent"}, &types.SelectionSpec{Name: "folder"}, &types.SelectionSpec{Name: "vApp"},
	}
	step := func(name, from, path string) types.BaseSelectionSpec {
		return &types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: name}, Type: from, Path: path, Skip: new(false), SelectSet: up}
	}

	return types.ObjectSpec{Obj: vm, Skip: new(true), SelectSet: []types.BaseSelectionSpec{
		step("parent", "ManagedEntity", "parent"),
		step("folder", "VirtualApp", "parentFolder"),
		step("vApp", "VirtualApp", "parentVApp"),
		step("", typeVM, "parentVApp"),
		step("", typeVM, "runtime.host"),
		step("", typeVM, "resourcePool"),
	}}
}

// unplaced lists the VMs of which a way up ends before the root folder, while the
// whole inventory is read for the first time. Later, the account cannot read what is
// missing.
func (s *store) unplaced(vms []*VM) []Ref {
	s.mu.RLock()
	defer s.mu.RUnlock()

	if s.synced {
		return nil
	}
	incomplete := func(vm *VM) bool {
		return slices.ContainsFunc(s.live.tree.chains(vm, s.root), func(c Chain) bool { return !c.Complete })
	}

	return lists.Map(lists.Filter(vms, incomplete), func(vm *VM) Ref { return vm.Ref })
}

// addAncestors takes over ancestors that the change feed has not reported yet. Those
// that it does not report until the whole inventory has been read have left.
func (s *store) addAncestors(objects []types.ObjectContent, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.synced {
		return
	}
	var updates []types.ObjectUpdate
	for _, object := range objects {
		r := ref(object.Obj)
		if known := s.live.tree.ancestors[r]; known != nil && known.known || r == s.root || len(object.MissingSet) > 0 {
			continue // a view does not contain the root folder, nor what cannot be read
		}
		updates = append(updates, types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: object.Obj, ChangeSet: lists.Map(
			object.PropSet, func(p types.DynamicProperty) types.PropertyChange {
				return types.PropertyChange{Op: types.PropertyChangeOpAssign, Name: p.Name, Val: p.Val}
			},
		)})
	}
	reading := s.live.reading
	s.live.reading-- // the one under way has not reported them
	s.live.apply(updates, now, s.changes)
	s.live.reading = reading
}
