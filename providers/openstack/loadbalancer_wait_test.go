package openstack

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestLoadBalancerSlowChanges (OS-LB-6): creations, changes and deletions that take as long as
// virtual machines need are awaited: an error would be a Warning Event of the Service.
func TestLoadBalancerSlowChanges(t *testing.T) {
	t.Parallel()
	const change = 2 * time.Minute
	// Changes take as long as those of virtual machines.
	delays := openstack.Delays{LoadBalancerCreate: change, LoadBalancerUpdate: change / 4, LoadBalancerDelete: change}
	cases := map[string]struct {
		reason string
		do     func(b *balanced, svc *v1.Service) error
	}{
		"Created": {"the load balancer is built", func(*balanced, *v1.Service) error { return nil }},
		"NodeLeaves": {"members change", func(b *balanced, svc *v1.Service) error {
			return b.lb.UpdateLoadBalancer(b.t.Context(), clusterName, b.now(svc), b.nodes[:2])
		}},
		"Failover":    {"Octavia replaces the virtual machine", func(b *balanced, svc *v1.Service) error { return b.failover(svc, change).ensureOnce(svc) }},
		"Deleted":     {"it is gone", func(b *balanced, svc *v1.Service) error { return b.deleteOnce(svc) }},
		"DeletedBusy": {"it is being changed", func(b *balanced, svc *v1.Service) error { return b.failover(svc, change).deleteOnce(svc) }},
		"DeletedTwice": {"the process was restarted meanwhile", func(b *balanced, svc *v1.Service) error {
			if err := b.lb.Octavia.DeleteLoadBalancer(b.t.Context(), b.balancerOf(svc).ID, true); err != nil {
				return err
			}

			return b.deleteOnce(svc)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// No read is stale: a wait that ends early is an error of its own.
				b := balanceIn(t, openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads), Delays: &delays}, "")
				b.production()
				svc := b.create(web())
				must(t, b.ensureOnce(svc))
				if err := tc.do(b, svc); err != nil {
					t.Errorf("%s: %v", tc.reason, err)
				}
				if events := b.recorded(); len(events) > 0 {
					t.Errorf("%s: events %q", tc.reason, events)
				}
			})
		})
	}
}

// TestLoadBalancerGivenAway (OS-LB-2, OS-LB-6): a load balancer that gets the tag of another Service while it is
// awaited is that Service's, and is not changed.
func TestLoadBalancerGivenAway(t *testing.T) {
	t.Parallel()
	const change = time.Minute
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "")
		b.production()
		svc := b.create(web())
		must(t, b.ensureOnce(svc))
		id := b.balancerOf(svc).ID
		b.change(svc, func(s *v1.Service) { s.Spec.Ports[0].Port = 8080 })
		b.failover(svc, change)
		written := make(chan error, 1)
		go func() {
			time.Sleep(change + time.Millisecond)
			_, err := b.lb.Octavia.UpdateLoadBalancer(t.Context(), id, client.LoadBalancerUpdate{
				Tags: client.Set([]string{request.Names{UID: "b2222222-2222-4222-8222-222222222222"}.UIDTag()}),
			})
			written <- err
		}()
		var err error
		writes := b.written(func() { err = b.ensureOnce(svc) })
		must(t, <-written)
		if !errors.Is(err, certainty.ErrForeignService) || len(writes) != 1 {
			t.Errorf("%v, writes %v, want %v and none but the new tag", err, writes, certainty.ErrForeignService)
		}
	})
}

// TestLoadBalancerLockLeavesWorkers (OS-LB-6, OS-LB-15): Services that share a load balancer which another one of
// them changes do not hold all workers.
func TestLoadBalancerLockLeavesWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "")
		b.production()
		owner := b.create(web())
		must(t, b.ensureOnce(owner))
		id := b.balancerOf(owner).ID
		free, err := b.lb.balancers.Lock(t.Context(), id)
		must(t, err)
		defer free()
		ctx, stop := context.WithCancel(t.Context())
		var workers sync.WaitGroup
		results := make(chan error, serviceSyncs)
		for i := range serviceSyncs {
			svc := b.create(kubetest.Service("default", fmt.Sprintf("sharer-%d", i), kubetest.Port(v1.ProtocolTCP, int32(1000+i)), //nolint:gosec // a small number
				annotate(request.AnnotationLoadBalancerID, id)))
			workers.Go(func() {
				_, err := b.lb.EnsureLoadBalancer(ctx, clusterName, svc, b.nodes)
				results <- err
			})
		}
		time.Sleep(10 * time.Second)
		if n := len(results); n != 5 {
			t.Errorf("%d of %d workers are free, want 5", n, serviceSyncs)
		}
		for range len(results) {
			b.incomplete(<-results)
		}
		stop()
		workers.Wait()
	})
}

// ensureOnce syncs a Service, with the time that an operation has.
func (b *balanced) ensureOnce(svc *v1.Service) error {
	_, err := b.lb.EnsureLoadBalancer(b.t.Context(), clusterName, b.now(svc), b.nodes)

	return err
}

// deleteOnce deletes the load balancer of a Service in the same way.
func (b *balanced) deleteOnce(svc *v1.Service) error {
	return b.lb.EnsureLoadBalancerDeleted(b.t.Context(), clusterName, b.now(svc))
}

// failover makes the load balancer of a Service pending for a while.
func (b *balanced) failover(svc *v1.Service, duration time.Duration) *balanced {
	b.StartFailover(b.balancerOf(svc).ID, duration)

	return b
}

// TestLoadBalancerWaitSteps (OS-LB-6): OCCM_WAIT_LB_ACTIVE_STEPS limits waits.
func TestLoadBalancerWaitSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := balanceIn(t, inMemory(), "")
		times := quick()
		times.client.Dial = b.Server().Dial
		b.cloud = connectTo(t, b.kube, noEnvironment().with(map[string]string{variableWaitSteps: "7"}), b.CloudConfig(openstack.UserCCM, ""), times)
		b.lb = b.cloud.loadBalancer
		b.HoldPending("", true)
		began := time.Now()
		err := b.ensureOnce(b.create(web()))
		if took := time.Since(began); again(err) < minRetryAfter || took < 13*time.Second || took > 15*time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}
