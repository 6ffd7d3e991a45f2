package conformance

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
)

// TestWholeProviderPasses runs the suite as a provider would, in real time.
func TestWholeProviderPasses(t *testing.T) {
	t.Parallel()
	Nodes(t, simSuite(simBuild{timeout: 2 * time.Second, memory: time.Second, patience: time.Minute}))
}

// TestWholeProviderPassesSlowly runs every case with the time-outs of a real
// provider, in time that is not real, where nothing is late by accident.
func TestWholeProviderPassesSlowly(t *testing.T) {
	t.Parallel()
	for _, c := range nodeCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				if said, failed := record(t, caseOf(c, prepared(t, simBuild{}))); failed {
					t.Errorf("a whole provider fails:\n%s", said)
				}
			})
		})
	}
}

// caseOf is a case over a suite that is prepared.
func caseOf(c nodeCase, suite Suite) func(testing.TB) {
	return func(t testing.TB) { c.run(newFixture(t, suite)) }
}

// prepared is the suite of a provider built slowly.
func prepared(t *testing.T, build simBuild) Suite {
	t.Helper()
	build.timeout, build.memory, build.patience = 4*time.Second, 4*time.Second, 10*time.Second
	suite, err := simSuite(build).prepare()
	if err != nil {
		t.Fatal(err)
	}

	return suite
}

// TestSuiteBites proves that each way of being wrong is caught by the case that
// is there for it, and that there is such a way for every case.
func TestSuiteBites(t *testing.T) {
	t.Parallel()

	cases := map[string]nodeCase{}
	bites := map[string]bool{}
	for _, c := range nodeCases() {
		cases[c.name] = c
	}
	for name, f := range flaws() {
		for _, caught := range f.caught {
			c, known := cases[caught]
			if !known {
				t.Fatalf("%s: there is no case %q", name, caught)
			}
			bites[caught] = true
			t.Run(name+"/"+caught, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					said, failed := record(t, caseOf(c, prepared(t, f.build)))
					if !failed || !strings.Contains(said, f.says) {
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

// TestLeftOut proves that a case is left out only for what is declared.
func TestLeftOut(t *testing.T) {
	t.Parallel()

	want := map[string]struct {
		without Capabilities
		left    int
	}{
		"Nothing":    {Capabilities{}, 0},
		"Suspend":    {Capabilities{Suspend: true}, 1},
		"SystemUUID": {Capabilities{SystemUUID: true}, 1},
		"NodeName":   {Capabilities{NodeName: true}, 2},
		"Twins":      {Capabilities{Twins: true}, 1},
		"ColdStart":  {Capabilities{ColdStart: true}, 4},
		"Throttling": {Capabilities{Throttling: true}, 3},
		"Sessions":   {Capabilities{Sessions: true}, 2},
		"All":        {Capabilities{true, true, true, true, true, true, true}, 12},
	}
	for name, tc := range want {
		left := 0
		for _, c := range nodeCases() {
			if c.leftOut != nil && c.leftOut(tc.without) {
				left++
			}
		}
		if left != tc.left {
			t.Errorf("%s: %d cases are left out, want %d", name, left, tc.left)
		}
	}
}

// TestPrepare proves what a suite must hold, and the defaults.
func TestPrepare(t *testing.T) {
	t.Parallel()

	whole := simSuite(simBuild{})
	for name, breakIt := range map[string]func(*Suite){
		"Provider":  func(s *Suite) { s.Provider = "" },
		"NewCloud":  func(s *Suite) { s.NewCloud = nil },
		"Malformed": func(s *Suite) { s.Malformed = nil },
		"Budget":    func(s *Suite) { s.Budget = Budget{} },
	} {
		broken := whole
		breakIt(&broken)
		if _, err := broken.prepare(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	whole.Respell, whole.Timeout, whole.Patience, whole.Memory, whole.Budget.Nodes = nil, 0, 0, 0, 0
	got, err := whole.prepare()
	if err != nil || got.Respell("x") != nil || got.Budget.Nodes != 100 ||
		got.Timeout != 30*time.Second || got.Patience != 30*time.Second || got.Memory != 10*time.Second {
		t.Errorf("defaults: %+v, %v", got, err)
	}
}

// TestCaseNames proves that a case can be told by its name.
func TestCaseNames(t *testing.T) {
	t.Parallel()

	var names []string
	for _, c := range nodeCases() {
		names = append(names, c.name)
	}
	for _, c := range balancerCases() {
		names = append(names, c.name)
	}
	for _, c := range routeCases() {
		names = append(names, c.name)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] || name == "" {
			t.Errorf("the name %q is there twice", name)
		}
		seen[name] = true
	}
}

func TestMain(m *testing.M) {
	klog.SetLogger(klog.Logger{})
	m.Run()
}
