package harness

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// Mutant is a provider that is wrong in one way.
type Mutant[A any] struct {
	// Adapter returns the adapter of the provider, a new one for each case.
	Adapter func(t *testing.T) A
	// Message is part of the failure of the cases that catch it.
	Message string
	// CaughtBy are the names of the cases that must catch it.
	CaughtBy []string
}

// Accept proves that each case accepts correct providers, each in simulated time,
// and that no case is left out for all of them.
func (s Suite[A, F]) Accept(t *testing.T, providers map[string]A) {
	t.Helper()
	ran := map[string]bool{}
	for name, adapter := range providers {
		for _, c := range s.Cases {
			if c.LeftOut != nil && c.LeftOut(adapter) {
				continue
			}
			ran[c.Name] = true
			t.Run(name+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				if log, failed := s.record(t, c, adapter); failed {
					t.Errorf("a correct provider fails:\n%s", log)
				}
			})
		}
	}
	if len(ran) != len(s.Cases) {
		t.Errorf("%d of %d cases ran; is a name used twice?", len(ran), len(s.Cases))
	}
}

// Reject proves, in simulated time, that each mutant is caught by the cases that
// it names, and that each case catches a mutant.
func (s Suite[A, F]) Reject(t *testing.T, mutants map[string]Mutant[A]) {
	t.Helper()
	cases := map[string]Case[A, F]{}
	for _, c := range s.Cases {
		cases[c.Name] = c
	}
	missing := maps.Clone(cases)
	for name, m := range mutants {
		for _, caughtBy := range m.CaughtBy {
			c, found := cases[caughtBy]
			if !found {
				t.Fatalf("%s: there is no case %q", name, caughtBy)
			}
			delete(missing, caughtBy)
			t.Run(name+"/"+caughtBy, func(t *testing.T) {
				t.Parallel()
				adapter := m.Adapter(t)
				if c.LeftOut != nil && c.LeftOut(adapter) {
					t.Fatal("the case is left out")
				}
				log, failed := s.record(t, c, adapter)
				if !failed || !strings.Contains(log, m.Message) || strings.Contains(log, "without faults: ") {
					t.Errorf("the case must fail with %q, its log is:\n%s", m.Message, log)
				}
			})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("no mutant is caught by this case: %s", name)
	}
}

// record runs a case in simulated time and returns its log and whether it failed.
func (s Suite[A, F]) record(t *testing.T, c Case[A, F], adapter A) (log string, failed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log, failed = Record(t, func(t testing.TB) { c.Run(s.NewFixture(t, adapter)) })
	})

	return log, failed
}

// containsAll reports whether a text contains all the parts.
func containsAll(text string, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(text, part) })
}
