package aws

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestCostOfOneNetworkLoadBalancer counts the calls for a single Service with two
// ports while others have many load balancers in the account.
func TestCostOfOneNetworkLoadBalancer(t *testing.T) {
	t.Parallel()
	account{busy: true, nodes: 3}.test(t, func(b *balanced) {
		services := twoPorts(0, 2, nlb())
		b.ensureAll(services[:1]) // reads what all Services share
		b.measure("create", func() { b.ensureAll(services[1:]) }).atMost(12, 1)
		b.ensureAll(services) // reads the attributes, which are kept for some time
		b.refillBuckets()
		resync := b.measure("unchanged resync", func() { b.ensureAll(services[1:]) }).readOnly().atMost(7, 1)
		if reads := resync.ofAPI("elbv2."); reads > 5 {
			t.Errorf("%d reads of network load balancers, want at most 5", reads)
		}
		b.refillBuckets()
		b.measure("delete", func() { b.deleted(services[1]) }).atMost(8, 1)
		time.Sleep(time.Hour)
		resync = b.measure("unchanged resync after an hour", func() { b.ensureAll(services[:1]) }).readOnly().atMost(9, 1)
		if reads := resync.ofAPI("elbv2."); reads > 7 { // attributes and tags, too
			t.Errorf("%d reads of network load balancers after an hour, want at most 7", reads)
		}
		time.Sleep(time.Hour)
		b.measure("delete after an hour", func() { b.deleted(services[0]) }).atMost(9, 1) // reads the tags, too
		b.notThrottled()
	})
}

// TestCostOfOneClassicLoadBalancer is the same for a classic load balancer.
func TestCostOfOneClassicLoadBalancer(t *testing.T) {
	t.Parallel()
	account{busy: true, nodes: 3}.test(t, func(b *balanced) {
		services := twoPorts(0, 2)
		b.ensureAll(services[:1])
		b.measure("create", func() { b.ensureAll(services[1:]) }).atMost(12, 1)
		b.measure("unchanged resync", func() { b.ensureAll(services[1:]) }).readOnly().atMost(5, 1)
		b.refillBuckets()
		b.measure("delete", func() { b.deleted(services[1]) }).atMost(8, 1)
		time.Sleep(time.Hour)
		b.measure("delete after an hour", func() { b.deleted(services[0]) }).atMost(8, 1)
		b.notThrottled()
	})
}

// deleted deletes the load balancer of a Service, which must not fail.
func (b *balanced) deleted(svc *v1.Service) {
	b.t.Helper()
	if err := b.deleteOnce(svc); err != nil {
		b.t.Errorf("delete %s: %v", svc.Name, err)
	}
}

// TestCostOfFewServices counts the calls for five Services with two ports and
// three nodes, and what they share.
func TestCostOfFewServices(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason      string
		options     []kubetest.ServiceOption
		nodeJoining int
	}{
		"network": {"a read and a write for each of two target groups", []kubetest.ServiceOption{nlb()}, 6},
		"classic": {"a read and a write for the load balancer", nil, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const few = 5
			account{nodes: 3}.test(t, func(b *balanced) {
				services := twoPorts(0, few, tc.options...)
				b.restartWithNodes()
				b.measure("create", func() { b.ensureAll(services) }).atMost(12*few, few)
				b.restart()
				b.measure("unchanged restart", func() { b.ensureAll(services) }).readOnly().atMost(5*few, few)
				b.refillBuckets()
				b.measure("node joins", func() { b.joinNode(services) }).atMost(tc.nodeJoining*few, few)
				b.refillBuckets()
				b.measure("delete", func() { parallel(few, services, b.deleted) }).atMost(8*few, few)
				b.notThrottled()
			})
		})
	}
}

// joinNode adds a node to the cluster: the service controller updates all load
// balancers when the Node comes, and again when it has its providerID.
func (b *balanced) joinNode(services []*v1.Service) {
	b.t.Helper()
	id := b.seed.AddNode(sim.InstanceSpec{})
	joined := node(id)
	incomplete := joined.DeepCopy()
	incomplete.Spec.ProviderID = ""
	before := b.nodes
	b.nodes = slices.Concat(before, []*v1.Node{incomplete})
	b.updateAll(services)
	b.nodes = slices.Concat(before, []*v1.Node{joined})
	b.updateAll(services)
}
