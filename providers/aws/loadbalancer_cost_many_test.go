package aws

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestCostOfManyServices counts the calls for 100 Services with network load
// balancers and 100 nodes while others have many load balancers in the account.
// With the race detector there are fewer Services and nodes.
func TestCostOfManyServices(t *testing.T) {
	t.Parallel()
	count, limit := profile.Of(20, 100, 100), profile.Of(110, 480, 480)
	many := account{busy: true, nodes: count, services: count, options: []kubetest.ServiceOption{nlb()}}
	state := many.prepare(t)
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		many.from(t, state, func(b *balanced) { b.countRestart(count, limit) })
	})
	t.Run("node joins", func(t *testing.T) {
		t.Parallel()
		many.from(t, state, func(b *balanced) { b.countJoin(count) })
	})
}

// TestCostOf500Services counts the calls of a restart with 500 Services. It does
// nothing with the race detector, with which the region is too slow.
func TestCostOf500Services(t *testing.T) {
	t.Parallel()
	if profile.Race {
		return // TestCostOfManyServices has the same code run
	}
	const count, limit = 500, 2300
	many := account{busy: true, nodes: 3, services: count, options: []kubetest.ServiceOption{nlb()}}
	many.test(t, func(b *balanced) {
		services := twoPorts(0, count, nlb())
		b.measure("restart", func() { b.ensureAll(services) }).atMost(limit, count).readOnly()
		b.notThrottled()
	})
}

// countRestart creates a Service while a new process is busy with those that
// exist: it has its hostname before that ends.
func (b *balanced) countRestart(count, limit int) {
	services, created := twoPorts(0, count, nlb()), twoPorts(count, 1, nlb())
	var (
		done, doneBefore atomic.Int32
		creation         sync.WaitGroup
	)
	restart := b.measure("restart and a new Service", func() {
		parallel(serviceWorkers, services, func(svc *v1.Service) {
			b.ensureAll([]*v1.Service{svc})
			if done.Add(1) == int32(count/2) {
				creation.Go(func() { b.ensureAll(created); doneBefore.Store(done.Load()) })
			}
		})
		creation.Wait()
	})
	const ofCreation = 8 // the writes for the new Service, see the test of one
	restart.atMost(limit+ofCreation, count)
	if writes := total(restart.writes()); writes != ofCreation {
		b.t.Errorf("writes %v, want those of the new Service", restart.writes())
	}
	b.t.Logf("the new Service has its hostname when %d of %d others are done", doneBefore.Load(), count)
	if n := doneBefore.Load(); n >= int32(count) || len(created[0].Status.LoadBalancer.Ingress) == 0 {
		b.t.Errorf("the new Service has its hostname when %d of %d others are done: %v", n, count, created[0].Status)
	}
	b.notThrottled()
}

// countJoin has a node join.
func (b *balanced) countJoin(count int) {
	const groups = 2
	services := twoPorts(0, count, nlb())
	b.ensureAll(services)
	b.refillBuckets()
	joins := b.measure("node joins", func() { b.joinNode(services) }).atMost(count*(2*groups+1), count)
	if writes := total(joins.writes()); writes != count*groups {
		b.t.Errorf("%d writes, want one for each target group", writes)
	}
	b.notThrottled()
}

// TestCostOfManyNodes (FW-TARGET-3) has Nodes join and leave 5,000 with 500 Services: those that join cost no call to load
// balancers, and one that leaves a read and a write for each target group that had it.
func TestCostOfManyNodes(t *testing.T) {
	t.Parallel()
	nodes, count := profile.Of(300, 300, 5000), profile.Of(10, 10, 500)
	many := account{nodes: nodes, services: count, options: []kubetest.ServiceOption{nlb()}}
	many.test(t, func(b *balanced) {
		services := twoPorts(0, count, nlb())
		b.ensureAll(services)
		b.refillBuckets()
		b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(100)...)...)
		joins := b.measure("100 nodes join", func() { b.updateAll(services) }).atMost(100, count).readOnly()
		if n := joins.ofAPI("elb"); n > 0 {
			t.Errorf("%d calls to load balancers", n)
		}
		_, names := b.LoadBalancers()
		having := 0
		gone := b.registered(names[0])[0]
		for _, name := range names {
			if slices.Contains(b.registered(name), gone) {
				having++
			}
		}
		id := nodesOf(gone)[0].Spec.ProviderID
		b.nodes = slices.DeleteFunc(b.nodes, func(n *v1.Node) bool { return n.Spec.ProviderID == id })
		const groups = 2
		leaves := b.measure("a node leaves", func() { b.updateAll(services) }).atMost(2*groups*having+10, count)
		if writes := total(leaves.writes()); writes != groups*having {
			t.Errorf("%d writes, want one for each target group of %d Services: %v", writes, having, leaves.writes())
		}
		b.notThrottled()
	})
}
