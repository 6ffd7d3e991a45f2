package vsphere

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// typeNamed finds the types of the API by name.
var typeNamed = types.TypeFunc()

// readProperty returns the value of a property path as the API sends it, or
// false when it is not set.
func readProperty(object reflect.Value, name string) (types.AnyType, bool) {
	var field mo.Field
	if !field.FromString(name) {
		return nil, false
	}
	value, ok := follow(object, field.Path)
	if !ok || field.Key == nil {
		return wireValue(value), ok
	}
	if value, ok = element(value, field.Key); ok && field.Item != "" {
		value, ok = follow(value, field.Item)
	}

	return wireValue(value), ok
}

// readAll returns every property that is set, by name.
func readAll(object reflect.Value, into map[string]types.AnyType) {
	for _, field := range reflect.VisibleFields(object.Type()) {
		if field.Anonymous || field.Name == "Self" {
			continue
		}
		if value, ok := dereference(object.FieldByIndex(field.Index)); ok {
			into[lower(field.Name)] = wireValue(value)
		}
	}
}

// follow walks along a path. It ends with false at what is not set.
func follow(value reflect.Value, path string) (reflect.Value, bool) {
	for name := range strings.SplitSeq(path, ".") {
		var ok bool
		if value, ok = fieldOf(value, name); !ok {
			return value, false
		}
		if value, ok = dereference(value); !ok {
			return value, false
		}
	}

	return value, true
}

// dereference returns what a pointer or interface holds. Nil and the empty
// string count as not set.
func dereference(value reflect.Value) (reflect.Value, bool) {
	for value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface {
		if value.IsNil() {
			return value, false
		}
		value = value.Elem()
	}

	return value, value.Kind() != reflect.String || value.Len() > 0
}

// element returns the element of an array that has the given key.
func element(array reflect.Value, key any) (reflect.Value, bool) {
	if array.Kind() != reflect.Slice {
		return array, false
	}
	for i := range array.Len() {
		value, ok := dereference(array.Index(i))
		if !ok || value.Kind() != reflect.Struct {
			continue
		}
		if field := value.FieldByName("Key"); field.IsValid() && field.Interface() == key {
			return value, true
		}
	}

	return array, false
}

// arrayNames are the names of arrays of Go's own types.
var arrayNames = map[reflect.Kind]string{
	reflect.Bool: "Boolean", reflect.Int16: "Short", reflect.Int32: "Int", reflect.Int64: "Long", reflect.Uint8: "Byte",
}

// wireValue wraps arrays, which the API sends as types of their own.
func wireValue(value reflect.Value) types.AnyType {
	if !value.IsValid() {
		return nil
	}
	if value.Kind() != reflect.Slice {
		return value.Interface()
	}
	of := value.Type().Elem()
	name := strings.TrimPrefix(of.Name(), "Base")
	if of.PkgPath() == "" {
		name = cmp.Or(arrayNames[of.Kind()], "String")
	}
	kind, ok := typeNamed("ArrayOf" + name)
	if !ok {
		return value.Interface()
	}
	array := reflect.New(kind).Elem()
	array.Field(0).Set(value.Convert(array.Field(0).Type()))

	return array.Interface()
}

// fingerprint identifies a value in comparisons. It does not change with the
// objects that the value may share with the inventory.
func fingerprint(value types.AnyType) string {
	if kind := reflect.ValueOf(value).Kind(); kind == reflect.String || kind == reflect.Bool || kind == reflect.Int32 {
		return fmt.Sprint(value)
	}
	if ref, ok := value.(types.ManagedObjectReference); ok {
		return ref.String()
	}
	text, err := xml.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%#v", value)
	}

	return string(text)
}
