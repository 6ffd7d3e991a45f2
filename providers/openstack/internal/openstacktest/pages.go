//go:build !smallpages

package openstacktest

// pageSize is how many rows a list of a cloud has at most if a test does not choose it: as
// many as those of OpenStack.
const pageSize = 0
