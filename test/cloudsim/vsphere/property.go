package vsphere

import (
	"path"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// checkProperties returns InvalidProperty for the first path that its type does
// not have. Types that are not in the inventory are not checked.
func checkProperties(specs []types.PropertyFilterSpec) types.BaseMethodFault {
	for _, spec := range specs {
		for _, set := range spec.PropSet {
			kind, ok := managedType(set.Type)
			if !ok {
				continue
			}
			for _, name := range set.PathSet {
				if !hasProperty(kind, name) {
					return &types.InvalidProperty{Name: name}
				}
			}
		}
	}

	return nil
}

func managedType(name string) (reflect.Type, bool) {
	if name == "ManagedEntity" {
		return reflect.TypeFor[mo.ManagedEntity](), true
	}
	value, ok := mo.Value(types.ManagedObjectReference{Type: name})
	if !ok {
		return nil, false
	}

	return reflect.TypeOf(value), true
}

// hasProperty follows a path through the fields of a type. It ends at fields
// whose type depends on the object.
func hasProperty(kind reflect.Type, name string) bool {
	var field mo.Field
	if !field.FromString(name) {
		return false
	}
	found, ok := fieldType(kind, field.Path)
	if !ok || field.Key == nil {
		return ok
	}
	if found.Kind() != reflect.Slice {
		return false
	}
	if field.Item == "" {
		return true
	}
	_, ok = fieldType(found.Elem(), field.Item)

	return ok
}

func fieldType(kind reflect.Type, names string) (reflect.Type, bool) {
	for name := range strings.SplitSeq(names, ".") {
		for kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Interface {
			return kind, true
		}
		if kind.Kind() != reflect.Struct || name != lower(name) {
			return nil, false
		}
		field, ok := kind.FieldByName(upper(name))
		if ok && field.Anonymous { // such as resourcePool of a VirtualApp, which is a ResourcePool
			field, ok = field.Type.FieldByName(upper(name))
		}
		if !ok {
			return nil, false
		}
		kind = field.Type
	}

	return kind, true
}

// managedObject returns the value of a type of package mo inside vcsim's or our
// own wrapper, which has it as its first field.
func managedObject(value reflect.Value) reflect.Value {
	value = reflect.Indirect(value)
	for value.Kind() == reflect.Struct && path.Base(value.Type().PkgPath()) != "mo" && value.NumField() > 0 {
		value = reflect.Indirect(value.Field(0))
	}

	return value
}

// fieldOf returns a property of a managed object or of a data object in it.
func fieldOf(value reflect.Value, name string) (reflect.Value, bool) {
	if value = reflect.Indirect(value); value.Kind() != reflect.Struct {
		return value, false
	}
	field, ok := value.Type().FieldByName(upper(name))
	if !ok {
		return value, false
	}
	if value = value.FieldByIndex(field.Index); field.Anonymous {
		value = value.FieldByName(upper(name))
	}

	return value, value.IsValid()
}

func upper(name string) string {
	if name == "" {
		return ""
	}

	return strings.ToUpper(name[:1]) + name[1:]
}

func lower(name string) string {
	if name == "" {
		return ""
	}

	return strings.ToLower(name[:1]) + name[1:]
}
