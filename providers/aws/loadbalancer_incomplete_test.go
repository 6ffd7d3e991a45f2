package aws

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// An instance that EC2 omits in one response stays registered when another node
// joins, and is not registered where it is new.
func TestUnknownInstanceStaysRegisteredWhenANodeJoins(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			svc := web(options...)
			b.ensure(svc)
			joined := b.seed.AddNodes(2)
			b.hide(b.ids[0], joined[0])
			b.nodes = append(b.nodes, nodesOf(joined...)...)
			b.retried(b.update(svc), b.ids[0], joined[0])
			want := slices.Sorted(slices.Values([]string{b.ids[0], b.ids[1], b.ids[2], joined[1]}))
			if diff := cmp.Diff(want, b.registered(webName)); diff != "" {
				t.Errorf("registered: -want +got\n%s", diff)
			}
			b.Interceptor().Clear()
			b.ensure(svc)
			if got := b.registered(webName); len(got) != 5 {
				t.Errorf("registered after EC2 returns all instances again: %v", got)
			}
			b.reachable(webName)
		})
	}
}

// sync calls EnsureLoadBalancer and returns its error.
func (b *balanced) sync(svc *v1.Service) error {
	b.t.Helper()
	_, err := b.lb.EnsureLoadBalancer(b.t.Context(), flagged, svc, b.nodes)

	return err
}

// retried fails the test unless an error has the service controller try again in
// some time, and names these parts.
func (b *balanced) retried(err error, parts ...string) {
	b.t.Helper()
	later, ok := errors.AsType[*api.RetryError](err)
	if !ok || later.RetryAfter() < service.MinRetryAfter || later.RetryAfter() > service.MaxRetryAfter {
		b.t.Fatalf("want a RetryError, got %v", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			b.t.Errorf("the error lacks %q: %v", part, err)
		}
	}
}

// AWS-LB-19: what is missing or left although no call failed is tried again by
// the service controller, once and not for each call that finds the same.
func TestIncompleteLoadBalancerIsSyncedAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		lose   func(b *balanced, svc *v1.Service) (part string)
		fix    func(b *balanced, svc *v1.Service)
	}{
		"unknown instance": {
			reason: "an instance that EC2 returns again causes no event",
			lose: func(b *balanced, _ *v1.Service) string {
				joined := b.seed.AddNodes(1)
				b.hide(joined...)
				b.nodes = append(b.nodes, nodesOf(joined...)...)

				return joined[0]
			},
			fix: func(b *balanced, _ *v1.Service) { b.Interceptor().Clear() },
		},
		"withheld removals": {
			reason: "rules of former clients stay while a node may need them",
			lose: func(b *balanced, svc *v1.Service) string {
				b.hide(b.ids[0])
				svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}

				return "no longer needs"
			},
			fix: func(b *balanced, _ *v1.Service) { b.Interceptor().Clear() },
		},
		"starting instance": {
			reason: "an instance that starts to run causes no event",
			lose: func(b *balanced, _ *v1.Service) string {
				joined := b.seed.AddNode(sim.InstanceSpec{State: sim.Pending})
				b.nodes = append(b.nodes, nodesOf(joined)...)

				return joined
			},
			fix: func(b *balanced, _ *v1.Service) { b.SetState(idOf(b.nodes[len(b.nodes)-1]), sim.Running) },
		},
		"instance without a security group": {
			reason: "it may get one",
			lose: func(b *balanced, _ *v1.Service) string {
				b.SetInstanceGroups(b.ids[0])

				return b.ids[0]
			},
			fix: func(b *balanced, _ *v1.Service) { b.SetInstanceGroups(b.ids[0], b.seed.NodeGroup) },
		},
		"full security group": {
			reason: "the quota may be raised, or rules of users be removed",
			lose: func(b *balanced, svc *v1.Service) string {
				b.fill(b.seed.NodeGroup, quota)
				b.lb.Groups.Written()
				svc.Spec.LoadBalancerSourceRanges = append(svc.Spec.LoadBalancerSourceRanges, "192.0.2.0/24")

				return b.seed.NodeGroup
			},
			fix: func(b *balanced, _ *v1.Service) {
				for i := range 3 {
					b.RemoveRule(b.seed.NodeGroup, userRule(quota-1-i))
				}
				b.lb.Groups.Written() // as after the age at which groups are read again
			},
		},
		"quota of targets": {
			reason: "the quota may be raised",
			lose: func(b *balanced, _ *v1.Service) string {
				b.nodes = append(b.nodes, nodesOf(overQuota(b))...)

				return "exceed a quota"
			},
			fix: func(b *balanced, _ *v1.Service) { b.SetQuotas(sim.Quotas{}) },
		},
		"quota of listeners": {
			reason: "the quota may be raised, and the other ports are served",
			lose: func(b *balanced, svc *v1.Service) string {
				b.SetQuotas(sim.Quotas{Listeners: 2})
				kubetest.Port(v1.ProtocolTCP, 8443)(svc)

				return "TooManyListeners"
			},
			fix: func(b *balanced, _ *v1.Service) { b.SetQuotas(sim.Quotas{}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			svc := web(nlb(), from("10.0.0.0/8"))
			b.ensure(svc)
			if err := b.sync(svc); err != nil {
				t.Fatalf("%s: before: %v", test.reason, err)
			}
			part := test.lose(b, svc)
			b.retried(b.sync(svc), part)
			if strings.Contains(name, "listeners") {
				b.retried(b.update(svc), part) // its plan fails each time
			} else if err := b.update(svc); err != nil {
				t.Errorf("%s: an update that finds the same: %v", test.reason, err)
			}
			test.fix(b, svc)
			if err := b.sync(svc); err != nil {
				t.Errorf("%s: afterwards: %v", test.reason, err)
			}
			b.reachable(webName, svc.Spec.LoadBalancerSourceRanges...)
			if got := b.registered(webName); len(got) != len(b.nodes) {
				t.Errorf("%s: registered are %v", test.reason, got)
			}
			b.unchanged(svc)
		})
	}
}

// idOf returns the instance ID of a Node.
func idOf(n *v1.Node) string {
	return n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:]
}

// A target that AWS always rejects causes no retries.
func TestRefusedTargetCausesNoRetries(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := web(nlb())
	b.ensure(svc)
	b.nodes = append(b.nodes, nodesOf(b.seed.AddNode(sim.InstanceSpec{Type: "t1.micro"}))...)
	if err := errors.Join(b.update(svc), b.sync(svc), b.update(svc)); err != nil {
		t.Error(err)
	}
}
