package aws

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// update makes the instances of the load balancer those of the nodes.
func (b *balanced) update(svc *v1.Service) error {
	b.t.Helper()

	return b.lb.UpdateLoadBalancer(b.t.Context(), flagged, svc, b.nodes)
}

// balancing returns the calls of f that are not about instances, by operation.
func (b *balanced) balancing(f func()) map[string]int {
	b.t.Helper()
	calls := b.calls(f)
	delete(calls, "DescribeInstances")

	return calls
}

// AWS-LB-20: a node that joins or leaves costs one read and one write for each
// target group or classic load balancer that this process has synced; one without
// an instance costs nothing.
func TestNodeChangesCostFewCalls(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options     []kubetest.ServiceOption
		join, leave map[string]int
	}{
		"classic": {
			join:  map[string]int{"elb.DescribeLoadBalancers": 1, "elb.RegisterInstancesWithLoadBalancer": 1},
			leave: map[string]int{"elb.DescribeLoadBalancers": 1, "elb.DeregisterInstancesFromLoadBalancer": 1},
		},
		"network": {
			options: []kubetest.ServiceOption{nlb()},
			join:    map[string]int{"elbv2.DescribeTargetHealth": 2, "elbv2.RegisterTargets": 2},
			leave:   map[string]int{"elbv2.DescribeTargetHealth": 2, "elbv2.DeregisterTargets": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(test.options...)
			b.ensure(svc)
			change := func(reason string, want map[string]int) {
				t.Helper()
				calls := b.balancing(func() {
					if err := b.update(svc); err != nil {
						t.Errorf("%s: %v", reason, err)
					}
				})
				if diff := cmp.Diff(want, calls); diff != "" {
					t.Errorf("%s: -want +got\n%s", reason, diff)
				}
			}
			joined := b.seed.AddNodes(1)[0]
			unknown := node(joined, kubetest.ProviderID(""))
			b.nodes = append(b.nodes, unknown)
			change("the instance of a node is not known yet", map[string]int{})
			b.nodes = append(b.nodes[:3], node(joined))
			change("a node joins", test.join)
			if len(b.registered(webName)) != 4 {
				t.Errorf("registered are %v", b.registered(webName))
			}
			b.reachable(webName)
			b.nodes = b.nodes[1:]
			change("a node leaves", test.leave)
			if len(b.registered(webName)) != 3 {
				t.Errorf("registered are %v", b.registered(webName))
			}
			if events := b.drainEvents(); len(events) > 0 {
				t.Errorf("Events: %v", events)
			}
		})
	}
}

// A node in a security group that has no other node yet gets its rules.
func TestNodeInAnotherGroupGetsRules(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			pool := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
			svc := web(options...)
			b.ensure(svc)
			joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
			b.nodes = append(b.nodes, node(joined))
			if err := b.update(svc); err != nil {
				t.Error(err)
			}
			b.reachable(webName)
			if len(b.rules(pool)) == 0 || len(b.registered(webName)) != 4 {
				t.Errorf("rules %v, registered %v", b.rules(pool), b.registered(webName))
			}
		})
	}
}

// A Service that was edited, and a process that has not synced it, are no reason
// to skip what else there is to do.
func TestUpdateDoesWhatEnsureWouldDo(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(options...)
			b.ensure(svc)
			svc.Spec.Ports[1].NodePort = 31443
			b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(1)...)...)
			if err := b.update(svc); err != nil {
				t.Error(err)
			}
			b.reachable(webName)
			b.unchanged(svc)

			b.lb = b.controller()
			b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(1)...)...)
			if err := b.update(svc); err != nil {
				t.Error(err)
			}
			if len(b.registered(webName)) != 5 {
				t.Errorf("registered are %v", b.registered(webName))
			}
			b.reachable(webName)
		})
	}
}

// What another client deletes without this process is created again by the
// next update.
func TestUpdateRecreatesWhatOthersDeleted(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web(nlb())
	b.ensure(svc)
	balancer, _ := b.Network(webName)
	api := b.lb.ELBV2
	if _, err := api.DeleteListener(t.Context(), &elbv2.DeleteListenerInput{ListenerArn: &balancer.Listeners[1].ARN}); err != nil {
		t.Fatal(err)
	}
	groups := b.TargetGroups()
	for i := range groups {
		if groups[i].Port == svc.Spec.Ports[1].NodePort {
			if _, err := api.DeleteTargetGroup(t.Context(), &elbv2.DeleteTargetGroupInput{TargetGroupArn: &groups[i].ARN}); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(1)...)...)
	if err := b.update(svc); err != nil {
		t.Error(err)
	}
	if balancer, _ = b.Network(webName); len(balancer.Listeners) != 2 {
		t.Errorf("listeners are %v", balancer.Listeners)
	}
	b.reachable(webName)
	b.unchanged(svc)
}

// FW-LB-2: a load balancer that a user deleted cannot be updated.
func TestUpdateOfADeletedLoadBalancerIsAnError(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web()
	b.ensure(svc)
	name := webName
	if _, err := b.lb.ELB.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: &name}); err != nil {
		t.Fatal(err)
	}
	if err := b.update(svc); !errors.Is(err, apierr.ErrNotFound) {
		t.Errorf("with the same nodes: got %v", err)
	}
	b.ensure(svc)
	if _, err := b.lb.ELB.DeleteLoadBalancer(t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: &name}); err != nil {
		t.Fatal(err)
	}
	b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(1)...)...)
	if err := b.update(svc); !errors.Is(err, apierr.ErrNotFound) {
		t.Errorf("with another node: got %v", err)
	}
	b.ensure(svc)
	b.reachable(webName)
}

// AWS-LB-13, FW-LB-7: a target that AWS refuses is an Event, costs no other
// target, and is tried again by an update for the same nodes.
func TestRefusedTargetIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web(nlb())
	b.ensure(svc)
	refused, accepted := b.seed.AddNode(sim.InstanceSpec{Type: "t1.micro"}), b.seed.AddNodes(1)[0]
	b.nodes = append(b.nodes, nodesOf(refused, accepted)...)
	for range 2 {
		calls := b.calls(func() {
			if err := b.update(svc); err != nil {
				t.Error(err)
			}
		})
		if calls["elbv2.RegisterTargets"] < 2 {
			t.Errorf("the refused target is not tried again: %v", maps.Clone(calls))
		}
		if len(b.registered(webName)) != 4 {
			t.Errorf("registered are %v", b.registered(webName))
		}
	}
	if events := b.drainEvents(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning TargetRefused ") || !strings.Contains(events[0], refused) {
		t.Errorf("want one Event, got %v", events)
	}
}

// An instance that AWS refuses, or that exceeds a quota, is not tried again by
// each change of the nodes, which costs what it costs without it.
func TestRefusedTargetDoesNotCostCallsForEachNodeEvent(t *testing.T) {
	t.Parallel()
	network := map[string]int{"elbv2.DescribeTargetHealth": 2, "elbv2.RegisterTargets": 2}
	for name, test := range map[string]struct {
		reason     string
		options    []kubetest.ServiceOption
		refuse     func(b *balanced) string
		warning    string
		join       map[string]int
		registered int
	}{
		"network, unsupported": {
			reason:  "AWS does not support the type of the instance",
			options: []kubetest.ServiceOption{nlb()},
			refuse:  func(b *balanced) string { return b.seed.AddNode(sim.InstanceSpec{Type: "t1.micro"}) },
			warning: "Warning TargetRefused ", join: network, registered: 5,
		},
		"network, quota": {
			reason:  "there are as many targets as the quota permits",
			options: []kubetest.ServiceOption{nlb()},
			refuse:  overQuota, warning: "Warning TargetQuotaExceeded ", join: network, registered: 3,
		},
		"classic, quota": {
			reason: "there are as many instances as the quota permits",
			refuse: overQuota, warning: "Warning TargetQuotaExceeded ",
			join:       map[string]int{"elb.DescribeLoadBalancers": 1, "elb.RegisterInstancesWithLoadBalancer": 1},
			registered: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(test.options...)
			refused := test.refuse(b)
			b.nodes = append(b.nodes, nodesOf(refused)...)
			b.ensure(svc)
			for range 2 {
				b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(1)...)...)
				calls := b.balancing(func() {
					if err := b.update(svc); err != nil {
						t.Error(err)
					}
				})
				if diff := cmp.Diff(test.join, calls); diff != "" {
					t.Errorf("%s: -want +got\n%s", test.reason, diff)
				}
			}
			if got := len(b.registered(webName)); got != test.registered {
				t.Errorf("%s: %d instances are registered, want %d", test.reason, got, test.registered)
			}
			if events := b.drainEvents(); len(events) == 0 || !strings.HasPrefix(events[0], test.warning) {
				t.Errorf("%s: Events are %v", test.reason, events)
			}

			b.SetQuotas(sim.Quotas{})
			b.syncedOf(svc).refused.since = time.Now().Add(-refusalAge)
			b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(1)...)...)
			calls := b.balancing(func() {
				if err := b.update(svc); err != nil {
					t.Error(err)
				}
			})
			if want := 6; len(b.registered(webName)) < want {
				t.Errorf("after some minutes %d instances are registered, want at least %d; calls are %v", len(b.registered(webName)), want, calls)
			}
		})
	}
}

// overQuota lowers quotas to three instances, and adds one more.
func overQuota(b *balanced) string {
	b.SetQuotas(sim.Quotas{Targets: 3, ClassicInstances: 3})

	return b.seed.AddNodes(1)[0]
}

// An instance that leaves makes room for one that exceeds a quota.
func TestQuotaIsFilledAfterANodeLeaves(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(options...)
			b.nodes = append(b.nodes, nodesOf(overQuota(b))...)
			b.ensure(svc)
			kept := slices.DeleteFunc(slices.Clone(b.nodes), func(n *v1.Node) bool {
				return strings.HasSuffix(n.Spec.ProviderID, b.registered(webName)[0])
			})
			for _, nodes := range [][]*v1.Node{kept, append(slices.Clone(kept), nodesOf(b.seed.AddNodes(1)...)...)} {
				b.nodes = nodes
				if err := b.update(svc); err != nil {
					t.Error(err)
				}
			}
			if got := b.registered(webName); len(got) != 3 {
				t.Errorf("registered are %v, want as many as the quota permits", got)
			}
		})
	}
}

// syncedOf returns the stored state of a Service.
func (b *balanced) syncedOf(svc *v1.Service) (known *syncedState) {
	b.t.Helper()
	err := b.lb.services.Read(b.t.Context(), svc, func(_ context.Context, stored *state) error {
		known = stored.synced

		return nil
	})
	if err != nil || known == nil {
		b.t.Fatalf("no state is stored: %v", err)
	}

	return known
}
