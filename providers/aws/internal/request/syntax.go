package request

import (
	"errors"
	"fmt"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/annotation"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// text is the value of an annotation, empty without it.
func text(obj annotation.Object, name annotation.Name) string {
	return obj.GetAnnotations()[string(name)]
}

// list reads items between commas, trimmed, without empty ones.
func list(obj annotation.Object, name annotation.Name) []string {
	var items []string
	for item := range strings.SplitSeq(text(obj, name), ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// keyValues reads items such as key=value. What follows a second = is dropped,
// which annotation.Name.KeyValues keeps. The last of equal keys wins.
func keyValues(obj annotation.Object, name annotation.Name) map[string]string {
	var pairs map[string]string
	for _, item := range list(obj, name) {
		key, rest, _ := strings.Cut(item, "=")
		if key == "" {
			continue
		}
		if pairs == nil {
			pairs = map[string]string{}
		}
		pairs[key], _, _ = strings.Cut(rest, "=")
	}
	return pairs
}

// values reads annotations that are optional, and collects what is wrong with
// them, since a user can fix all of it at once.
type values struct {
	obj  annotation.Object
	errs []error
}

func (v *values) err() error { return errors.Join(v.errs...) }

func (v *values) refuse(name annotation.Name, want string) {
	v.errs = append(v.errs, &annotation.Error{Name: name, Value: text(v.obj, name), Want: want})
}

// optional reads an annotation with get; nil without it.
func optional[T any](v *values, get func(annotation.Object) (T, error)) *T {
	value, err := get(v.obj)
	if errors.Is(err, annotation.ErrNotSet) {
		return nil
	}
	if err != nil {
		v.errs = append(v.errs, err)
		return nil
	}
	return &value
}

// setting reads an annotation with get; nil without it, and if it is empty.
func setting[T any](v *values, name annotation.Name, get func(annotation.Object) (T, error)) *T {
	if text(v.obj, name) == "" {
		return nil
	}
	return optional(v, get)
}

// invalid is an error of the Service that asking again does not mend.
func invalid(format string, args ...any) error {
	return apierr.Mark(apierr.ErrInvalid, fmt.Errorf(format, args...))
}
