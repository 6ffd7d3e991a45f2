package routes

import (
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
