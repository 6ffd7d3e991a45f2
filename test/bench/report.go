package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

// table is what both forms of the report are made of.
type table [][]string

// budgetTable compares with the budgets.
func budgetTable(rows []row) table {
	t := table{{"what", "measured", "budget", "ok?"}}
	for _, r := range rows {
		t = append(t, []string{r.What, r.Measured, r.Budget, string(r.Verdict)})
	}
	return t
}

// callTable lists the calls by operation, those that wait for changes last.
func callTable(r result) table {
	t := table{{"operation", "initialise", "steady", fmt.Sprintf("%d looks", r.lookedCount)}}
	counted := func(c scenario.Calls) map[string]int { return c.Counted }
	polls := func(c scenario.Calls) map[string]int { return c.Polls }
	t = append(t, operations("", r, counted)...)
	return append(t, operations(" (long poll)", r, polls)...)
}

// operations lists those that were called in any phase.
func operations(suffix string, r result, pick func(scenario.Calls) map[string]int) table {
	phases := []map[string]int{pick(r.initialise), pick(r.steadyCalls), pick(r.lifecycle)}
	called := map[string]bool{}
	for _, phase := range phases {
		for op := range phase {
			called[op] = true
		}
	}
	var t table
	for _, op := range slices.Sorted(maps.Keys(called)) {
		cells := []string{op + suffix}
		for _, phase := range phases {
			cells = append(cells, fmt.Sprint(phase[op]))
		}
		t = append(t, cells)
	}
	return t
}

// text aligns the columns for a terminal.
func (t table) text() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, cells := range t {
		fmt.Fprintln(w, strings.Join(cells, "\t")) //nolint:errcheck // into memory
	}
	_ = w.Flush() // into memory
	return b.String()
}

// markdown is the table for the docs.
func (t table) markdown() string {
	var b strings.Builder
	for i, cells := range t {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "%s|\n", strings.Repeat("|---", len(cells)))
		}
	}
	return b.String()
}

// explanation says what was done to come to the numbers.
func explanation(r result) string {
	sentences := []string{
		fmt.Sprintf("Provider %s, %d nodes, %v for each cloud call.", r.provider.Name, r.nodes, r.latency),
		"Times count from the start of the process, with the binary's default flags; a node is initialised when it has its addresses, too.",
		fmt.Sprintf("The steady period took %.0f s and had %d update of every node and %d looks at nodes that are not ready.",
			r.steadyTook.Seconds(), r.nodeUpdates, r.steadyLooks),
		fmt.Sprintf("Then %d nodes fell silent: %d looks at them asked %d times whether a machine exists, and all nodes were kept.",
			r.notReady, r.lookedCount, r.questions),
	}
	if r.steady < budgetPeriod {
		sentences = append(sentences, "Long polls, and whatever else comes by the clock, are fewer in a steady period that is done in less than 5 min.")
	}
	return strings.Join(sentences, " ")
}
