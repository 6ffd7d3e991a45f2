package aws

import (
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// pairs is how many times two faults in a row are injected in each scenario.
const pairs = 8

// seedVariable is the environment variable that sets the seed of the sample.
const seedVariable = "CRASH_SEED"

// sampleSize is how many cases of each scenario run with the race detector, and
// samplePairs how many with two faults, in one of so many scenarios. All cases run
// without it.
const (
	sampleSize      = 2
	samplePairs     = 1
	sampleScenarios = 12
)

// sampleSeed returns the seed of all samples of the process.
var sampleSeed = sync.OnceValues(func() (uint64, error) {
	if text := os.Getenv(seedVariable); text != "" {
		return strconv.ParseUint(text, 10, 64)
	}

	return uint64(time.Now().UnixNano()), nil
})

// sampler selects the cases of a scenario that run.
type sampler struct {
	random *rand.Rand
	pairs  int
}

// newSampler returns the sampler of a scenario, nil if the scenario does not run.
// With the race detector a failure is followed by the command that repeats it.
func newSampler(t *testing.T) *sampler {
	t.Helper()
	if !raceDetector {
		return &sampler{pairs: pairs}
	}
	seed, err := sampleSeed()
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	random := rand.New(rand.NewPCG(seed, hashOf(t.Name())))
	if random.IntN(sampleScenarios) > 0 {
		return nil
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Repeat it with: %s=%d go test -race -run '^TestCrash' ./providers/aws", seedVariable, seed)
		}
	})

	return &sampler{random: random, pairs: samplePairs}
}

// of returns the numbers of the cases that run, of so many, in order.
func (s *sampler) of(cases int) []int {
	all := make([]int, cases)
	for i := range all {
		all[i] = i
	}
	if s.random == nil || cases <= sampleSize {
		return all
	}

	return s.random.Perm(cases)[:sampleSize]
}

// hashOf returns a number for a name.
func hashOf(name string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(name)) // never fails

	return hash.Sum64()
}
