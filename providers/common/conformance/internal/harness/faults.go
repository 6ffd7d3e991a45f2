package harness

import (
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

// get returns the explorer of an operation.
func (e *Explorers) get(name string, begin func(t testing.TB) explore.Run) *explore.Explorer {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.byName == nil {
		e.byName = map[string]*explore.Explorer{}
	}
	if e.byName[name] == nil {
		e.byName[name] = &explore.Explorer{Begin: func(t testing.TB, _ int) explore.Run { return begin(t) }}
	}

	return e.byName[name]
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

// FaultCases returns a case for each kind of fault.
func FaultCases[A, F any](o Operation[A], parts func(f F) (testing.TB, A)) []Case[A, F] {
	var cases []Case[A, F]
	kinds := explore.Injections()
	for turn, kind := range kinds {
		cases = append(cases, Case[A, F]{
			Name:    o.Name + " is recovered from when " + kind.Kind(),
			LeftOut: func(adapter A) bool { return o.LeftOut(adapter, kind.Fault) },
			Run: func(f F) {
				t, adapter := parts(f)
				explorers, points := o.Explorers(adapter)
				explorer := explorers.get(o.Name, func(t testing.TB) explore.Run { return o.Begin(t, adapter) })
				explorer.Sweep(t, kind, explore.Spread{Points: points, Turn: turn, Turns: len(kinds)})
			},
		})
	}

	return cases
}
