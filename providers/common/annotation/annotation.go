// Package annotation reads typed values from annotations.
//
// What it promises: a missing annotation is [ErrNotSet] and nothing else is; an
// annotation that is present but empty is set. A value that cannot be used gives
// an [Error] that names the annotation, the value and what was expected, and
// that means apierr.ErrInvalid.
package annotation

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ErrNotSet means that the object does not have the annotation.
var ErrNotSet = errors.New("annotation is not set")

// shown is how much of a bad value an [Error] quotes.
const shown = 100

// Error says what is wrong with an annotation.
type Error struct {
	Name  Name
	Value string
	// Want is what was expected, such as "a whole number".
	Want string
}

// Error names the annotation, its value and what was expected.
func (e *Error) Error() string {
	value := e.Value
	if len(value) > shown {
		value = value[:shown] + "…"
	}

	return fmt.Sprintf("annotation %s: %q is not %s", e.Name, value, e.Want)
}

// Unwrap says that the request is invalid.
func (e *Error) Unwrap() error { return apierr.ErrInvalid }

// Object is anything with annotations, such as every metav1.Object.
type Object interface {
	GetAnnotations() map[string]string
}

// Name is the key of an annotation.
type Name string

// IsSet reports whether obj has the annotation, even if it is empty.
func (n Name) IsSet(obj Object) bool {
	_, ok := obj.GetAnnotations()[string(n)]

	return ok
}

// String gives the value as it is.
func (n Name) String(obj Object) (string, error) {
	value, ok := obj.GetAnnotations()[string(n)]
	if !ok {
		return "", fmt.Errorf("%s: %w", string(n), ErrNotSet)
	}

	return value, nil
}

// Bool reads what Go reads as a bool: 1, t, true, 0, f, false and their capitals.
func (n Name) Bool(obj Object) (bool, error) {
	return read(n, obj, "a boolean (true or false)", strconv.ParseBool)
}

// TrueFalse reads a bool that is spelled exactly true or false.
func (n Name) TrueFalse(obj Object) (bool, error) {
	return read(n, obj, "true or false", func(value string) (bool, error) {
		if value != "true" && value != "false" {
			return false, strconv.ErrSyntax
		}

		return value == "true", nil
	})
}

// Int reads a decimal number.
func (n Name) Int(obj Object) (int, error) {
	return read(n, obj, "a whole number", strconv.Atoi)
}

// Int32 reads a decimal number of 32 bits.
func (n Name) Int32(obj Object) (int32, error) {
	return read(n, obj, "a whole number of 32 bits", func(value string) (int32, error) {
		number, err := strconv.ParseInt(value, 10, 32)

		return int32(number), err
	})
}

// Duration reads a Go duration such as 1m30s; a whole number counts seconds.
func (n Name) Duration(obj Object) (time.Duration, error) {
	return read(n, obj, "a duration such as 1m30s", func(value string) (time.Duration, error) {
		if _, err := strconv.Atoi(value); err == nil {
			value += "s"
		}

		return time.ParseDuration(value)
	})
}

// StringList reads items between commas, without the blanks around them and
// without empty ones. The list may be empty.
func (n Name) StringList(obj Object) ([]string, error) {
	return read(n, obj, "", func(value string) ([]string, error) { return items(value), nil })
}

// CIDRs reads prefixes between commas or blanks, each only once, with the bits
// behind the prefix cleared. The list may be empty.
func (n Name) CIDRs(obj Object) ([]netip.Prefix, error) {
	return read(n, obj, "a list of CIDRs", func(value string) ([]netip.Prefix, error) {
		prefixes, err := address.ParsePrefixes(value)
		if err != nil {
			return nil, err
		}

		return unique(prefixes), nil
	})
}

// KeyValues reads items such as "k=v" between commas. Blanks around an item do
// not count, those around the first = do; a key alone has an empty value, items
// without a key are skipped, and the last of equal keys wins.
func (n Name) KeyValues(obj Object) (map[string]string, error) {
	return read(n, obj, "", func(value string) (map[string]string, error) {
		pairs := map[string]string{}
		for _, item := range items(value) {
			if key, value, _ := strings.Cut(item, "="); key != "" {
				pairs[key] = value
			}
		}

		return pairs, nil
	})
}

// read turns the value of an annotation into a T.
func read[T any](n Name, obj Object, want string, parse func(string) (T, error)) (T, error) {
	var zero T
	value, err := n.String(obj)
	if err != nil {
		return zero, err
	}
	parsed, err := parse(value)
	if err != nil {
		return zero, &Error{Name: n, Value: value, Want: want}
	}

	return parsed, nil
}

func items(list string) []string {
	var found []string
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			found = append(found, item)
		}
	}

	return found
}

// unique drops what is there already. Lists of annotations are short.
func unique[T comparable](in []T) []T {
	var out []T
	for _, item := range in {
		if !slices.Contains(out, item) {
			out = append(out, item)
		}
	}

	return out
}
