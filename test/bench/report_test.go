package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

var update = flag.Bool("update", false, "write the golden files")

// sample is a result with every kind of number.
func sample() result {
	calls := func(counted map[string]int, polls int) scenario.Calls {
		return scenario.Calls{Counted: counted, Polls: map[string]int{"Wait": polls}}
	}

	return result{
		plan: plan{
			provider: scenario.Provider{Name: "cloud", Budget: scenario.Budget{Initialize: 20, Steady: 10, Lifecycle: 1, Services: 100 * time.Second}},
			nodes:    300, notReady: 100, latency: 30 * time.Millisecond, steady: 30 * time.Second,
			services: 100, provisioning: 5 * time.Second,
		},
		firstNode: 1234 * time.Millisecond, allNodes: 12 * time.Second,
		initialize:  calls(map[string]int{"Login": 1, "List": 7}, 4),
		steadyTook:  30 * time.Second,
		steadyCalls: calls(map[string]int{"List": 2}, 1),
		nodeUpdates: 1, steadyLooks: 60,
		lifecycle: calls(nil, 0), existsCalls: 400, lookedCount: 4,
		startCPU: 2340 * time.Millisecond, steadyCPU: 450 * time.Millisecond, startAPICPU: 5670 * time.Millisecond,
		peakRSS: 90 << 20, binarySize: 80_000_000,
	}
}

// balanced is a sample with load balancers.
func balanced() result {
	r := sample()
	calls := func(counted map[string]int) scenario.Calls { return scenario.Calls{Counted: counted} }
	r.churn, r.heapBefore, r.heapAfter = 2400, 20<<20, 20<<20+100<<10
	r.balancers = balancers{
		creations: []creation{
			{kind: scenario.LoadBalancer{Name: "small", Create: 10}, calls: calls(map[string]int{"List": 1, "Create": 3})},
			{kind: scenario.LoadBalancer{Name: "large", Create: 10}, calls: calls(map[string]int{"List": 2, "Create": 9})},
		},
		took: time.Minute, all: calls(map[string]int{"List": 150, "Create": 600}),
		resync: calls(map[string]int{"List": 100}), writes: calls(nil),
		createCPU: 12 * time.Second, resyncCPU: 3 * time.Second,
	}

	return r
}

func TestReport(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]result{"nodes": sample(), "services": balanced()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testReport(t, name, r)
		})
	}
}

func testReport(t *testing.T, name string, r result) {
	rows := evaluate(r)
	got := explanation(r) + "\n\n" + budgetTable(rows).Text() + "\n" + callTable(r).Text() + "\n" +
		budgetTable(rows).Markdown() + "\n" + callTable(r).Markdown()
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestOnlyCallsBreakTheBench(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*result)
		want   bool
	}{
		"as it is":      {reason: "a slow machine is no reason to fail", change: func(*result) {}, want: false},
		"initialize":    {reason: "21 calls are one too many", change: func(r *result) { r.initialize.Counted["List"] = 20 }, want: true},
		"just enough":   {reason: "20 calls are allowed", change: func(r *result) { r.initialize.Counted["List"] = 19 }, want: false},
		"steady":        {reason: "11 calls are one too many", change: func(r *result) { r.steadyCalls.Counted["List"] = 11 }, want: true},
		"many polls":    {reason: "polls are not part of the budget", change: func(r *result) { r.steadyCalls.Polls["Wait"] = 100 }, want: false},
		"call per look": {reason: "one call a look is allowed", change: func(r *result) { r.lifecycle.Counted = map[string]int{"List": 4} }, want: false},
		"more per look": {reason: "five calls in four looks are not", change: func(r *result) { r.lifecycle.Counted = map[string]int{"List": 5} }, want: true},
		"one service":   {reason: "calls for a Service are counted", change: func(r *result) { r.balancers = balanced().balancers }, want: true},
		"write": {reason: "a restart changes nothing", change: func(r *result) {
			r.balancers = balanced().balancers
			r.balancers.creations[1].kind.Create = 11
			r.balancers.writes.Counted = map[string]int{"Create": 1}
		}, want: true},
		"slow services": {reason: "time depends on the machine", change: func(r *result) {
			r.balancers = balanced().balancers
			r.balancers.creations[1].kind.Create = 11
			r.balancers.took = time.Hour
		}, want: false},
		"memory": {reason: "memory depends on the machine", change: func(r *result) { r.peakRSS = 1 << 30 }, want: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sample()
			tc.change(&r)
			if got := broken(evaluate(r)); got != tc.want {
				t.Errorf("%s: broken is %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestParseCPU(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, stat string
		want         time.Duration
		fails        bool
	}{
		"user and system": {
			reason: "both count", stat: "1 (ccm) S 2 3 4 5 6 7 8 9 10 11 150 25 99 99 20 0", want: 1750 * time.Millisecond,
		},
		"name with spaces": {
			reason: "the name of a program is not limited", stat: "1 (a) b (c)) S 2 3 4 5 6 7 8 9 10 11 100 0 99 99 20 0", want: time.Second,
		},
		"too short":    {reason: "a field is missing", stat: "1 (ccm) S 2 3 4 5 6 7 8 9 10 11 150", fails: true},
		"not a number": {reason: "the format is another one", stat: "1 (ccm) S 2 3 4 5 6 7 8 9 10 11 150 x 99", fails: true},
		"empty":        {reason: "the process has ended", stat: "", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := parseCPU(tc.stat); got != tc.want || (err != nil) != tc.fails {
				t.Errorf("%s: got %v, error %v, want %v, error: %t", tc.reason, got, err, tc.want, tc.fails)
			}
		})
	}
	if used, err := cpuTime(os.Getpid()); err != nil || used < 0 {
		t.Errorf("our own CPU time: %v, %v", used, err)
	}
}
