package main

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/multicloud-ccm/multicloud-ccm/test/ccm"
	"github.com/multicloud-ccm/multicloud-ccm/test/scenario"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// promised is what providers guarantee beyond their budgets. AWS has one list
// of instances. vSphere has its change feed, by which a look at nodes that are
// not ready costs nothing, and describes the VMs of 1000 nodes in one call. While a
// busy machine reads the inventory, it searches for some of them.
var promised = map[string]scenario.Budget{
	"aws":       {Initialize: 10, Steady: 3, Lifecycle: 1},
	"openstack": {Initialize: 20, Steady: 10, Lifecycle: 3},
	"vsphere":   {Initialize: 25, Steady: 2, Lifecycle: 0},
}

// atOnce is how many Services get load balancers, half of each kind. AWS lets an
// account create ten of a kind at once, and one more every five seconds then:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html
const atOnce = 18

// The budgets of calls hold for every provider. Times are not looked at.
func TestBudgetsOfCalls(t *testing.T) {
	t.Parallel()
	binary, err := ccm.Locate("bin/e2e/" + ccm.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range scenario.Providers() {
		if budget, ok := promised[p.Name]; ok {
			p.Budget = budget
		}
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			r, err := measure(t.Context(), scenario.PlainPrinter(t.Output()), plan{
				provider: p, binary: binary, nodes: 100, notReady: 100,
				latency: time.Millisecond, steady: 6 * time.Second,
				services: atOnce, provisioning: 10 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range evaluate(r) {
				if row.Count && row.Status != withinBudget {
					t.Errorf("%s: %s, want %s", row.What, row.Measured, row.Budget)
				}
			}
			checkNothingWasLeftOut(t, r)
			if t.Failed() {
				t.Log(callTable(r).Text())
			}
		})
	}
}

// checkNothingWasLeftOut makes sure that the counts are of work that was done.
func checkNothingWasLeftOut(t *testing.T, r result) {
	t.Helper()
	if r.initialize.Total() == 0 {
		t.Error("nodes were initialized without any call: calls are not counted")
	}
	if r.nodeUpdates < 1 || r.steadyLooks < 1 {
		t.Errorf("in the steady period there were %d updates and %d looks, want some", r.nodeUpdates, r.steadyLooks)
	}
	if want := r.notReady * lifecycleLooks; r.existsCalls < want {
		t.Errorf("%d nodes were not ready, and it was checked %d times whether a machine exists, want %d at least", r.notReady, r.existsCalls, want)
	}
	for _, c := range r.balancers.creations {
		if c.calls.Total() == 0 {
			t.Errorf("a %s load balancer was made without any call", c.kind.Name)
		}
	}
	if want := len(scenario.Own(r.provider.LoadBalancers)); len(r.balancers.creations) != want {
		t.Errorf("%d kinds of load balancers were made, want %d", len(r.balancers.creations), want)
	}
	if r.hasBalancers() && (r.balancers.resync.Total() == 0 || r.balancers.all.Total() < r.services) {
		t.Errorf("%d Services were made by %d calls and seen to by %d", r.services, r.balancers.all.Total(), r.balancers.resync.Total())
	}
	if r.firstNode <= 0 || r.allNodes < r.firstNode || r.peakRSS <= 0 || r.binarySize <= 0 || r.startCPU <= 0 {
		t.Errorf("something was not measured: %+v", r)
	}
}
