package conformance

import (
	"testing"
)

// testCase is one statement about a provider. W is what decides whether it is
// left out, B what it works with.
type testCase[W, B any] struct {
	name string
	// leftOut says that the case needs something declared absent; nil is never.
	leftOut func(without W) bool
	run     func(b B)
}

// The cases by subject.
type (
	nodeCase     = testCase[Capabilities, *fixture]
	balancerCase = testCase[LoadBalancerSuite, *balancerFixture]
	routeCase    = testCase[RouteCapabilities, *routeFixture]
)

// runner is how the cases of a suite are run.
type runner[W, B any] struct {
	without    W
	serial     bool
	newFixture func(t testing.TB) B
}

// runAll runs the cases as subtests of t.
func (r runner[W, B]) runAll(t *testing.T, cases []testCase[W, B]) {
	t.Helper()
	for _, c := range cases {
		if c.leftOut != nil && c.leftOut(r.without) {
			t.Logf("left out: %s", c.name)

			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if !r.serial {
				t.Parallel()
			}
			c.run(r.newFixture(t))
		})
	}
}
