package openstack

import (
	"errors"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
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
