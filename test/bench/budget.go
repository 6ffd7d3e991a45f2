package main

import (
	"fmt"
	"time"
)

// The budgets that all providers have in common.
const (
	maxAllNodes  = 10 * time.Second // for up to timedNodes
	timedNodes   = 300
	maxFirstNode = 3 * time.Second
	maxPeakRSS   = 120 << 20 // for up to manyNodes
	maxManyRSS   = 150 << 20
	manyNodes    = 1000
	// maxForeignRSS is how much more a machine takes that is no node.
	maxForeignRSS = 1 << 10
	maxBinary     = 110_000_000
	// maxGrowth is by how many percent the heap may grow.
	maxGrowth = 2

	timedServices     = 100
	timedProvisioning = 5 * time.Second
)

// status is the result of comparing a measurement with a budget.
type status string

const (
	withinBudget status = "ok"
	overBudget   status = "over"
	noBudget     status = "-"
)

// row is a line of the report.
type row struct {
	What, Measured, Budget string
	Status                 status
	// Count marks a number of calls, which depends only on the code; a time or a
	// size depends on the machine too.
	Count bool
}

// evaluate compares a result with the budgets.
func evaluate(r result) []row {
	budget := r.provider.Budget
	perLook := ceilDiv(r.lifecycle.Total(), r.lookedCount)
	rows := []row{
		count(fmt.Sprintf("cloud calls to initialize %d nodes", r.nodes), r.initialize.Total(), budget.Initialize),
		count("cloud calls in a steady "+steadyPeriod(r.steady), r.steadyCalls.Total(), budget.Steady),
		count(fmt.Sprintf("cloud calls to check %d nodes that are not ready", r.notReady), perLook, budget.Lifecycle),
	}
	rows = append(rows, evaluateBalancers(r)...)
	nodes := duration(fmt.Sprintf("time to initialize %d nodes", r.nodes), r.allNodes, maxAllNodes)
	if r.nodes > timedNodes {
		nodes = withoutBudget(nodes)
	}
	rows = append(rows, nodes, duration("time from start to the first initialized node", r.firstNode, maxFirstNode))
	rows = append(rows, evaluateCPU(r)...)
	memory := "peak memory"
	switch {
	case r.hasBalancers():
		memory = fmt.Sprintf("peak memory with %d Services", r.services)
	case r.foreign > 0:
		memory = fmt.Sprintf("peak memory with %d other machines", r.foreign)
	}

	if r.churn > 0 {
		growth := fmt.Sprintf("growth of the heap of %.1f MiB while %d nodes are replaced", float64(r.heapBefore)/(1<<20), r.churn)
		rows = append(rows, size(growth, r.heapAfter-r.heapBefore, r.heapBefore*maxGrowth/100, 1<<10, "KiB"))
	}

	peak := int64(maxPeakRSS)
	if r.nodes > manyNodes {
		peak = maxManyRSS
	}

	return append(rows,
		size(memory, r.peakRSS, peak+int64(r.foreign)*maxForeignRSS, 1<<20, "MiB"),
		size("size of the binary", r.binarySize, maxBinary, 1_000_000, "MB"),
	)
}

// evaluateCPU lists CPU times, for which there are no budgets.
func evaluateCPU(r result) []row {
	used := func(what string, measured time.Duration) row { return withoutBudget(duration(what, measured, 0)) }
	rows := []row{
		used(fmt.Sprintf("CPU time from start until %d nodes are initialized", r.nodes), r.startCPU),
		used(fmt.Sprintf("CPU time of kube-apiserver until %d nodes are initialized", r.nodes), r.startAPICPU),
		used("CPU time in a steady "+steadyPeriod(r.steady), r.steadyCPU),
	}
	if !r.hasBalancers() {
		return rows
	}

	return append(rows,
		used(fmt.Sprintf("CPU time from start until %d load balancers are created", r.services), r.balancers.createCPU),
		used(fmt.Sprintf("CPU time of a restart with %d load balancers", r.services), r.balancers.resyncCPU),
	)
}

// hasBalancers reports whether the cloud has load balancers.
func (r result) hasBalancers() bool { return len(r.balancers.creations) > 0 }

// evaluateBalancers compares load balancers with the budgets.
func evaluateBalancers(r result) []row {
	var rows []row
	for _, c := range r.balancers.creations {
		rows = append(rows, count(fmt.Sprintf("cloud calls to create a %s load balancer, 2 ports, %d nodes", c.kind.Name, min(targets, r.nodes)), c.calls.Total(), c.kind.Create))
	}
	if !r.hasBalancers() {
		return nil
	}
	all := duration(fmt.Sprintf("time to create %d load balancers at once, %v each", r.services, r.provisioning), r.balancers.took, r.provider.Budget.Services)
	if r.nodes > timedNodes || r.services > timedServices || r.provisioning > timedProvisioning {
		all = withoutBudget(all)
	}

	return append(rows, count(fmt.Sprintf("writes of a restart with %d load balancers", r.services), r.balancers.writes.Total(), 0), all)
}

// withoutBudget is a row for which there is no budget.
func withoutBudget(r row) row {
	r.Budget, r.Status = none, noBudget

	return r
}

// none is shown if there is no budget.
const none = "-"

// broken reports whether there are too many calls.
func broken(rows []row) bool {
	for _, r := range rows {
		if r.Count && r.Status == overBudget {
			return true
		}
	}

	return false
}

func count(what string, measured, budget int) row {
	most := fmt.Sprintf("≤ %d", budget)
	if budget == 0 {
		most = "0"
	}

	return row{What: what, Measured: fmt.Sprint(measured), Budget: most, Status: statusOf(measured <= budget), Count: true}
}

func duration(what string, measured, budget time.Duration) row {
	return row{
		What: what, Measured: fmt.Sprintf("%.1f s", measured.Seconds()), Budget: fmt.Sprintf("≤ %.0f s", budget.Seconds()),
		Status: statusOf(measured <= budget),
	}
}

func size(what string, measured, budget, unit int64, name string) row {
	return row{
		What: what, Measured: fmt.Sprintf("%.1f %s", float64(measured)/float64(unit), name), Budget: fmt.Sprintf("≤ %d %s", budget/unit, name),
		Status: statusOf(measured <= budget),
	}
}

func statusOf(good bool) status {
	if good {
		return withinBudget
	}

	return overBudget
}

// steadyPeriod describes the steady period, if it was not the real one.
func steadyPeriod(d time.Duration) string {
	if d == budgetPeriod {
		return "5 min"
	}

	return fmt.Sprintf("5 min, done in %.0f s", d.Seconds())
}

// ceilDiv rounds up, so that nothing is lost; without passes there was no call.
func ceilDiv(n, by int) int {
	if by == 0 {
		return 0
	}

	return (n + by - 1) / by
}
