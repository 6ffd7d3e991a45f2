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
			provider: scenario.Provider{Name: "cloud", Budget: scenario.Budget{Initialise: 20, Steady: 10, Lifecycle: 1}},
			nodes:    300, notReady: 100, latency: 30 * time.Millisecond, steady: 30 * time.Second,
		},
		firstNode: 1234 * time.Millisecond, allNodes: 12 * time.Second,
		initialise:  calls(map[string]int{"Login": 1, "List": 7}, 4),
		steadyTook:  30 * time.Second,
		steadyCalls: calls(map[string]int{"List": 2}, 1),
		nodeUpdates: 1, steadyLooks: 60,
		lifecycle: calls(nil, 0), questions: 400, lookedCount: 4,
		peakRSS: 90 << 20, binarySize: 80_000_000,
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	r := sample()
	rows := judge(r)
	got := explanation(r) + "\n\n" + budgetTable(rows).text() + "\n" + callTable(r).text() + "\n" +
		budgetTable(rows).markdown() + "\n" + callTable(r).markdown()
	golden := filepath.Join("testdata", "report.golden")
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
		"initialise":    {reason: "21 calls are one too many", change: func(r *result) { r.initialise.Counted["List"] = 20 }, want: true},
		"just enough":   {reason: "20 calls are allowed", change: func(r *result) { r.initialise.Counted["List"] = 19 }, want: false},
		"steady":        {reason: "11 calls are one too many", change: func(r *result) { r.steadyCalls.Counted["List"] = 11 }, want: true},
		"many polls":    {reason: "polls are not part of the budget", change: func(r *result) { r.steadyCalls.Polls["Wait"] = 100 }, want: false},
		"call per look": {reason: "one call a look is allowed", change: func(r *result) { r.lifecycle.Counted = map[string]int{"List": 4} }, want: false},
		"more per look": {reason: "five calls in four looks are not", change: func(r *result) { r.lifecycle.Counted = map[string]int{"List": 5} }, want: true},
		"memory":        {reason: "memory depends on the machine", change: func(r *result) { r.peakRSS = 1 << 30 }, want: false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := sample()
			tc.change(&r)
			if got := broken(judge(r)); got != tc.want {
				t.Errorf("%s: broken is %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// The budget of time is for 300 nodes: more of them may take longer.
func TestTimeIsJudgedUpTo300Nodes(t *testing.T) {
	t.Parallel()
	r := sample()
	r.nodes = timedNodes + 1
	for _, row := range judge(r) {
		if row.What == "time to initialise 301 nodes" && row.Verdict != notJudged {
			t.Errorf("verdict is %q, want none", row.Verdict)
		}
	}
}

func TestPlanCheck(t *testing.T) {
	t.Parallel()
	good := plan{nodes: 1, notReady: 1, steady: time.Second}
	if err := good.check(); err != nil {
		t.Errorf("the least that can be measured: %v", err)
	}
	cases := map[string]func(*plan){
		"no nodes":         func(p *plan) { p.nodes = 0 },
		"none not ready":   func(p *plan) { p.notReady = 0 },
		"negative latency": func(p *plan) { p.latency = -1 },
		"too short":        func(p *plan) { p.steady = time.Millisecond },
		"too long":         func(p *plan) { p.steady = time.Hour },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := good
			spoil(&p)
			if err := p.check(); err == nil {
				t.Error("want an error")
			}
		})
	}
}

func TestParsePeak(t *testing.T) {
	t.Parallel()
	got, err := parsePeak("Name:\tx\nVmPeak:\t  2000 kB\nVmHWM:\t  1024 kB\nVmRSS:\t  512 kB\n")
	if err != nil || got != 1<<20 {
		t.Errorf("got %d, %v, want %d", got, err, 1<<20)
	}
	for _, status := range []string{"", "VmHWM:\tmuch\n"} {
		if _, err := parsePeak(status); err == nil {
			t.Errorf("parsePeak(%q): want an error", status)
		}
	}
	if peak, err := peakRSS(os.Getpid()); err != nil || peak < 1<<20 {
		t.Errorf("our own peak: %d, %v", peak, err)
	}
}
