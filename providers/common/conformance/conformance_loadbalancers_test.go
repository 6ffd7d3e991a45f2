package conformance

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWholeBalancersPass runs the suite as a provider would, in real time.
func TestWholeBalancersPass(t *testing.T) {
	t.Parallel()
	LoadBalancers(t, simBalancerSuite(simBuild{timeout: 2 * time.Second, patience: time.Minute}))
}

// TestWholeBalancersPassSlowly runs every case with the time-outs of a real
// provider, in time that is not real, for several kinds of whole providers. No
// case is left out of all.
func TestWholeBalancersPassSlowly(t *testing.T) {
	t.Parallel()
	ran := map[string]bool{}
	for name, build := range map[string]simBuild{"Rich": {}, "Sparse": {sparse: true}, "Patient": {patient: true}, "Noting": {noting: true}} {
		suite := preparedBalancers(t, build)
		for _, c := range balancerCases() {
			if c.leftOut != nil && c.leftOut(suite) {
				continue
			}
			ran[c.name] = true
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					if said, failed := record(t, balancerCaseOf(c, suite)); failed {
						t.Errorf("a whole provider fails:\n%s", said)
					}
				})
			})
		}
	}
	if all := len(balancerCases()); len(ran) != all {
		t.Errorf("%d of %d cases ran", len(ran), all)
	}
}

// preparedBalancers is the suite of a provider built slowly.
func preparedBalancers(t *testing.T, build simBuild) LoadBalancerSuite {
	t.Helper()
	build.timeout, build.patience = 4*time.Second, 10*time.Second
	suite, err := simBalancerSuite(build).prepare()
	if err != nil {
		t.Fatal(err)
	}

	return suite
}

// balancerCaseOf is a case over a suite that is prepared.
func balancerCaseOf(c balancerCase, suite LoadBalancerSuite) func(testing.TB) {
	return func(t testing.TB) { c.run(newBalancerFixture(t, suite)) }
}

// TestBalancerSuiteBites proves that each way of being wrong is caught by the
// case that is there for it, and that there is such a way for every case.
func TestBalancerSuiteBites(t *testing.T) {
	t.Parallel()

	cases, bites := map[string]balancerCase{}, map[string]bool{}
	for _, c := range balancerCases() {
		cases[c.name] = c
	}
	for name, f := range balancerFlaws() {
		for _, caught := range f.caught {
			c, known := cases[caught]
			if !known {
				t.Fatalf("%s: there is no case %q", name, caught)
			}
			bites[caught] = true
			t.Run(name+"/"+caught, func(t *testing.T) {
				t.Parallel()
				suite := preparedBalancers(t, f.build)
				if c.leftOut != nil && c.leftOut(suite) {
					t.Fatal("the case is left out")
				}
				synctest.Test(t, func(t *testing.T) {
					said, failed := record(t, balancerCaseOf(c, suite))
					if !failed || !strings.Contains(said, f.says) || strings.Contains(said, "without faults: ") {
						t.Errorf("the case should fail with %q, and said:\n%s", f.says, said)
					}
				})
			})
		}
	}
	for name := range cases {
		if !bites[name] {
			t.Errorf("no flaw proves that this case bites: %s", name)
		}
	}
}
