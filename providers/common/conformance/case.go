package conformance

import (
	"testing"
)

// testCase is one statement about a provider.
type testCase struct {
	name string
	// leftOut says that the case needs something declared absent; nil is never.
	leftOut func(without Capabilities) bool
	run     func(b *bed)
}

// runAll runs the cases as subtests of t.
func runAll(t *testing.T, suite Suite, cases []testCase) {
	t.Helper()
	suite, err := suite.prepare()
	if err != nil {
		t.Fatalf("conformance suite: %v", err)
	}
	for _, c := range cases {
		if c.leftOut != nil && c.leftOut(suite.Without) {
			t.Logf("left out: %s", c.name)

			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if !suite.Serial {
				t.Parallel()
			}
			c.run(newBed(t, suite))
		})
	}
}
