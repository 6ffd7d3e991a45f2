package aws

import (
	"fmt"
	"maps"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestBudget (AWS-API-7, FW-NODE-13) counts the calls for a thousand Nodes as the
// binary serves them by default, and compares them with their budgets. Every
// second Node has no providerID yet, and all of them have a
// topology, which is the most expensive case. Every tenth is full of Pods. The
// clock goes as fast as kube-apiserver takes what is found out: 30 Nodes a
// second.
func TestBudget(t *testing.T) {
	t.Parallel()
	const (
		workers                    = 20
		notReady, lifecycleWorkers = 100, 10
		perNode, steady            = time.Second / 30, 5 * time.Minute
	)
	count := profile.Of(200, 1000, 1000)
	r := newRegion(t, awstest.Throttled())
	tainted, initialized := make([]*v1.Node, count), make([]*v1.Node, count)
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		id := r.seed.AddNode(sim.InstanceSpec{Type: mustHave, PrivateDNSName: name, NetworkNodes: []string{"a", name}, Pods: i%10 == 9})
		initialized[i] = node(id)
		initialized[i].Name = name
		tainted[i] = initialized[i].DeepCopy()
		kubetest.Tainted()(tainted[i])
		if i%2 == 0 {
			tainted[i].Spec.ProviderID = ""
		}
	}
	clock := clocktesting.NewFakeClock(time.Now())
	before := r.Interceptor().Calls()
	// Calls count, not how long they take here: one that timed out would be made
	// again.
	patient := awstest.Paced()
	patient.Timeout = 2 * time.Minute
	c := r.connect(cloudTuning{
		client: patient, instances: instance.Options{Timeout: patient.Timeout},
		source: nodes.Tuning{Clock: clock, Timeout: patient.Timeout, ListWait: patient.Timeout},
	})
	parallel(workers, tainted, func(n *v1.Node) {
		m, err := c.instances.InstanceMetadata(t.Context(), n)
		if err != nil || m.AdditionalLabels[nodes.LabelLayer+"2"] != n.Name || m.AdditionalLabels[nodes.LabelZoneID] == "" {
			t.Errorf("initialize %s: %v, %v", n.Name, m, err)
		}
		clock.Step(perNode)
	})
	check := func(what string, budget int) {
		t.Helper()
		now := r.Interceptor().Calls()
		made := maps.Clone(now)
		for op, n := range before {
			made[op] -= n
		}
		t.Logf("%s: %v, the budget is %d", what, made, budget)
		if total(made) > budget {
			t.Errorf("%s: %v, the budget is %d", what, made, budget)
		}
		before = now
	}
	check("initialize", 20)

	clock.Step(steady)
	parallel(workers, initialized, func(n *v1.Node) {
		if m, err := c.instances.InstanceMetadata(t.Context(), n); err != nil || len(m.NodeAddresses) == 0 {
			t.Errorf("update %s: %v, %v", n.Name, m, err)
		}
	})
	check("steady 5 minutes", 10)

	clock.Step(steady)
	parallel(lifecycleWorkers, initialized[:notReady], func(n *v1.Node) {
		if exists, err := c.instances.InstanceExists(t.Context(), n); !exists || err != nil {
			t.Errorf("InstanceExists of %s is %t, %v", n.Name, exists, err)
		}
		if shutdown, err := c.instances.InstanceShutdown(t.Context(), n); shutdown || err != nil {
			t.Errorf("InstanceShutdown of %s is %t, %v", n.Name, shutdown, err)
		}
	})
	check("lifecycle pass over 100 nodes", 1+3) // the first Nodes by ID, and the pages of the list
	r.noneThrottled()
}
