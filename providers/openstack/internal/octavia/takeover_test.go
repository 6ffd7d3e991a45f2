package octavia_test

import (
	"context"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/pending"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// OS-LB-7: what the existing cloud controller manager has made stays as it is.
func TestTakeover(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason  string
		options openstack.Options
		spec    openstack.ServiceSpec
		method  string
		want    []string
	}{
		"usual":       {reason: "nothing is written"},
		"OVN":         {reason: "nothing is written", options: openstack.Options{Profile: openstack.OVN}},
		"bare":        {reason: "nothing is written", options: openstack.Options{Profile: openstack.Bare}, spec: openstack.ServiceSpec{NoTags: true}},
		"no monitors": {reason: "nothing is written", spec: openstack.ServiceSpec{NoMonitors: true}},
		"legacy name": {reason: "the name of the load balancer does not count", spec: openstack.ServiceSpec{LegacyName: "a" + strings.ReplaceAll(testUID, "-", "")}},
		"without tags": {
			reason: "listeners get the tag, as from the existing one", spec: openstack.ServiceSpec{NoTags: true},
			want: []string{tcp80 + "update listener listener_0_LBN (ID): tags + LBN", "port UDP/53: update listener listener_1_LBN (ID): tags + LBN"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, c.options, func(f *writeFixture) {
				f.settings.Monitor = request.MonitorSettings{Create: !c.spec.NoMonitors, Delay: 5, Timeout: 3, MaxRetries: 1, MaxRetriesDown: 3}
				spec := c.spec
				spec.Namespace, spec.Name, spec.Subnet = "shop", "web", f.subnet
				spec.Ports = []openstack.ServicePort{{Protocol: "TCP", Port: 80, NodePort: 30080}, {Protocol: "UDP", Port: 53, NodePort: 30053}}
				spec.Nodes = map[string]string{"node-1": "10.0.0.101", "node-2": "10.0.0.102", "node-3": "10.0.0.103"}
				f.lb = f.AddServiceLoadBalancer(spec)
				want := c.want
				if want == nil {
					want = []string{""}
				}
				f.plans(c.reason, web(), want...)
				f.ensure(web())
				f.unchanged(c.reason, web())
			})
		})
	}
}

// OS-LB-6: a load balancer that stays pending holds the worker for one wait only, and the
// next run goes on.
func TestPending(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.ensure(web())
		f.HoldPending(f.lb, true)
		f.addNodes(1, 2, 3, 4)
		steps := f.plan(web())
		f.Interceptor().Reset()
		_, err := f.apply(steps)
		f.fails("the first change does not end", err, pending.ErrPending, "port TCP/80")
		f.sent("the other port waits for the next run", opMembers, 1)
		f.HoldPending(f.lb, false)
		f.settle()
		f.ensure(web())
		f.unchanged("the change has ended", web())
	})
}

// A pool that two listeners use is that of neither port: each wants other members.
func TestPoolOfTwoListeners(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(kubetest.Port(v1.ProtocolTCP, 80), kubetest.Port(v1.ProtocolTCP, 81))
		f.ensure(svc)
		lb := f.LoadBalancer(f.lb)
		f.write(func(ctx context.Context) error {
			_, err := f.api.UpdateListener(ctx, lb.Listeners[1], client.ListenerUpdate{DefaultPoolID: client.Set(lb.Pools[0])})

			return err
		})
		f.watch("TCP", 80)
		f.watch("TCP", 81)
		if _, err := f.try(svc); err != nil {
			t.Error(err)
		}
		f.ensure(svc)
		f.unchanged("each port has its pool", svc)
		f.serves("its own members", "TCP", 80, all...)
		f.serves("its own members", "TCP", 81, "10.0.0.101:30081", "10.0.0.102:30081", "10.0.0.103:30081")
		if outages := f.Outages(); len(outages) > 0 {
			t.Errorf("ports are not served after %q", outages)
		}
	})
}

// OS-LB-9: a pool that a user made is used as it is, and is not deleted when the listener
// moves.
func TestPoolOfUser(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		id := f.addPool("mine", "TCP")
		f.write(func(ctx context.Context) error {
			_, err := f.api.UpdateListener(ctx, f.LoadBalancer(f.lb).Listeners[0], client.ListenerUpdate{DefaultPoolID: client.Set(id)})

			return err
		})
		f.plans("it gets the members", svc, tcp80+"add members "+threeMembers+"; pool mine (ID)", "delete pool pool_0_LBN (ID)")
		f.ensure(svc)
		proxied := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationProxyProtocol, "v1"))
		d := f.desired(proxied)
		_, findings := octavia.Diff(f.observe(d.Names), d)
		f.warned("it stays", findings.Warnings, octavia.PoolKept)
		f.ensure(proxied)
		if pools := f.LoadBalancer(f.lb).Pools; len(pools) != 2 || pools[0] != id {
			t.Errorf("pools are %v", pools)
		}
	})
}

// Without what there is, nothing is planned.
func TestDiffOfNothing(t *testing.T) {
	t.Parallel()
	d := &octavia.Desired{Names: request.NewNames("kubernetes", web()), Features: features.For(features.Version{Major: 2}, "")}
	steps, _ := octavia.Diff(nil, d)
	if err := steps.Apply(t.Context(), nil, nil); len(steps) != 1 || err == nil {
		t.Errorf("plan %v, error %v", steps, err)
	}
}
