package client

import (
	"encoding/json"
	"reflect"
)

// Change is a field of an update. The zero value leaves the field out of the request, so
// that it stays as it is.
type Change[T any] struct {
	value *T
	sent  bool
}

// Set changes a field. A list or map that is nil is sent as an empty one, since services
// take null for something else: Octavia ignores tags that are null.
func Set[T any](value T) Change[T] { return Change[T]{value: &value, sent: true} }

// SetNull changes a field to null, which removes it.
func SetNull[T any]() Change[T] { return Change[T]{sent: true} }

// IsZero reports whether the field is left out.
func (c Change[T]) IsZero() bool { return !c.sent }

// MarshalJSON returns the value or null.
func (c Change[T]) MarshalJSON() ([]byte, error) {
	if c.value == nil {
		return []byte("null"), nil
	}
	switch v := reflect.ValueOf(*c.value); {
	case v.Kind() == reflect.Slice && v.IsNil():
		return []byte("[]"), nil
	case v.Kind() == reflect.Map && v.IsNil():
		return []byte("{}"), nil
	}

	return json.Marshal(*c.value)
}
