package inventory

import (
	"fmt"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// updatesOf lists what a set reports, and whether there was something that the
// vCenter could not read although it is allowed to: that is worth another look.
//
//	object that is missing       it has left
//	object that cannot be read   it is there, as it was known before
//	property that cannot be read as it was known before, but for states
func updatesOf(set *types.UpdateSet) (updates []types.ObjectUpdate, unreadable bool) {
	if set == nil {
		return nil, false // nothing has changed
	}
	for _, filter := range set.FilterSet {
		for _, missing := range filter.MissingSet {
			update, failed := missingUpdate(missing)
			updates = append(updates, update)
			unreadable = unreadable || failed
		}
		for _, u := range filter.ObjectSet {
			for _, missing := range u.MissingSet {
				unreadable = unreadable || !denied(missing.Fault)
			}
		}
		updates = append(updates, filter.ObjectSet...)
	}

	return updates, unreadable
}

// missingUpdate is what it means that an object could not be read.
func missingUpdate(missing types.MissingObject) (update types.ObjectUpdate, unreadable bool) {
	update = types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: missing.Obj}
	if _, ok := missing.Fault.Fault.(*types.ManagedObjectNotFound); ok {
		update.Kind = types.ObjectUpdateKindLeave

		return update, false
	}
	for _, path := range perishable {
		update.MissingSet = append(update.MissingSet, types.MissingProperty{Path: path, Fault: missing.Fault})
	}

	return update, !denied(missing.Fault)
}

// denied reports whether something cannot be read because the account has no
// privilege to do so. That lasts.
func denied(f types.LocalizedMethodFault) bool {
	_, ok := f.Fault.(*types.NoPermission)

	return ok
}

// usable returns an error if a set reports that our view is gone or that we are
// not logged in: the property collector can report both as something that
// cannot be read.
func (f *feed) usable(set *types.UpdateSet) error {
	if set == nil {
		return nil
	}
	for _, filter := range set.FilterSet {
		for _, missing := range filter.MissingSet {
			if ref(missing.Obj) == f.objects.view {
				return fmt.Errorf("read container view: %w", soap.WrapVimFault(missing.Fault.Fault))
			}
		}
		for _, u := range filter.ObjectSet {
			if err := authenticated(u.MissingSet); err != nil {
				return err
			}
		}
	}

	return nil
}

// authenticated returns the fault that we are not logged in, if that is
// why a property is missing.
func authenticated(missing []types.MissingProperty) error {
	for _, m := range missing {
		if _, ok := m.Fault.Fault.(*types.NotAuthenticated); ok {
			return fmt.Errorf("read property %s: %w", m.Path, soap.WrapVimFault(m.Fault.Fault))
		}
	}

	return nil
}
