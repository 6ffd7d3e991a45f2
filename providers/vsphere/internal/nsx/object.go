package nsx

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"unicode/utf8"

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

// What texts have at most, in characters:
// https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/types_ManagedResource.html and
// https://developer.broadcom.com/xapis/nsx-t-data-center-rest-api/latest/types_Tag.html.
const (
	MaxName        = 255
	MaxDescription = 1024
	MaxScope       = 128
	MaxTag         = 256
	MaxTags        = 30
)

// Cut shortens a text to a number of characters. One that is too long ends with a hash of
// the whole.
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	const digits = 16
	sum := sha256.Sum256([]byte(text))

	return string([]rune(text)[:most-digits-1]) + "_" + hex.EncodeToString(sum[:])[:digits]
}
