package harness

import (
	"testing"
)

// Case is one statement about a provider. A is the adapter that decides whether
// it is left out, F the fixture that it works with.
type Case[A, F any] struct {
	Name string
	// LeftOut reports whether the case needs what is declared absent; nil is never.
	LeftOut func(adapter A) bool
	Run     func(f F)
}

// Suite is the cases of a suite with what they need.
type Suite[A, F any] struct {
	Cases []Case[A, F]
	// NewFixture returns the fixture of one case, with a test cloud of its own.
	NewFixture func(t testing.TB, adapter A) F
}

// Run runs the cases as subtests of t.
func (s Suite[A, F]) Run(t *testing.T, adapter A, serial bool) {
	t.Helper()
	for _, c := range s.Cases {
		if c.LeftOut != nil && c.LeftOut(adapter) {
			t.Logf("left out: %s", c.Name)

			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if !serial {
				t.Parallel()
			}
			c.Run(s.NewFixture(t, adapter))
		})
	}
}

// Select returns the names of the cases that contain all the parts.
func Select[A, F any](cases []Case[A, F], parts ...string) []string {
	var names []string
	for _, c := range cases {
		if containsAll(c.Name, parts) {
			names = append(names, c.Name)
		}
	}

	return names
}
