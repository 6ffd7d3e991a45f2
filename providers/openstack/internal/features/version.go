package features

import (
	"cmp"
	"fmt"
)

// Version is a version of an OpenStack API, such as 2.26. The zero Version is older than
// all others.
type Version struct{ Major, Minor int }

// Compare returns a negative number if v is before w, zero if they are the same.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor))
}

// AtLeast reports whether v is w or later.
func (v Version) AtLeast(w Version) bool { return v.Compare(w) >= 0 }

// String returns the version as APIs write it.
func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }
