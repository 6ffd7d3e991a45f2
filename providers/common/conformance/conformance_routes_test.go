package conformance

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestWholeRoutesPass runs the suite as a provider would, in real time.
func TestWholeRoutesPass(t *testing.T) {
	t.Parallel()
	Routes(t, simRouteSuite(simBuild{timeout: 2 * time.Second, patience: time.Minute}))
}

// preparedRoutes is the suite of a provider built slowly.
func preparedRoutes(t *testing.T, build simBuild) RouteSuite {
	t.Helper()
	build.timeout, build.patience = 4*time.Second, 10*time.Second
	suite, err := simRouteSuite(build).prepare()
	if err != nil {
		t.Fatal(err)
	}

	return suite
}

// TestWholeRoutesPassSlowly runs every case with the time-outs of a real
// provider, in time that is not real.
func TestWholeRoutesPassSlowly(t *testing.T) {
	t.Parallel()
	suite := preparedRoutes(t, simBuild{})
	for _, c := range routeCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if said, failed := record(t, func(t testing.TB) { c.run(newRouteFixture(t, suite)) }); failed {
					t.Errorf("a whole provider fails:\n%s", said)
				}
			})
		})
	}
}

// TestRouteSuiteBites proves that each way of being wrong is caught by the case
// that is there for it, and that there is such a way for every case.
func TestRouteSuiteBites(t *testing.T) {
	t.Parallel()

	cases, bites := map[string]routeCase{}, map[string]bool{}
	for _, c := range routeCases() {
		cases[c.name] = c
	}
	for name, f := range routeFlaws() {
		for _, caught := range f.caught {
			c, known := cases[caught]
			if !known {
				t.Fatalf("%s: there is no case %q", name, caught)
			}
			bites[caught] = true
			t.Run(name+"/"+caught, func(t *testing.T) {
				t.Parallel()
				suite := preparedRoutes(t, f.build)
				synctest.Test(t, func(t *testing.T) {
					said, failed := record(t, func(t testing.TB) { c.run(newRouteFixture(t, suite)) })
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
