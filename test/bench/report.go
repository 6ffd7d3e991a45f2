package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// budgetTable compares with the budgets.
func budgetTable(rows []row) scenario.Table {
	t := scenario.Table{{"what", "measured", "budget", "ok?"}}
	for _, r := range rows {
		t = append(t, []string{r.What, r.Measured, r.Budget, string(r.Status)})
	}

	return t
}

// phase is a part of the measurement that made calls.
type phase struct {
	name  string
	calls scenario.Calls
}

func (r result) phases() []phase {
	phases := []phase{
		{"initialize", r.initialize},
		{"steady", r.steadyCalls},
		{fmt.Sprintf("%d checks", r.lookedCount), r.lifecycle},
	}
	for _, c := range r.balancers.creations {
		phases = append(phases, phase{"one " + c.kind.Name, c.calls})
	}
	if r.hasBalancers() {
		phases = append(phases, phase{fmt.Sprintf("%d Services", r.services), r.balancers.all}, phase{"restart", r.balancers.resync})
	}

	return phases
}

// callTable lists the calls by operation, those that wait for changes last.
func callTable(r result) scenario.Table {
	head := []string{"operation"}
	for _, p := range r.phases() {
		head = append(head, p.name)
	}
	counted := func(c scenario.Calls) map[string]int { return c.Counted }
	polls := func(c scenario.Calls) map[string]int { return c.Polls }
	t := append(scenario.Table{head}, operations("", r, counted)...)

	return append(t, operations(" (long poll)", r, polls)...)
}

// operations lists those that were called in any phase.
func operations(suffix string, r result, pick func(scenario.Calls) map[string]int) scenario.Table {
	called := map[string]bool{}
	for _, phase := range r.phases() {
		for op := range pick(phase.calls) {
			called[op] = true
		}
	}
	var t scenario.Table
	for _, op := range slices.Sorted(maps.Keys(called)) {
		cells := []string{op + suffix}
		for _, phase := range r.phases() {
			cells = append(cells, fmt.Sprint(pick(phase.calls)[op]))
		}
		t = append(t, cells)
	}

	return t
}

// explanation describes how the numbers were measured.
func explanation(r result) string {
	sentences := []string{
		fmt.Sprintf("Provider %s, %d nodes, %v for each cloud call.", r.provider.Name, r.nodes, r.latency),
		"Times are measured from the start of the process, with the default flags of the binary; a node is initialized when it also has its addresses.",
		fmt.Sprintf("The steady period took %.0f s, with %d update of every node and %d checks of nodes that are not ready.",
			r.steadyTook.Seconds(), r.nodeUpdates, r.steadyLooks),
		fmt.Sprintf("Then %d nodes became not ready: in %d checks, %d times it was looked up whether a machine exists, and all nodes were kept.",
			r.notReady, r.lookedCount, r.existsCalls),
	}
	if r.hasBalancers() {
		sentences = append(sentences,
			fmt.Sprintf("The calls for one load balancer are those of a Service that is not the first, with %d nodes.", min(targets, r.nodes)),
			fmt.Sprintf("Then %d Services of all kinds in turn were created at once, with the default number of targets, and the binary was started again.", r.services))
	}
	if r.churn > 0 {
		sentences = append(sentences, fmt.Sprintf("In the end %d nodes were replaced, and %d before the heap was measured first.", r.churn, warmUp))
	}
	if r.steady < budgetPeriod {
		sentences = append(sentences, "If the steady period is shorter than 5 min, there are fewer long polls and other periodic calls.")
	}

	return strings.Join(sentences, " ")
}
