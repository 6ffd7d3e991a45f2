//go:build smallpages

package openstacktest

import (
	"strings"
	"sync"
	"testing"
)

// SmallPages reports whether clouds have pages of three rows.
const SmallPages = true

// counting has the names of the tests that count calls.
var counting sync.Map

// CountsCalls says that a test counts calls: its clouds have the pages of OpenStack.
func CountsCalls(t testing.TB) { counting.Store(testName(t), true) }

// pageSize is how many rows a list of a cloud has at most if a test does not choose it: so few
// that most lists have several pages.
func pageSize(t testing.TB) int {
	if _, counts := counting.Load(testName(t)); counts {
		return 0
	}

	return 3
}

// testName returns the name of a test without those of its subtests.
func testName(t testing.TB) string {
	name, _, _ := strings.Cut(t.Name(), "/")

	return name
}
