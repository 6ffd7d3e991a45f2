package features

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// Version is a version of the Octavia API, such as 2.26. The zero Version is older than
// all others.
type Version struct{ Major, Minor int }

// Entry is a version in the version document of the API.
type Entry struct {
	// ID is the version, as in v2.26.
	ID string
	// Status is CURRENT, SUPPORTED or another.
	Status string
}

// current is the status of the newest version that is used.
const current = "CURRENT"

// ParseVersion reads a version such as v2.26. The minor number may be missing.
func ParseVersion(id string) (Version, error) {
	major, minor, _ := strings.Cut(strings.TrimPrefix(id, "v"), ".")
	var v Version
	var err error
	if v.Major, err = number(major); err == nil && minor != "" {
		v.Minor, err = number(minor)
	}
	if err != nil {
		return Version{}, fmt.Errorf("parse version %q of the load balancer API: %w", id, err)
	}

	return v, nil
}

func number(text string) (int, error) {
	parsed, err := strconv.ParseUint(text, 10, 31)

	return int(parsed), err
}

// Current returns the version of a version document: the highest that is CURRENT, or
// else the highest of all (octavia: api/root_controller.py). Versions that cannot be
// read do not count. It is an error if none can be read: nothing is known about such an
// API, and it must not pass for an old one.
func Current(entries []Entry) (Version, error) {
	var highest, newest Version
	for _, entry := range entries {
		v, err := ParseVersion(entry.ID)
		if err != nil {
			continue
		}
		highest = later(highest, v)
		if strings.EqualFold(entry.Status, current) {
			newest = later(newest, v)
		}
	}
	if newest != (Version{}) {
		return newest, nil
	}
	if highest == (Version{}) {
		return Version{}, fmt.Errorf("read the versions of the load balancer API: none of %d can be read", len(entries))
	}

	return highest, nil
}

func later(a, b Version) Version {
	if b.AtLeast(a) {
		return b
	}

	return a
}

// AtLeast reports whether v is other or a later version.
func (v Version) AtLeast(other Version) bool {
	return cmp.Or(cmp.Compare(v.Major, other.Major), cmp.Compare(v.Minor, other.Minor)) >= 0
}

// String is the version as in the version document, such as v2.26.
func (v Version) String() string { return fmt.Sprintf("v%d.%d", v.Major, v.Minor) }
