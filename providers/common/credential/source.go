// Package credential reads credentials that may change while the process runs: from
// a Kubernetes Secret, from a directory or files, or from the cloud-config itself.
//
// What it promises:
//
//   - A change is noticed without a restart, and subscribers are called after it.
//   - The newest complete credentials stay in use if their source is deleted, is
//     incomplete or can no longer be read.
//   - Files that Kubernetes replaces together are read together.
//   - An older read never replaces the result of a newer one.
//   - No value of a Secret or a file appears in a log or an error, at any verbosity,
//     as long as the [Parse] function puts none into its errors.
//
// Whether credentials are right is for the caller to find out: it logs in with the
// new ones and keeps its session until that has succeeded.
//
// When not to use it: for credentials that an SDK finds and renews by itself, such as
// the AWS credential chain, and for settings that are read once at start.
package credential

import (
	"context"
	"errors"
	"strings"
)

// ErrNotFound means that a source has no credentials of this name.
var ErrNotFound = errors.New("no credentials")

// Parse returns the credentials in the keys of a Secret or the files of a directory,
// by name, such as that of the server they are for. The error joins everything that
// is wrong; credentials that are complete are returned together with it. It must not
// contain values.
type Parse[C comparable] func(data map[string][]byte) (map[string]C, error)

// Value returns the value of a key without one newline at its end, which files made by
// hand have, and Secrets made from them.
func Value(data map[string][]byte, key string) string {
	return strings.TrimSuffix(string(data[key]), "\n")
}

// Source has credentials. Two values are the same version of them if they are equal.
// It may be shared by any number of sessions, and is safe for concurrent use.
type Source[C comparable] interface {
	// Lookup returns the newest complete credentials of a name. Only the first call
	// reads the source; later ones return what was read last. The error wraps
	// apierr.ErrDenied if the source has none, and apierr.ErrUnavailable if it could
	// not be read; that of [InFile] is the one that it was made with.
	Lookup(ctx context.Context, name string) (C, error)

	// Refresh reads the source now, for example because the cloud refused what
	// Lookup returned.
	Refresh(ctx context.Context) error

	// Subscribe registers a function that is called after each change. It must not
	// block.
	Subscribe(changed func(context.Context))

	// String describes the source in messages.
	String() string
}
