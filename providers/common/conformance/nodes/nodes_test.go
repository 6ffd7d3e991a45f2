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
	Run(t, build{timeout: 2 * time.Second, maxStaleness: time.Second, noticeTime: time.Minute}.adapter())
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

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{})
	m.Run()
}
