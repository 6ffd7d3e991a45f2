// Package profile says how much of what they explore the tests run: the most with neither the
// race detector nor -short, which is what make soak runs. make test runs the providers with the
// race detector, and those that explore most without it and with -short.
package profile

import (
	"os"
	"strconv"
	"testing"
)

// Variable is the environment variable that sets the seed of all samples.
const Variable = "TEST_SEED"

// Of returns the value for the tests that run: with the race detector, with -short, or with neither.
func Of[T any](race, short, all T) T {
	switch {
	case Race:
		return race
	case testing.Short():
		return short
	default:
		return all
	}
}

// Seed returns the seed of the samples that need one. It is 0 by default, so that a change is not held up by
// a rare event that it has nothing to do with.
func Seed(t testing.TB) uint64 {
	t.Helper()
	text := os.Getenv(Variable)
	if text == "" {
		return 0
	}
	seed, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		t.Fatalf("%s: %v", Variable, err)
	}

	return seed
}
