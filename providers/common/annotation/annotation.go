// Package annotation reads typed values from annotations.
//
// What it promises: a [Reader] collects every value that cannot be used, since a
// user can correct all of them at once. Each is an [Error] that names the
// annotation, the value and what was expected, and means apierr.ErrInvalid. A
// missing annotation is no error; one that is present but empty is set, unless the
// caller asks otherwise.
//
// When not to use it: for the annotations of Nodes that the framework defines,
// which the Kubernetes libraries read.
package annotation

import (
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// shown is how many bytes of a value an [Error] quotes.
const shown = 100

// Error is a value of an annotation that cannot be used.
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

// Unwrap returns apierr.ErrInvalid.
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

// Value returns the value as it is, empty without the annotation.
func (n Name) Value(obj Object) string { return obj.GetAnnotations()[string(n)] }

// List returns the items between commas, without the blanks around them and
// without empty ones.
func (n Name) List(obj Object) []string {
	var items []string
	for item := range strings.SplitSeq(n.Value(obj), ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}

	return items
}

// KeyValues returns items such as "k=v" between commas, nil without any. Blanks
// around an item do not count, those around the first = do; a key alone has an
// empty value, items without a key are skipped, and the last of equal keys wins.
func (n Name) KeyValues(obj Object) map[string]string {
	var pairs map[string]string
	for _, item := range n.List(obj) {
		key, value, _ := strings.Cut(item, "=")
		if key == "" {
			continue
		}
		if pairs == nil {
			pairs = map[string]string{}
		}
		pairs[key] = value
	}

	return pairs
}
