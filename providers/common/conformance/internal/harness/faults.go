package harness

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/explore"
)

// Explorers are the explorers of a suite by the name of the operation, so that the
// cases about one operation share its baseline.
type Explorers struct {
	mu     sync.Mutex
	byName map[string]*explore.Explorer
}

// Operation is an operation of a provider that may be interrupted at any of its
// calls.
type Operation[A any] struct {
	Name string
	// LeftOut reports whether a fault cannot be injected.
	LeftOut func(adapter A, fault explore.Fault) bool
	// Explorers returns those of the adapter, and at how many calls each kind of
	// fault is injected.
	Explorers func(adapter A) (explorers *Explorers, points int)
	// Begin prepares the operation in a cloud of its own.
	Begin func(t testing.TB, adapter A) explore.Run
}

// defaultPairs is how many pairs of faults are injected into an operation.
const defaultPairs = 12

// FaultCases returns a case for each kind of fault, and one for pairs of faults.
func FaultCases[A, F any](o Operation[A], parts func(f F) (testing.TB, A)) []Case[A, F] {
	kinds := explore.Injections()
	cases := []Case[A, F]{{
		Name:    o.Name + " is recovered from when the next process is interrupted, too",
		LeftOut: func(adapter A) bool { return len(o.faults(adapter)) == 0 },
		Run: func(f F) {
			t, adapter := parts(f)
			_, points := o.Explorers(adapter)
			o.explorer(adapter).InjectPairs(t, rand.New(rand.NewPCG(1, 2)), cmp.Or(points, defaultPairs))
		},
	}}
	for turn, kind := range kinds {
		cases = append(cases, Case[A, F]{
			Name:    o.Name + " is recovered from when " + kind.Kind(),
			LeftOut: func(adapter A) bool { return o.LeftOut(adapter, kind.Fault) },
			Run: func(f F) {
				t, adapter := parts(f)
				_, points := o.Explorers(adapter)
				o.explorer(adapter).Sweep(t, kind, explore.Spread{Points: points, Turn: turn, Turns: len(kinds)})
			},
		})
	}

	return cases
}

// faults are those that can be injected.
func (o Operation[A]) faults(adapter A) []explore.Fault {
	return slices.DeleteFunc(explore.Faults(), func(fault explore.Fault) bool { return o.LeftOut(adapter, fault) })
}

// explorer returns the explorer of the operation.
func (o Operation[A]) explorer(adapter A) *explore.Explorer {
	explorers, _ := o.Explorers(adapter)
	explorers.mu.Lock()
	defer explorers.mu.Unlock()
	if explorers.byName == nil {
		explorers.byName = map[string]*explore.Explorer{}
	}
	if explorers.byName[o.Name] == nil {
		explorers.byName[o.Name] = &explore.Explorer{
			Begin:  func(t testing.TB, _ int) explore.Run { return o.Begin(t, adapter) },
			Faults: o.faults(adapter),
		}
	}

	return explorers.byName[o.Name]
}
