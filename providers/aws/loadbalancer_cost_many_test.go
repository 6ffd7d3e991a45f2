package aws

import (
	"sync"
	"sync/atomic"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestCostOfManyServices counts the calls for 100 Services with network load
// balancers and 100 nodes while others have many load balancers in the account.
func TestCostOfManyServices(t *testing.T) {
	t.Parallel()
	many := account{crowded: true, nodes: 100, services: 100, options: []kubetest.ServiceOption{nlb()}}
	state := many.prepare(t)
	t.Run("restart", func(t *testing.T) {
		t.Parallel()
		many.from(t, state, (*balanced).countRestart)
	})
	t.Run("node joins", func(t *testing.T) {
		t.Parallel()
		many.from(t, state, (*balanced).countJoin)
	})
}

// countRestart creates a Service while a new process is busy with those that
// exist: it has its hostname before that ends.
func (b *balanced) countRestart() {
	const count = 100
	services, created := twoPorts(0, count, nlb()), twoPorts(count, 1, nlb())
	var (
		done, doneBefore atomic.Int32
		creation         sync.WaitGroup
	)
	restart := b.measure("restart and a new Service", func() {
		parallel(serviceWorkers, services, func(svc *v1.Service) {
			b.ensureAll([]*v1.Service{svc})
			if done.Add(1) == count/2 {
				creation.Go(func() { b.ensureAll(created); doneBefore.Store(done.Load()) })
			}
		})
		creation.Wait()
	})
	const ofCreation = 8 // the writes for the new Service, see the test of one
	restart.atMost(480+ofCreation, count)
	if writes := total(restart.writes()); writes != ofCreation {
		b.t.Errorf("writes %v, want those of the new Service", restart.writes())
	}
	b.t.Logf("the new Service has its hostname when %d of %d others are done", doneBefore.Load(), count)
	if n := doneBefore.Load(); n >= count || len(created[0].Status.LoadBalancer.Ingress) == 0 {
		b.t.Errorf("the new Service has its hostname when %d of %d others are done: %v", n, count, created[0].Status)
	}
	b.notThrottled()
}

// countJoin has a node join.
func (b *balanced) countJoin() {
	const count, groups = 100, 2
	services := twoPorts(0, count, nlb())
	b.ensureAll(services)
	b.pause()
	joins := b.measure("node joins", func() { b.joinNode(services) }).atMost(count*(2*groups+1), count)
	if writes := total(joins.writes()); writes != count*groups {
		b.t.Errorf("%d writes, want one for each target group", writes)
	}
	b.notThrottled()
}
