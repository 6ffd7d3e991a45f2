package aws

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// A node that joins costs as many calls for a Service whose rules do not all fit
// as for others, and the Event stands.
func TestNodeJoinsBehindAFullSecurityGroup(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web(nlb(), from(ranges(1, 40)...))
	b.ensure(svc)
	b.ensure(svc)
	b.atQuota(b.seed.NodeGroup, 3*40+6+1-quota)
	b.nodes = append(b.nodes, nodesOf(b.seed.AddNodes(1)...)...)
	calls := b.calls(func() {
		if err := b.update(svc); err != nil {
			t.Error(err)
		}
	})
	want := map[string]int{"DescribeInstances": 1, "elbv2.DescribeTargetHealth": 2, "elbv2.RegisterTargets": 2}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if events := b.drainEvents(); len(events) > 0 {
		t.Errorf("Events: %q", events)
	}
}

// Health checks do not move to a port that a full security group of nodes does
// not allow: the load balancer serves as before, and moves once there is room.
func TestHealthChecksStayUntilASecurityGroupHasRoom(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason  string
		options []kubetest.ServiceOption
		change  func(svc *v1.Service)
		left    int // rules
	}{
		"traffic policy": {
			reason:  "rules of clients include health checks, those of the node do not",
			options: []kubetest.ServiceOption{nlb()}, change: func(svc *v1.Service) { kubetest.LocalTraffic(32000)(svc) }, left: 3,
		},
		"annotation": {
			reason:  "the target groups stay",
			options: []kubetest.ServiceOption{nlb(), annotate(request.AnnotationHealthCheckPort, "10256")},
			change:  func(svc *v1.Service) { svc.Annotations[string(request.AnnotationHealthCheckPort)] = "10257" }, left: 3,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(test.options...)
			b.ensure(svc)
			b.fill(b.seed.NodeGroup, quota)
			before, _ := b.Network(webName)
			rules := b.rules(b.seed.NodeGroup)
			test.change(svc)
			_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
			if !errors.Is(err, change.ErrNoRoom) {
				t.Errorf("%s: got %v", test.reason, err)
			}
			b.atQuota(b.seed.NodeGroup, test.left)
			b.reachable(webName)
			after, _ := b.Network(webName)
			if diff := cmp.Diff(before.Listeners, after.Listeners); diff != "" {
				t.Errorf("%s: the listeners: -before +after\n%s", test.reason, diff)
			}
			if diff := cmp.Diff(rules, b.rules(b.seed.NodeGroup)); diff != "" {
				t.Errorf("%s: the rules of the nodes: -before +after\n%s", test.reason, diff)
			}

			for i := range test.left {
				b.RemoveRule(b.seed.NodeGroup, userRule(quota-1-i))
			}
			b.lb.Groups.Written() // as after the age at which groups are read again
			b.ensure(svc)
			b.reachable(webName)
			if after, _ = b.Network(webName); cmp.Equal(before, after) {
				t.Errorf("%s: nothing has moved", test.reason)
			}
			b.unchanged(svc)
		})
	}
}

// While the health checks of target groups cannot change, these get the instances of Nodes that
// join: all Nodes may be replaced meanwhile.
func TestNodesJoinWhileHealthChecksStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		hinder func(b *balanced)
		err    error
	}{
		"no room": {
			reason: "the rules of the node do not allow health checks on the new port",
			hinder: func(b *balanced) { b.fill(b.seed.NodeGroup, quota) }, err: change.ErrNoRoom,
		},
		"denied": {
			reason: "the IAM policy has no elasticloadbalancing:ModifyTargetGroup",
			hinder: func(b *balanced) { b.Interceptor().Inject("elbv2.ModifyTargetGroup", simserver.Always(), sim.Denied()) }, err: apierr.ErrDenied,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(nlb())
			b.ensure(svc)
			test.hinder(b)
			kubetest.LocalTraffic(32000)(svc)
			if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, test.err) {
				t.Fatalf("%s: got %v", test.reason, err)
			}
			replaced := b.seed.AddNodes(2)
			if err := b.lb.UpdateLoadBalancer(t.Context(), flagged, svc, nodesOf(replaced...)); err == nil {
				t.Errorf("%s: no error", test.reason)
			}
			balancer, _ := b.Network(webName)
			for _, group := range balancer.TargetGroups {
				for _, id := range replaced {
					if target := (sim.Target{ID: id, Port: group.Port}); !slices.Contains(group.Targets, target) {
						t.Errorf("%s: %s has %v without %v", test.reason, group.Name, group.Targets, target)
					}
				}
			}
		})
	}
}

// A source range that cannot be removed does not keep joining nodes from being
// registered.
func TestNodesJoinWhileSourceRangesCannotLeave(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"network": {nlb()}, "classic": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, managedGroups)
			svc := web(append(options, from(ranges(1, 2)...))...)
			b.ensure(svc)
			b.Interceptor().Inject("RevokeSecurityGroupIngress", simserver.Always(), sim.Denied())
			svc.Spec.LoadBalancerSourceRanges = ranges(1, 1)
			if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrDenied) {
				t.Fatalf("got %v", err)
			}
			added := b.seed.AddNodes(2)
			b.nodes = append(b.nodes, nodesOf(added...)...)
			if err := b.update(svc); !errors.Is(err, apierr.ErrDenied) {
				t.Errorf("got %v", err)
			}
			registered := b.registered(webName)
			for _, id := range added {
				if !slices.Contains(registered, id) {
					t.Errorf("%s is not among %v", id, registered)
				}
			}
		})
	}
}

// A load balancer whose health checks wait for room allows no client that its
// Service no longer allows.
func TestSourceRangesLeaveWhileListenersStay(t *testing.T) {
	t.Parallel()
	b := balance(t, managedGroups)
	svc := web(nlb())
	b.ensure(svc)
	b.fill(b.seed.NodeGroup, quota)
	kubetest.LocalTraffic(32000)(svc)
	svc.Spec.LoadBalancerSourceRanges = []string{"10.1.0.0/24"}
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, change.ErrNoRoom) {
		t.Fatalf("got %v", err)
	}
	group := b.SecurityGroupIDs(webNLB)[0]
	want := []string{"icmp 3-4 10.1.0.0/24", "tcp 80-80 10.1.0.0/24", "tcp 443-443 10.1.0.0/24"}
	if diff := cmp.Diff(want, b.rules(group)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	b.reachable(webName, "10.1.0.0/24")
}

// A load balancer whose health checks wait for room still loses the rules of
// source ranges that its Service does not have any more, which makes the room.
func TestSourceRangesMakeRoomForHealthChecks(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web(nlb(), from(ranges(1, 15)...))
	b.ensure(svc)
	b.fill(b.seed.NodeGroup, quota)
	kubetest.LocalTraffic(32000)(svc)
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, change.ErrNoRoom) {
		t.Errorf("got %v", err)
	}
	b.reachable(webName, ranges(1, 15)...)
	svc.Spec.LoadBalancerSourceRanges = ranges(1, 14)
	b.ensure(svc)
	b.reachable(webName, ranges(1, 14)...)
	b.unchanged(svc)
}

// A node port that the Service does not have any more is served by no node: its
// rule makes room for that of the new one, and the listener moves.
func TestNodePortChangesInAFullSecurityGroup(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web(nlb())
	b.ensure(svc)
	b.fill(b.seed.NodeGroup, quota)
	svc.Spec.Ports[0].NodePort = 31080
	b.ensure(svc)
	b.reachable(webName)
	b.unchanged(svc)
}
