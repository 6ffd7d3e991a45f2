package openstack

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

// Duration is a time span with its unit, as in 30s or 5m, or a number of
// seconds.
type Duration time.Duration

// UnmarshalText reads a time span.
func (d *Duration) UnmarshalText(text []byte) error {
	trimmed := strings.TrimSpace(string(text))
	if seconds, err := strconv.ParseInt(trimmed, 10, 32); err == nil {
		*d = Duration(time.Duration(seconds) * time.Second)

		return nil
	}
	parsed, err := time.ParseDuration(trimmed)
	if err != nil {
		return fmt.Errorf("%q is neither a duration such as 30s nor a number of seconds", text)
	}
	*d = Duration(parsed)

	return nil
}

// String formats the time span.
func (d Duration) String() string { return time.Duration(d).String() }

// Seconds returns the whole seconds of the time span, as Octavia takes them.
func (d Duration) Seconds() int { return int(time.Duration(d) / time.Second) }

// EndpointType is a kind of endpoints. Empty is public.
type EndpointType string

// The kinds of endpoints in the catalog of Keystone.
const (
	EndpointPublic   EndpointType = "public"
	EndpointInternal EndpointType = "internal"
	EndpointAdmin    EndpointType = "admin"
)

// UnmarshalText reads the name of a kind, also with the suffix URL that old files
// have.
func (e *EndpointType) UnmarshalText(text []byte) error {
	kind := EndpointType(strings.TrimSuffix(strings.TrimSpace(string(text)), "URL"))
	switch kind {
	case "", EndpointPublic, EndpointInternal, EndpointAdmin:
		*e = kind

		return nil
	default:
		return fmt.Errorf("%q is not public, internal or admin", text)
	}
}

// URL is a URL, which is shown without credentials.
type URL string

// UnmarshalText takes the text over as it is.
func (u *URL) UnmarshalText(text []byte) error {
	*u = URL(text)

	return nil
}

// String is the URL without credentials.
func (u URL) String() string { return config.RedactURLs(string(u)) }

// PEM is a text in PEM format, which is not shown: it is long.
type PEM string

// UnmarshalText takes the text over as it is.
func (p *PEM) UnmarshalText(text []byte) error {
	*p = PEM(text)

	return nil
}

// String is a word for the text.
func (p PEM) String() string {
	if p == "" {
		return ""
	}

	return "<PEM certificates>"
}
