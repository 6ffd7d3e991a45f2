package config

import (
	"fmt"
	"io"
)

// redacted is printed wherever a secret would be.
const redacted = "<redacted>"

// Secret is a text that is never shown: every way of formatting or encoding it
// prints <redacted>. Only [Secret.Reveal] returns it.
//
// Keep it in exported fields and never as the key of a map: package fmt does
// not call methods of an unexported field, nor package json those of a key, to
// be written. The verbs %p and %w, which a text has no use for, show it.
type Secret string

// Reveal returns the text itself, for the one call that needs it.
func (s Secret) Reveal() string {
	return string(s)
}

// Format hides the text from every verb of package fmt, %#v and %x included.
func (s Secret) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, redacted)
}

// String hides the text.
func (s Secret) String() string { return redacted }

// GoString hides the text.
func (s Secret) GoString() string { return redacted }

// MarshalText hides the text from JSON, XML and every other text encoding.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalYAML hides the text.
func (s Secret) MarshalYAML() (any, error) { return redacted, nil }

// MarshalLog hides the text from structured logging.
func (s Secret) MarshalLog() any { return redacted }

// UnmarshalText takes the text over as it is.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)

	return nil
}
