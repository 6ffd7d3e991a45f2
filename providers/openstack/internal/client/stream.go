package client

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// A json.Decoder keeps a value as a whole until it is decoded. Responses of Octavia about
// a load balancer with thousands of members are megabytes, of which little is needed, so
// that these are decoded piece by piece.

// streamer is a value that is decoded piece by piece.
type streamer interface {
	stream(d *json.Decoder) error
}

// fields are where the fields of an object are decoded to, by name: pointers, and functions
// that read the value. All other fields are skipped.
type fields map[string]any

// pointersOf returns pointers to the fields of a struct that have a name in JSON.
func pointersOf(object any) fields {
	all, v := fields{}, reflect.ValueOf(object).Elem()
	for _, field := range reflect.VisibleFields(v.Type()) {
		if tag, ok := field.Tag.Lookup("json"); ok {
			name, _, _ := strings.Cut(tag, ",")
			all[name] = v.FieldByIndex(field.Index).Addr().Interface()
		}
	}

	return all
}

// decode decodes the next value.
func decode(d *json.Decoder, into any) error {
	switch into := into.(type) {
	case nil:
		return skip(d)
	case func() error:
		return into()
	case streamer:
		return into.stream(d)
	default:
		return d.Decode(into)
	}
}

// readObject decodes the fields of an object.
func readObject(d *json.Decoder, into fields) error {
	if err := expect(d, json.Delim('{')); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		if err := decode(d, into[name.(string)]); err != nil { //nolint:forcetypeassert // names are texts
			return err
		}
	}

	return expect(d, json.Delim('}'))
}

// readList calls a function for each item of a list, which has to read it. Null is an error: it
// is no proof that a list is empty.
func readList(d *json.Decoder, item func() error) error {
	if err := expect(d, json.Delim('[')); err != nil {
		return err
	}

	return readItems(d, item)
}

// readParts is [readList] for the parts of an object that was read. Null is none of them, as it
// is where an object is decoded as a whole.
func readParts(d *json.Decoder, item func() error) error {
	begin, err := d.Token()
	switch {
	case err != nil || begin == nil:
		return err
	case begin != json.Delim('['):
		return errUnexpected
	}

	return readItems(d, item)
}

// readItems calls a function for each item that is left of a list, and reads its end.
func readItems(d *json.Decoder, item func() error) error {
	for d.More() {
		if err := item(); err != nil {
			return err
		}
	}

	return expect(d, json.Delim(']'))
}

// ignored is a value of which nothing is stored.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

// skip reads a value that is not needed: an object field by field, a list item by item.
func skip(d *json.Decoder) error {
	begin, err := d.Token()
	switch {
	case err != nil:
		return err
	case begin == json.Delim('{'):
		return skipRest(d, func() error {
			if _, err := d.Token(); err != nil {
				return err
			}

			return skip(d)
		})
	case begin == json.Delim('['):
		return skipRest(d, func() error { return d.Decode(new(ignored)) })
	default:
		return nil
	}
}

// skipRest skips what is left of an object or list.
func skipRest(d *json.Decoder, one func() error) error {
	for d.More() {
		if err := one(); err != nil {
			return err
		}
	}
	_, err := d.Token()

	return err
}

// errUnexpected means that a value is not of the kind that the API documents.
var errUnexpected = errors.New("not the expected JSON")

func expect(d *json.Decoder, want json.Delim) error {
	got, err := d.Token()
	if err != nil {
		return err
	}
	if got != want {
		return errUnexpected
	}

	return nil
}

// Rows is a list whose rows are decoded one by one.
type Rows[T any] []T

func (r *Rows[T]) stream(d *json.Decoder) error {
	return readParts(d, func() error {
		row := new(T)
		if err := decode(d, row); err != nil {
			return err
		}
		*r = append(*r, *row)

		return nil
	})
}
