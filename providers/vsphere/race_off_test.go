//go:build !race

package vsphere

// raceDetector reports whether the tests are compiled with the race detector.
const raceDetector = false
