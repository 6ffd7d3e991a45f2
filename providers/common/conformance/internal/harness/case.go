package harness

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
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

// How is how the cases of a suite run.
type How struct {
	// Serial runs one case after the other, for a test cloud that cannot exist
	// several times in a process.
	Serial bool
	// InMemory runs each case in simulated time, for a test cloud and a provider
	// that are connected by pipes: waiting for a socket, no time would pass.
	InMemory bool
}

// Run runs the cases as subtests of t.
func (s Suite[A, F]) Run(t *testing.T, adapter A, how How) {
	t.Helper()
	for _, c := range s.Cases {
		if c.LeftOut != nil && c.LeftOut(adapter) {
			t.Logf("left out: %s", c.Name)

			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			if !how.Serial {
				t.Parallel()
			}
			run := func(t *testing.T) {
				t.Helper()
				c.Run(s.NewFixture(t, adapter))
			}
			if how.InMemory {
				synctest.Test(t, run)
			} else {
				run(t)
			}
		})
	}
}

// Only returns the suite with the cases of some names, all without any. A name that no case
// has is an error.
func (s Suite[A, F]) Only(names []string) (Suite[A, F], error) {
	if len(names) == 0 {
		return s, nil
	}
	chosen := s
	chosen.Cases = nil
	for _, name := range names {
		i := slices.IndexFunc(s.Cases, func(c Case[A, F]) bool { return c.Name == name })
		if i < 0 {
			return s, fmt.Errorf("there is no case %q", name)
		}
		chosen.Cases = append(chosen.Cases, s.Cases[i])
	}

	return chosen, nil
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
