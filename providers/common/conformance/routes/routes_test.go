package routes

import (
	"strings"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// TestCorrectProvider runs the suite as a provider would, in real time.
func TestCorrectProvider(t *testing.T) {
	t.Parallel()
	Run(t, build{timeout: 2 * time.Second, patience: time.Minute}.adapter())
}

// TestCorrectProviderSlowly runs every case with the timeouts of a real provider.
func TestCorrectProviderSlowly(t *testing.T) {
	t.Parallel()
	suite().Accept(t, map[string]Adapter{"Full": build{}.slow(t)})
}

// TestMutants proves that each mutant fails a case and that each case fails for
// one.
func TestMutants(t *testing.T) {
	t.Parallel()
	mutants := map[string]harness.Mutant[Adapter]{}
	for name, m := range allMutants() {
		mutants[name] = harness.Mutant[Adapter]{Adapter: m.build.slow, Message: m.message, CaughtBy: m.caughtBy}
	}
	suite().Reject(t, mutants)
}

// TestLeftOut proves that a case is left out only for what is declared.
func TestLeftOut(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		without Capabilities
		names   []string
	}{
		"Nothing":    {Capabilities{}, nil},
		"IPv6":       {Capabilities{IPv6: true}, append(harness.Select(lifecycleCases(), "IPv6"), harness.Select(lifecycleCases(), "families")...)},
		"ColdStart":  {Capabilities{ColdStart: true}, harness.Select(suite().Cases, "from the start")},
		"Throttling": {Capabilities{Throttling: true}, harness.Select(suite().Cases, "throttl")},
		"FaultInjection": {
			Capabilities{FaultInjection: true}, harness.Select(faultCases()),
		},
	} {
		left := 0
		for _, c := range suite().Cases {
			if c.LeftOut != nil && c.LeftOut(Adapter{Without: tc.without}) {
				left++
			}
		}
		if left != len(tc.names) {
			t.Errorf("%s: %d cases are left out, want %v", name, left, tc.names)
		}
	}
}

// TestPrepare proves what an adapter must have, and the defaults.
func TestPrepare(t *testing.T) {
	t.Parallel()

	complete := build{}.adapter()
	for name, remove := range map[string]func(*Adapter){
		"Provider": func(a *Adapter) { a.Provider = "" },
		"NewCloud": func(a *Adapter) { a.NewCloud = nil },
		"Budget":   func(a *Adapter) { a.Budget = Budget{} },
	} {
		incomplete := complete
		remove(&incomplete)
		if _, err := incomplete.prepare(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	complete.Timeout, complete.Patience, complete.Budget.Routes = 0, 0, 0
	got, err := complete.prepare()
	if err != nil || got.Budget.Routes != 50 {
		t.Errorf("defaults: %+v, %v", got, err)
	}
	if f := newFixture(t, got); f.Timeout != 30*time.Second || f.Patience != 30*time.Second {
		t.Errorf("defaults: %+v", f.Limits)
	}
}
