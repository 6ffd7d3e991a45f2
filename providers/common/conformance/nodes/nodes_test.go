package nodes

import (
	"testing"
	"time"

	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// TestCorrectProvider runs the suite as a provider would, in real time.
func TestCorrectProvider(t *testing.T) {
	t.Parallel()
	Run(t, build{timeout: 2 * time.Second, maxStaleness: time.Second, patience: time.Minute}.adapter())
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

	want := map[string]struct {
		without Capabilities
		left    int
	}{
		"Nothing":        {Capabilities{}, 0},
		"Suspend":        {Capabilities{Suspend: true}, 1},
		"SystemUUID":     {Capabilities{SystemUUID: true}, 3},
		"MixedEndian":    {Capabilities{MixedEndian: true}, 1},
		"Places":         {Capabilities{Places: true}, 1},
		"NodeName":       {Capabilities{NodeName: true}, 2},
		"DuplicateNames": {Capabilities{DuplicateNames: true}, 1},
		"ColdStart":      {Capabilities{ColdStart: true}, 7},
		"Throttling":     {Capabilities{Throttling: true}, 3},
		"Sessions":       {Capabilities{Sessions: true}, 2},
		"All":            {Capabilities{true, true, true, true, true, true, true, true, true}, 18},
	}
	for name, tc := range want {
		left := 0
		for _, c := range suite().Cases {
			if c.LeftOut != nil && c.LeftOut(Adapter{Without: tc.without}) {
				left++
			}
		}
		if left != tc.left {
			t.Errorf("%s: %d cases are left out, want %d", name, left, tc.left)
		}
	}
}

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{})
	m.Run()
}
