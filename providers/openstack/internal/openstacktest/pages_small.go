//go:build smallpages

package openstacktest

// pageSize is how many rows a list of a cloud has at most if a test does not choose it: so few
// that most lists have several pages. Nothing but the number of calls may depend on it.
const pageSize = 3
