package openstack

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

// TestLoadBalancerPartsPending (OS-LB-10, OS-LB-16, OS-LB-26): parts of a load balancer that stay
// PENDING_CREATE below one that is ACTIVE, as with Octavia 11.0.0 without a job board and with OVN
// (https://github.com/kubernetes/cloud-provider-openstack/issues/2165), keep nothing from being
// done: Octavia refuses changes of the members and the health monitor of such a pool, and takes a
// PUT or the deletion of the pool itself.
func TestLoadBalancerPartsPending(t *testing.T) {
	t.Parallel()
	const (
		monitors = "create-monitor = true\n"
		byParts  = "cascade-delete = false\n"
		serial   = "provider-requires-serial-api-calls = true\n"
	)
	cases := map[string]struct {
		reason string
		config string
		do     func(b *balanced, svc *v1.Service)
	}{
		"MonitorOff": {"the pool is updated before its health monitor is deleted", monitors, func(b *balanced, svc *v1.Service) {
			b.start("")
			b.ensure(svc)
			if n := b.monitors(svc); n > 0 {
				b.t.Errorf("%d pools have a health monitor", n)
			}
		}},
		"MonitorOn": {"the pool is updated before it gets a health monitor", "", func(b *balanced, svc *v1.Service) {
			b.start("[LoadBalancer]\n" + monitors)
			b.ensure(svc)
			if n := b.monitors(svc); n < 2 {
				b.t.Errorf("%d pools have a health monitor", n)
			}
		}},
		"NodeLeaves": {"the pool is updated before its members", monitors, func(b *balanced, svc *v1.Service) {
			if err := b.update(svc, b.nodes[:2]...); err != nil {
				b.t.Error(err)
			}
			b.serves(b.address(svc), 80, b.nodes[:2]...)
		}},
		"Rename": {"pools are renamed before their health monitors", monitors, func(b *balanced, svc *v1.Service) {
			b.inCluster("renamed", svc)
			b.untouched("renamed", func() { b.inCluster("renamed", svc) })
		}},
		"RenameShared": {"the same in the load balancer of another Service", monitors, func(b *balanced, svc *v1.Service) {
			sharer := b.ensure(b.sharing(svc))
			b.inCluster("renamed", sharer)
			b.inCluster("renamed", svc)
			b.untouched("renamed", func() { b.inCluster("renamed", sharer) })
		}},
		"Shared": {"the owner is deleted, and then the other one", monitors + byParts, func(b *balanced, svc *v1.Service) {
			sharer := b.ensure(b.sharing(svc))
			b.gone(svc)
			b.serves(b.address(sharer), 8080, b.nodes...)
			b.gone(sharer)
		}},
		"DeleteByParts":          {"a pool is deleted with its health monitor", monitors + byParts, (*balanced).gone},
		"DeleteByPartsUnchecked": {"there are no health monitors", byParts, (*balanced).gone},
		"DeleteSerial":           {"the parts were made one by one", monitors + byParts + serial, (*balanced).gone},
		"DeleteCascade":          {"Octavia deletes the parts", monitors, (*balanced).gone},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, "[LoadBalancer]\n"+tc.config)
			b.SetStuckParts(true)
			svc := b.ensure(b.create(web()))
			tc.do(b, svc)
			if t.Failed() {
				t.Log(tc.reason)
			}
		})
	}
}

// gone deletes the load balancer of a Service, after which nothing of it is left.
func (b *balanced) gone(svc *v1.Service) {
	b.t.Helper()
	must(b.t, b.remove(svc))
	if b.exists(svc) {
		b.t.Errorf("something of Service %s is left", svc.Name)
	}
}

// monitors returns how many pools of the load balancer of a Service have a health monitor.
func (b *balanced) monitors(svc *v1.Service) int {
	b.t.Helper()
	pools, err := b.lb.Octavia.PoolsByLoadBalancer(bounded(b.t), b.balancerOf(svc).ID)
	must(b.t, err)
	n := 0
	for _, pool := range pools {
		if pool.MonitorID != "" {
			n++
		}
	}

	return n
}
