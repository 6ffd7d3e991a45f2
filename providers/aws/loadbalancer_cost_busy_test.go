package aws

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// TestCostOfManyDeletions deletes many Services with classic load balancers,
// whose network interfaces hold their security groups for minutes. No attempt
// waits for that, and a Service that is created meanwhile costs what it costs at
// any time.
func TestCostOfManyDeletions(t *testing.T) {
	t.Parallel()
	count := profile.Of(20, 100, 100)
	account{nodes: 3, services: count}.test(t, func(b *balanced) {
		b.SetDeletionDelay(sim.TypicalDelays().NetworkInterfaces)
		services := twoPorts(0, count)
		b.ensureAll(services)
		b.refillBuckets()
		b.deleteAndCreate(services, twoPorts(count, 1)[0])
		time.Sleep(3 * time.Minute)
		if refused := b.deleteAll(services); refused != 0 {
			b.t.Errorf("%d deletions fail although nothing uses their groups", refused)
		}
		if left, _ := b.LoadBalancers(); len(left) != 1 {
			b.t.Errorf("load balancers %v are left, want that of the new Service", left)
		}
		b.notThrottled()
	})
}

// hostnameLimit is how long a Service may wait for its hostname while others are
// deleted.
const hostnameLimit = 30 * time.Second

// deleteAndCreate deletes Services, whose groups are all in use, and creates one
// when half of the attempts have been made. It comes to a worker as in the queue
// of the service controller, behind those that are being served.
func (b *balanced) deleteAndCreate(services []*v1.Service, created *v1.Service) {
	b.t.Helper()
	var (
		start, waited time.Duration
		half          = len(services) / 2
		began         = time.Now()
		inUse         atomic.Int32
	)
	queue := slices.Insert(slices.Clone(services), half, created)
	b.measure("delete, and create meanwhile", func() {
		parallel(serviceWorkers, queue, func(svc *v1.Service) {
			switch {
			case svc == created:
				start = time.Since(began)
				b.ensureAll([]*v1.Service{svc})
				waited = time.Since(began) - start
			case errors.Is(b.deleteOnce(svc), securitygroup.ErrInUse):
				inUse.Add(1)
			}
		})
	}).atMost(9*len(services)+12+4, len(queue))
	if refused := int(inUse.Load()); refused != len(services) {
		b.t.Errorf("%d of %d deletions end although their groups are in use", len(services)-refused, len(services))
	}
	b.t.Logf("the new Service has its hostname %v after its worker began, %v after the deletions did", waited, start+waited)
	if len(created.Status.LoadBalancer.Ingress) == 0 || waited > hostnameLimit {
		b.t.Errorf("the new Service has its hostname after %v: %v", waited, created.Status)
	}
}

// deleteAll makes one attempt at each deletion, and returns how many of them
// were rejected because a security group is in use. Each tries to delete its
// group once.
func (b *balanced) deleteAll(services []*v1.Service) (refused int) {
	b.t.Helper()
	var inUse atomic.Int32
	attempts := b.measure("delete", func() {
		parallel(serviceWorkers, services, func(svc *v1.Service) {
			switch err := b.deleteOnce(svc); {
			case errors.Is(err, securitygroup.ErrInUse):
				inUse.Add(1)
			case err != nil:
				b.t.Errorf("delete %s: %v", svc.Name, err)
			}
		})
	}).atMost(9*len(services), len(services))
	if n := attempts.calls["DeleteSecurityGroup"]; n > len(services) {
		b.t.Errorf("%d calls of DeleteSecurityGroup in %d attempts", n, len(services))
	}

	return int(inUse.Load())
}

// TestThrottledCreations creates four classic load balancers while AWS throttles
// the creation: no call fails.
func TestThrottledCreations(t *testing.T) {
	t.Parallel()
	account{nodes: 3}.test(t, func(b *balanced) {
		const count, throttled = 4, 12
		b.Interceptor().Inject("elb.CreateLoadBalancer", simserver.First(throttled), sim.Throttled())
		services := twoPorts(0, count)
		creation := b.measure("create while AWS throttles", func() { b.ensureAll(services) }).atMost(12*count+throttled, count)
		if n := creation.calls["elb.CreateLoadBalancer"]; n != count+throttled {
			b.t.Errorf("%d attempts at the creation, want %d", n, count+throttled)
		}
		for _, svc := range services {
			if len(svc.Status.LoadBalancer.Ingress) == 0 {
				b.t.Errorf("%s has no hostname", svc.Name)
			}
		}
	})
}
