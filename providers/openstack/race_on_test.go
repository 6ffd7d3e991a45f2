//go:build race

package openstack

// raceDetector reports whether the tests are compiled with the race detector.
const raceDetector = true
