package nsx

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// Object is an object of the policy API, by the names of its fields.
type Object map[string]json.RawMessage

// NewObject returns an object with the fields of a struct.
func NewObject(fields any) (Object, error) { return Object{}.With(fields) }

// With returns the object with the fields of a struct instead of its own. Fields that the
// struct does not have, or leaves out because they are empty, stay.
func (o Object) With(fields any) (Object, error) {
	content, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}
	changed := maps.Clone(o)
	if err := json.Unmarshal(content, &changed); err != nil {
		return nil, fmt.Errorf("encode object: %w", err)
	}

	return changed, nil
}

// Into reads the fields that a struct has.
func (o Object) Into(fields any) error {
	content, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(content, fields)
	}
	if err != nil {
		return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("decode object: %w", err))
	}

	return nil
}

// Tag is a tag of an object. Either half may be empty.
type Tag struct {
	Scope string `json:"scope"`
	Tag   string `json:"tag"`
}

// MaxName is how many characters a display name has at most:
// https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/types_ManagedResource.html.
const MaxName = 255
