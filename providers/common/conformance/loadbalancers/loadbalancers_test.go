package loadbalancers

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// TestCorrectProvider runs the suite as a provider would, in real time.
func TestCorrectProvider(t *testing.T) {
	t.Parallel()
	Run(t, build{timeout: 2 * time.Second, noticeTime: time.Minute}.adapter())
}

// TestCorrectProviderSlowly runs every case with the timeouts of a real provider,
// for several kinds of correct providers.
func TestCorrectProviderSlowly(t *testing.T) {
	t.Parallel()
	suite().Accept(t, map[string]Adapter{
		"Rich": build{}.slow(t), "Sparse": build{sparse: true}.slow(t), "Waiting": build{waiting: true}.slow(t), "Noting": build{noting: true}.slow(t),
	})
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

func TestOnly(t *testing.T) {
	t.Parallel()
	names := []string{"the status has the address", "a Service may be created again after its deletion"}
	chosen, err := suite().Only(names)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range chosen.Cases {
		got = append(got, c.Name)
	}
	if diff := cmp.Diff(names, got); diff != "" {
		t.Errorf("cases (-want +got):\n%s", diff)
	}
	if _, err := suite().Only([]string{"no case"}); err == nil {
		t.Error("a name that no case has is no error")
	}
	if all, err := suite().Only(nil); err != nil || len(all.Cases) != len(suite().Cases) {
		t.Errorf("without names there are %d cases, %v", len(all.Cases), err)
	}
}
