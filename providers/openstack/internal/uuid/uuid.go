// Package uuid recognizes the IDs of OpenStack resources.
package uuid

import "regexp"

var (
	anyForm    = regexp.MustCompile(`^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$`)
	withDashes = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// IsID reports whether a text can be the ID of a resource: a UUID, also without dashes, as
// projects have it. An ID becomes part of the URL of a request, so that nothing else may.
func IsID(text string) bool { return anyForm.MatchString(text) }

// IsServerID reports whether a text can be the ID of a server: a UUID with dashes.
func IsServerID(text string) bool { return withDashes.MatchString(text) }
