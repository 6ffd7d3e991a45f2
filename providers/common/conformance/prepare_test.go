package conformance

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// TestBalancersLeftOut proves that a case about load balancers is left out only
// for what is declared, and that a refusal takes its place where there is one.
func TestBalancersLeftOut(t *testing.T) {
	t.Parallel()

	without := func(c LoadBalancerCapabilities) func(*LoadBalancerSuite) {
		return func(s *LoadBalancerSuite) { s.Without = c }
	}
	want := map[string]struct {
		change func(*LoadBalancerSuite)
		names  []string // cases left out now
		comes  []string // cases that are not left out any more
	}{
		"Affinity": {
			without(LoadBalancerCapabilities{Affinity: true, RequestedIP: true}),
			[]string{"clients are kept at their node"},
			[]string{"refused: session affinity"},
		},
		"MixedProtocols": {
			without(LoadBalancerCapabilities{MixedProtocols: true, RequestedIP: true}),
			[]string{"ports of several protocols are balanced"},
			[]string{"refused: ports of several protocols"},
		},
		"RequestedIP": {without(LoadBalancerCapabilities{}), []string{"refused: a requested address"}, nil},
		"SourceRanges": {
			without(LoadBalancerCapabilities{SourceRanges: true, RequestedIP: true}),
			balancerNames(balancerKindCases(), "source ranges"), nil,
		},
		"LocalTraffic": {
			without(LoadBalancerCapabilities{LocalTraffic: true, RequestedIP: true}),
			[]string{"the healthCheckNodePort is asked when traffic is local"},
			nil,
		},
		"ColdStart": {
			without(LoadBalancerCapabilities{ColdStart: true, RequestedIP: true}), balancerNames(balancerOutageCases(), "from the start"), nil,
		},
		"Throttling": {
			without(LoadBalancerCapabilities{Throttling: true, RequestedIP: true}), balancerNames(balancerCases(), "throttl"), nil,
		},
		"Disturbance": {
			without(LoadBalancerCapabilities{Disturbance: true, RequestedIP: true}), balancerNames(balancerDisturbedCases()), nil,
		},
		"Internal":  {func(s *LoadBalancerSuite) { s.Internal = nil }, []string{"an internal Service gets an internal load balancer"}, nil},
		"Edited":    {func(s *LoadBalancerSuite) { s.Edited = nil }, []string{"annotations edited before the deletion leave nothing"}, nil},
		"Refused":   {func(s *LoadBalancerSuite) { s.Refused = nil }, []string{"refused: annotations that cannot be"}, nil},
		"Elsewhere": {func(s *LoadBalancerSuite) { s.Elsewhere = nil }, []string{"a Service left to another controller is left alone"}, nil},
		"SCTP": {
			func(s *LoadBalancerSuite) { s.Protocols = []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP} },
			[]string{"SCTP is balanced"},
			[]string{"refused: ports of protocol SCTP"},
		},
	}
	left := func(s LoadBalancerSuite) map[string]bool {
		names := map[string]bool{}
		for _, c := range balancerCases() {
			if c.leftOut != nil && c.leftOut(s) {
				names[c.name] = true
			}
		}

		return names
	}
	whole := simBalancerSuite(simBuild{})
	before := left(whole)
	for name, tc := range want {
		suite := whole
		tc.change(&suite)
		after := left(suite)
		for _, gone := range tc.names {
			if before[gone] || !after[gone] {
				t.Errorf("%s: %q is left out: %t, without it %t", name, gone, before[gone], after[gone])
			}
		}
		for _, come := range tc.comes {
			if !before[come] || after[come] {
				t.Errorf("%s: %q is left out: %t, without it %t", name, come, before[come], after[come])
			}
		}
		if len(tc.names) == 0 || len(after)-len(before) != len(tc.names)-len(tc.comes) {
			t.Errorf("%s: %d cases are left out, %d without it", name, len(before), len(after))
		}
	}
}

// TestRoutesLeftOut proves that a case about routes is left out only for what is
// declared.
func TestRoutesLeftOut(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		without RouteCapabilities
		names   []string
	}{
		"Nothing":    {RouteCapabilities{}, nil},
		"IPv6":       {RouteCapabilities{IPv6: true}, append(routeNames(routeLifeCases(), "IPv6"), routeNames(routeLifeCases(), "families")...)},
		"ColdStart":  {RouteCapabilities{ColdStart: true}, routeNames(routeCases(), "from the start")},
		"Throttling": {RouteCapabilities{Throttling: true}, routeNames(routeCases(), "throttl")},
		"Disturbance": {
			RouteCapabilities{Disturbance: true}, routeNames(routeDisturbedCases()),
		},
	} {
		left := 0
		for _, c := range routeCases() {
			if c.leftOut != nil && c.leftOut(tc.without) {
				left++
			}
		}
		if left != len(tc.names) {
			t.Errorf("%s: %d cases are left out, want %v", name, left, tc.names)
		}
	}
}

// TestPrepareBalancers proves what a suite about load balancers must hold, and
// the defaults.
func TestPrepareBalancers(t *testing.T) {
	t.Parallel()

	whole := simBalancerSuite(simBuild{})
	for name, breakIt := range map[string]func(*LoadBalancerSuite){
		"Provider":  func(s *LoadBalancerSuite) { s.Provider = "" },
		"NewCloud":  func(s *LoadBalancerSuite) { s.NewCloud = nil },
		"Malformed": func(s *LoadBalancerSuite) { s.Malformed = nil },
		"Budget":    func(s *LoadBalancerSuite) { s.Budget = LoadBalancerBudget{} },
		"Protocols": func(s *LoadBalancerSuite) { s.Protocols = []v1.Protocol{v1.ProtocolUDP} },
	} {
		broken := whole
		breakIt(&broken)
		if _, err := broken.prepare(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	whole.Protocols, whole.Timeout, whole.Patience, whole.Budget.Services = nil, 0, 0, 0
	got, err := whole.prepare()
	if err != nil || len(got.Protocols) != 1 || got.Protocols[0] != v1.ProtocolTCP || got.Budget.Services != 100 ||
		got.Timeout != 30*time.Second || got.Patience != 30*time.Second {
		t.Errorf("defaults: %+v, %v", got, err)
	}
}

// TestPrepareRoutes proves what a suite about routes must hold, and the defaults.
func TestPrepareRoutes(t *testing.T) {
	t.Parallel()

	whole := simRouteSuite(simBuild{})
	for name, breakIt := range map[string]func(*RouteSuite){
		"Provider": func(s *RouteSuite) { s.Provider = "" },
		"NewCloud": func(s *RouteSuite) { s.NewCloud = nil },
		"Budget":   func(s *RouteSuite) { s.Budget = RouteBudget{} },
	} {
		broken := whole
		breakIt(&broken)
		if _, err := broken.prepare(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
	whole.Timeout, whole.Patience, whole.Budget.Routes = 0, 0, 0
	got, err := whole.prepare()
	if err != nil || got.Budget.Routes != 50 || got.Timeout != 30*time.Second || got.Patience != 30*time.Second {
		t.Errorf("defaults: %+v, %v", got, err)
	}
}

// TestScope proves that a scope says what it is about, and cleans up at its end
// even when the test does not go on.
func TestScope(t *testing.T) {
	t.Parallel()

	var order []string
	said, failed := record(t, func(t testing.TB) {
		inScope(t, "one", func(t testing.TB) {
			t.Cleanup(func() { order = append(order, "first made") })
			t.Cleanup(func() { order = append(order, "last made") })
			t.Error("wrong", 1)
			t.Errorf("wrong %d", 2)
		})
		order = append(order, "between")
		inScope(t, "two", func(t testing.TB) {
			t.Cleanup(func() { order = append(order, "after all") })
			inScope(t, "three", func(t testing.TB) { t.Fatalf("wrong %d", 3) })
			t.Error("this is not reached")
		})
	})
	if want := "one: wrong1\none: wrong 2\ntwo: three: wrong 3"; said != want || !failed {
		t.Errorf("said %q, want %q", said, want)
	}
	if got, want := strings.Join(order, ", "), "last made, first made, between, after all"; got != want {
		t.Errorf("order: %s, want %s", got, want)
	}
	said, _ = record(t, func(t testing.TB) { inScope(t, "four", func(t testing.TB) { t.Fatal("wrong", 4) }) })
	if said != "four: wrong4" {
		t.Errorf("said %q", said)
	}
}

// TestPicks proves which calls are disturbed.
func TestPicks(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		series series
		n      int
		want   []int
	}{
		"All":       {series{points: 0, turn: 0}, 3, []int{1, 2, 3}},
		"All later": {series{points: 0, turn: 5}, 3, []int{1, 2, 3}},
		"Enough":    {series{points: 9, turn: 2}, 3, []int{1, 2, 3}},
		"Some":      {series{points: 3, turn: 0}, 9, []int{1, 4, 7}},
		"Others":    {series{points: 3, turn: 5}, 9, []int{3, 6, 9}},
		"One":       {series{points: 1, turn: 0}, 12, []int{1}},
		"Next one":  {series{points: 1, turn: 1}, 12, []int{3}},
		"Last one":  {series{points: 1, turn: 5}, 12, []int{11}},
		"One call":  {series{points: 4, turn: 5}, 1, []int{1}},
	} {
		if got := tc.series.picks(tc.n); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
