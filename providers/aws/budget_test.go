package aws

import (
	"fmt"
	"maps"
	"strconv"
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

// TestBudget (AWS-API-7, FW-NODE-13) counts the calls for up to 5,000 Nodes as the
// binary serves them by default, and compares them with their budgets. Every
// second Node has no providerID yet, and up to 1,000 have a topology, which costs
// a call for each hundred of them. Every tenth is full of Pods. The clock goes as fast
// as kube-apiserver takes what is found out: 110 Nodes a second.
func TestBudget(t *testing.T) {
	t.Parallel()
	for _, count := range profile.Of([]int{200}, []int{1000, 5000}, []int{1000, 5000}) {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			t.Parallel()
			testBudget(t, count)
		})
	}
}

func testBudget(t *testing.T, count int) {
	t.Helper()
	const (
		workers                    = 20
		notReady, lifecycleWorkers = 100, 10
		perNode, steady            = time.Second / 110, 5 * time.Minute
	)
	r := newRegion(t, awstest.Throttled())
	spec := sim.InstanceSpec{Type: mustHave, NetworkNodes: []string{"a"}}
	if count > 1000 {
		spec = sim.InstanceSpec{}
	}
	tainted, initialized := make([]*v1.Node, count), make([]*v1.Node, count)
	for i := range count {
		name := fmt.Sprintf("node-%d", i)
		spec.PrivateDNSName, spec.Pods = name, i%10 == 9
		if spec.NetworkNodes != nil {
			spec.NetworkNodes = []string{"a", name}
		}
		id := r.seed.AddNode(spec)
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
		if err != nil || spec.NetworkNodes != nil && m.AdditionalLabels[nodes.LabelLayer+"2"] != n.Name || m.AdditionalLabels[nodes.LabelZoneID] == "" {
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
	pages := (count + 399) / 400
	check("initialize", 30)

	clock.Step(steady)
	parallel(workers, initialized, func(n *v1.Node) {
		if m, err := c.instances.InstanceMetadata(t.Context(), n); err != nil || len(m.NodeAddresses) == 0 {
			t.Errorf("update %s: %v, %v", n.Name, m, err)
		}
	})
	check("steady 5 minutes", 1+pages)

	clock.Step(steady)
	parallel(lifecycleWorkers, initialized[:notReady], func(n *v1.Node) {
		if exists, err := c.instances.InstanceExists(t.Context(), n); !exists || err != nil {
			t.Errorf("InstanceExists of %s is %t, %v", n.Name, exists, err)
		}
		if shutdown, err := c.instances.InstanceShutdown(t.Context(), n); shutdown || err != nil {
			t.Errorf("InstanceShutdown of %s is %t, %v", n.Name, shutdown, err)
		}
	})
	check("lifecycle pass over 100 nodes", 1+pages) // the first Nodes by ID, and the pages of the list
	r.noneThrottled()
}
