//go:build race

package profile

// Race reports whether the tests are compiled with the race detector.
const Race = true
