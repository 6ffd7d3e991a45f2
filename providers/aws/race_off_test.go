//go:build !race

package aws

// raceDetector reports whether the tests are compiled with the race detector.
const raceDetector = false
