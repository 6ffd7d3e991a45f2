package aws

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// sample is what runs of the scenarios of TestCrash: one in so many of them and of the cases
// of each, and how many pairs of faults.
type sample struct{ scenarios, cases, pairs int }

// crashSample returns the sample of a scenario and what selects its cases, nil if it does not run.
func crashSample(t *testing.T) (sample, *rand.Rand) {
	t.Helper()
	s := profile.Of(sample{scenarios: 12, cases: 50, pairs: 1}, sample{scenarios: 1, cases: 4, pairs: 2}, sample{scenarios: 1, cases: 1, pairs: 8})
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(t.Name())) // never fails
	random := rand.New(rand.NewPCG(profile.Seed(t), hash.Sum64()))
	if random.IntN(s.scenarios) > 0 {
		return s, nil
	}

	return s, random
}

// of returns the numbers of the cases that run, of so many, in order.
func (s sample) of(random *rand.Rand, cases int) []int {
	return slices.Sorted(slices.Values(random.Perm(cases)[:min(cases, max(1, cases/s.cases))]))
}
