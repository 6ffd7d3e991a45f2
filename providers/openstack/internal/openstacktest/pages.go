//go:build !smallpages

package openstacktest

import "testing"

// SmallPages reports whether clouds have pages of three rows.
const SmallPages = false

// CountsCalls says that a test counts calls: its clouds have the pages of OpenStack with the
// tag smallpages, too, with which all others have pages of three rows.
func CountsCalls(testing.TB) {}

// pageSize is how many rows a list of a cloud has at most if a test does not choose it, 0 for
// as many as those of OpenStack.
func pageSize(testing.TB) int { return 0 }
