package annotation

import (
	"errors"
	"net/netip"
	"strconv"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// Reader reads optional annotations of an object. Its methods return nil for an
// annotation that is missing, or has a value that cannot be used, which Err
// reports. It is not safe for concurrent use.
type Reader struct {
	object    Object
	skipEmpty bool
	// errs is shared by the Readers that SkipEmpty returns.
	errs *[]error
}

// NewReader returns a Reader of the annotations of an object.
func NewReader(object Object) *Reader { return &Reader{object: object, errs: new([]error)} }

// SkipEmpty returns a Reader that treats an empty annotation as a missing one. What
// it cannot use is reported by the Err of either Reader.
func (r *Reader) SkipEmpty() *Reader {
	return &Reader{object: r.object, skipEmpty: true, errs: r.errs}
}

// Err returns everything that is wrong, in the order in which it was read.
func (r *Reader) Err() error { return errors.Join(*r.errs...) }

// Reject reports that the value of an annotation cannot be used. Want is what was
// expected.
func (r *Reader) Reject(name Name, want string) {
	*r.errs = append(*r.errs, &Error{Name: name, Value: name.Value(r.object), Want: want})
}

// String reads the value as it is.
func (r *Reader) String(name Name) *string {
	return read(r, name, "", func(value string) (string, error) { return value, nil })
}

// Bool reads what Go reads as a bool: 1, t, true, 0, f, false and their capitals.
func (r *Reader) Bool(name Name) *bool {
	return read(r, name, "a boolean (true or false)", strconv.ParseBool)
}

// TrueFalse reads a bool that is spelled exactly true or false.
func (r *Reader) TrueFalse(name Name) *bool {
	return read(r, name, "true or false", func(value string) (bool, error) {
		if value != "true" && value != "false" {
			return false, strconv.ErrSyntax
		}

		return value == "true", nil
	})
}

// Int32 reads a decimal number of 32 bits.
func (r *Reader) Int32(name Name) *int32 {
	return read(r, name, "a whole number of 32 bits", func(value string) (int32, error) {
		number, err := strconv.ParseInt(value, 10, 32)

		return int32(number), err
	})
}

// CIDRs reads prefixes between commas or blanks, each only once, with the bits
// behind the prefix cleared. The list may be empty.
func (r *Reader) CIDRs(name Name) []netip.Prefix {
	parsed := read(r, name, "a list of CIDRs", address.ParsePrefixes)
	if parsed == nil {
		return nil
	}

	return lists.Distinct(*parsed)
}

// read turns the value of an annotation into a T.
func read[T any](r *Reader, name Name, want string, parse func(string) (T, error)) *T {
	value := name.Value(r.object)
	if !name.IsSet(r.object) || r.skipEmpty && value == "" {
		return nil
	}
	parsed, err := parse(value)
	if err != nil {
		r.Reject(name, want)

		return nil
	}

	return &parsed
}
