package openstack

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestLoadBalancerUpdate (OS-LB-22): an update changes the members, and nothing else.
func TestLoadBalancerUpdate(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.create(web())
	if err := b.update(svc, b.nodes...); !errors.Is(err, errMissing) {
		t.Errorf("without a load balancer: %v", err)
	}
	svc = b.ensure(svc)
	address := b.address(svc)
	joined := b.addNode("node-4")
	b.start("")
	for _, nodes := range [][]*v1.Node{{b.nodes[0], joined}, {joined}, nil, b.nodes} {
		writes := b.written(func() {
			if err := b.update(svc, nodes...); err != nil {
				t.Errorf("%d nodes: %v", len(nodes), err)
			}
		})
		if len(writes) != 1 || writes["octavia.UpdateMembers"] != 2 {
			t.Errorf("%d nodes: %v", len(nodes), writes)
		}
		b.serves(address, 80, nodes...)
		b.serves(address, 443, nodes...)
	}
	svc = b.change(svc, func(svc *v1.Service) { svc.Spec.Ports[0].Port = 81 })
	b.untouched("a listener is missing", func() {
		if err := b.update(svc, b.nodes[:1]...); !errors.Is(err, apierr.ErrConflict) {
			t.Errorf("a listener is missing: %v", err)
		}
	})
}

// TestLoadBalancerUninitializedNode (OS-LB-11): a Node that is not initialized yet is no member,
// and no reason to remove others. It is synced again.
func TestLoadBalancerUninitializedNode(t *testing.T) {
	t.Parallel()
	b := balance(t, "")
	svc := b.ensure(b.create(web()))
	fresh := uninitialized(b.addNode("node-4"))
	fresh.Spec.ProviderID = ""
	fresh.CreationTimestamp.Time = time.Now()
	b.untouched("not initialized", func() {
		if err := b.update(svc, b.nodes[0], fresh); again(err) < minRetryAfter {
			t.Errorf("update: %v", err)
		}
	})
	if err := b.update(svc, b.nodes[0], b.nodes[3]); err != nil {
		t.Errorf("update: %v", err)
	}
	b.serves(b.address(svc), 80, b.nodes[0], b.nodes[3])
}

// many is how many Services the tests about many of them have.
const many = 100

// balanceMany makes a cluster with many Services that the provider has synced. It runs in
// virtual time, in a cloud that takes as long for changes as real ones.
func balanceMany(t *testing.T) (*balanced, []*v1.Service) {
	t.Helper()
	// The default quota is 50 floating IPs: no project has so many Services with it.
	// No read is stale: calls are counted.
	options := openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads), Quotas: openstack.Quotas{FloatingIPs: 1000}}
	options.Delays = new(openstack.TypicalDelays())
	b := balanceIn(t, options, "")
	b.production()
	services := make([]*v1.Service, many)
	for i := range services {
		uid := fmt.Sprintf("33333333-3333-4333-8333-%012d", i)
		services[i] = b.create(kubetest.Service("default", fmt.Sprintf("web-%d", i), kubetest.ServiceUID(uid),
			kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 443)))
	}
	b.all(services, func(svc *v1.Service) {
		for tries := 0; b.now(svc).Status.LoadBalancer.Ingress == nil && tries < 20; tries++ {
			if err := b.sync(svc); err != nil {
				time.Sleep(again(err))
			}
		}
	})

	return b, services
}

// production restarts the provider with the times of production.
func (b *balanced) production() {
	b.t.Helper()
	b.cloud = connectTo(b.t, b.kube, noEnvironment(), b.CloudConfig(openstack.UserCCM, ""), tuning{
		client: client.Options{Dial: b.Server().Dial, LoginGuard: openstacktest.EagerGuard()},
	})
	b.lb = b.cloud.loadBalancer
	b.lb.services.SetRecorder(b.events)
}

// all calls a function with all Services, by as many workers as the service controller has.
func (b *balanced) all(services []*v1.Service, do func(*v1.Service)) {
	work := make(chan *v1.Service)
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			for svc := range work {
				do(svc)
			}
		})
	}
	for _, svc := range services {
		work <- svc
	}
	close(work)
	running.Wait()
}

// TestLoadBalancerMany (OS-LB-21): a sync of many unchanged Services, and a Node that joins,
// cost reads that they share.
func TestLoadBalancerMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, services := balanceMany(t)
		time.Sleep(time.Minute)
		b.production()
		sync := func() {
			b.all(services, func(svc *v1.Service) {
				if err := b.sync(svc); err != nil {
					t.Errorf("sync %s: %v", svc.Name, err)
				}
			})
		}
		var cold, warm int
		b.untouched("nothing has changed", func() {
			cold = b.called(sync)
			time.Sleep(time.Minute)
			warm = b.called(sync)
		})
		const pools = 2 * many / 50 // pages of the list of pools after the first one
		if cold > 120+pools || warm > 12+pools {
			t.Errorf("cold %d, warm %d: %v", cold, warm, b.Interceptor().Calls())
		}
		time.Sleep(time.Minute)
		b.join(services, cold, warm)
	})
}

// join adds a Node to all load balancers, and checks what it costs.
func (b *balanced) join(services []*v1.Service, cold, warm int) {
	t := b.t
	joined := append(slices.Clone(b.nodes), b.addNode("node-4"))
	var calls int
	began, before := time.Now(), b.Interceptor().Count("octavia.ShowLoadBalancer")
	writes := b.written(func() {
		calls = b.called(func() {
			b.all(services, func(svc *v1.Service) {
				if err := b.update(svc, joined...); err != nil {
					t.Errorf("update %s: %v", svc.Name, err)
				}
			})
		})
	})
	took := time.Since(began)
	if writes["octavia.UpdateMembers"] != 2*many || len(writes) != 1 {
		t.Errorf("writes: %v", writes)
	}
	const pages = 2 * (2 * many / 50) // the list of pools has as many, and is read twice
	polls := b.Interceptor().Count("octavia.ShowLoadBalancer") - before
	if reads := calls - 2*many - polls; reads > 20+pages || polls > looks*2*many {
		t.Errorf("%d reads in %s: %v", reads, took, b.Interceptor().Calls())
	}
	t.Logf("unchanged: cold %d calls, warm %d; a Node joins: %d calls in %s", cold, warm, calls, took)
	b.serves(b.address(services[7]), 80, joined...)
}
