package aws

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// ruleText is a rule in a few words.
func ruleText(r sim.Rule) string {
	text := fmt.Sprintf("%s %d-%d %s", r.Protocol, r.From, r.To, r.Source)
	if r.Description != "" {
		text += " " + r.Description
	}

	return text
}

// A load balancer is created, kept, changed and deleted in every mode of security
// groups, and leaves nothing behind.
func TestLoadBalancerLife(t *testing.T) {
	t.Parallel()
	byo := func(b *balanced) string { return b.SecurityGroupIDs("byo")[0] }
	for name, test := range map[string]struct {
		reason   string
		settings []func(*loadBalancerConfig)
		service  func(*balanced) *v1.Service
		// untagged nodes are in one group that the cluster has not tagged.
		untagged bool
		// created bounds the calls for a new load balancer.
		created int
		// closed nodes allow no traffic.
		closed bool
	}{
		"classic": {
			reason: "with a group of its own", created: 12,
			service: func(*balanced) *v1.Service { return web() },
		},
		"classic, configured group": {
			reason: "with ElbSecurityGroup", created: 12, settings: []func(*loadBalancerConfig){func(c *loadBalancerConfig) { c.Settings.ClassicSecurityGroup = "byo" }},
			service: func(*balanced) *v1.Service { return web() },
		},
		"classic, annotated groups": {
			reason: "with groups of the user", created: 12,
			service: func(b *balanced) *v1.Service { return web(annotate(request.AnnotationSecurityGroups, byo(b))) },
		},
		"classic, extra groups": {
			reason: "with a group of its own and one of the user", created: 12,
			service: func(b *balanced) *v1.Service {
				return web(annotate(request.AnnotationExtraSecurityGroups, byo(b)))
			},
		},
		"classic, nodes left alone": {
			reason: "AWS-SG-15: DisableSecurityGroupIngress", created: 12, settings: []func(*loadBalancerConfig){leaveNodes}, closed: true,
			service: func(*balanced) *v1.Service { return web() },
		},
		"classic, untagged nodes": {
			reason: "the single untagged group", untagged: true, created: 14,
			service: func(*balanced) *v1.Service { return web() },
		},
		"network": {
			reason: "without groups", created: 12,
			service: func(*balanced) *v1.Service { return web(nlb()) },
		},
		"network, some clients": {
			reason: "with health rules", created: 12,
			service: func(*balanced) *v1.Service { return web(nlb(), from("192.0.2.0/24", "2001:db8::/32")) },
		},
		"network, managed group": {
			reason: "with a group of its own", created: 15, settings: []func(*loadBalancerConfig){managedGroups},
			service: func(*balanced) *v1.Service { return web(nlb()) },
		},
		"network, annotated groups": {
			reason: "with groups of the user", created: 13, settings: []func(*loadBalancerConfig){managedGroups},
			service: func(b *balanced) *v1.Service { return web(nlb(), annotate(request.AnnotationSecurityGroups, byo(b))) },
		},
		"network, shared probe": {
			reason: "one health check port for all", created: 12, settings: []func(*loadBalancerConfig){sharedProbe},
			service: func(*balanced) *v1.Service { return web(nlb()) },
		},
		"network, local traffic": {
			reason: "a health check port of its own", created: 12,
			service: func(*balanced) *v1.Service { return web(nlb(), kubetest.LocalTraffic(32000)) },
		},
		"network, nodes left alone": {
			reason: "AWS-SG-15: DisableSecurityGroupIngress", created: 12, settings: []func(*loadBalancerConfig){leaveNodes, managedGroups}, closed: true,
			service: func(b *balanced) *v1.Service { return web(nlb(), annotate(request.AnnotationSecurityGroups, byo(b))) },
		},
		"network, untagged nodes": {
			reason: "the single untagged group", untagged: true, created: 13,
			service: func(*balanced) *v1.Service { return web(nlb()) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inSlowRegion(t, func(b *balanced) {
				id := b.group("byo", nil)
				b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
				if b.lb.Settings.ClassicSecurityGroup != "" {
					b.lb.Settings.ClassicSecurityGroup = id
				}
				if test.untagged {
					group := b.group("plain", nil)
					for _, node := range b.ids {
						b.SetInstanceGroups(node, group)
					}
				}
				svc, other := test.service(b), warmUp()
				before := b.Leaks()
				b.ensure(other)
				hostname := ""
				calls := b.calls(func() { hostname = b.ensure(svc) })
				if n := total(calls) - refusedForGroup(calls); n > test.created {
					t.Errorf("%s: %d calls to create it: %v", test.reason, n, calls)
				}
				b.changeService(svc, hostname, test.closed, test.untagged)
				b.remove(other)
				b.end(svc, before)
			}, test.settings...)
		})
	}
}

// changeService changes the nodes and a port of a Service with a load balancer.
func (b *balanced) changeService(svc *v1.Service, hostname string, closed, untagged bool) {
	b.t.Helper()
	if !closed {
		b.reachable(webName)
	}
	b.unchanged(svc)
	status, exists, err := b.lb.GetLoadBalancer(b.t.Context(), flagged, svc)
	if err != nil || !exists || status.Ingress[0].Hostname != hostname {
		b.t.Errorf("Get: %v, %t, %v", status, exists, err)
	}

	// A node is added, another removed, a port changes.
	b.nodes = nodesOf(append(b.ids[1:], b.seed.AddNodes(1)...)...)
	if err := b.lb.UpdateLoadBalancer(b.t.Context(), flagged, svc, b.nodes); err != nil {
		b.t.Errorf("Update: %v", err)
	}
	svc.Spec.Ports[1].Port, svc.Spec.Ports[1].NodePort = 8443, 31443
	b.ensure(svc)
	if !closed && !untagged {
		b.reachable(webName)
	}
	b.unchanged(svc)
}

// end deletes the load balancer of a Service, after which there is what was there
// before.
func (b *balanced) end(svc *v1.Service, before []string) {
	b.t.Helper()
	b.remove(svc)
	b.same(before)
	if b.exists(svc) {
		b.t.Error("it exists after it was deleted")
	}
	if writes := b.writes(func() { b.remove(svc) }); len(writes) > 0 {
		b.t.Errorf("deleting twice writes: %v", writes)
	}
	if events := b.drainEvents(); len(events) > 0 {
		b.t.Errorf("Events: %v", events)
	}
}

// refusedForGroup returns how many of the calls were refused because a new
// security group was not known everywhere yet.
func refusedForGroup(calls map[string]int) int {
	return max(0, calls["elb.CreateLoadBalancer"]-1) + max(0, calls["elbv2.CreateLoadBalancer"]-1)
}

// warmUp is a Service that was there before: the VPC and the instances are known.
func warmUp() *v1.Service {
	return kubetest.Service("warm", "up", kubetest.ServiceUID("99999999-1111-2222-3333-444455556666"), kubetest.Port(v1.ProtocolTCP, 81))
}

func TestGetLoadBalancerName(t *testing.T) {
	t.Parallel()
	lb := newLoadBalancer(loadBalancerConfig{})
	if got := lb.GetLoadBalancerName(t.Context(), flagged, web()); got != webName {
		t.Errorf("got %s, want %s", got, webName)
	}
}

// AWS-LB-2: Services of other controllers are left alone by each call, and cost
// none.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"external", "nlb-ip"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web()
			b.ensure(svc)
			svc.Annotations[string(request.AnnotationType)] = kind
			calls := b.calls(func() {
				if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // upstream compares like this
					t.Errorf("Ensure: %v", err)
				}
				if err := b.lb.UpdateLoadBalancer(t.Context(), flagged, svc, b.nodes); err != cloudprovider.ImplementedElsewhere { //nolint:errorlint // as above
					t.Errorf("Update: %v", err)
				}
				if b.exists(svc) {
					t.Error("Get: it exists")
				}
				b.remove(svc)
			})
			if len(calls) > 0 {
				t.Errorf("calls: %v", calls)
			}
			if classic, _ := b.LoadBalancers(); len(classic) != 1 {
				t.Error("the documented way to keep a load balancer deleted it")
			}
		})
	}
}

// AWS-LB-4: whether the kind changes is decided by what is there, not by the
// hostname.
func TestKindCannotChange(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][2]kubetest.ServiceOption{
		"to network": {annotate(request.AnnotationInternal, ""), nlb()},
		"to classic": {nlb(), annotate(request.AnnotationType, "")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			b.ensure(web(options[0]))
			svc := web(options[1]) // without a status
			writes := b.writes(func() {
				_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
				if !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), string(request.AnnotationType)) {
					t.Errorf("AWS-LB-4: got %v", err)
				}
			})
			if len(writes) > 0 {
				t.Errorf("AWS-LB-4: writes %v", writes)
			}
			// AWS-DELETE-3: deleting finds the load balancer all the same.
			if !b.exists(svc) {
				t.Error("AWS-DELETE-3: it does not exist")
			}
			b.remove(svc)
			b.same(before)
		})
	}
	t.Run("misleading hostname", func(t *testing.T) {
		t.Parallel()
		b := balance(t)
		svc := web(nlb())
		b.ensure(svc)
		svc.Status.LoadBalancer.Ingress[0].Hostname = "web-1.us-west-2.elb.amazonaws.com"
		b.unchanged(svc)
	})
}

// FW-LB-6, AWS-CLUSTER-7: a load balancer of another cluster under the same name
// is neither changed nor deleted, and nothing is made beside it.
func TestOtherClusters(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]kubetest.ServiceOption{"classic": annotate(request.AnnotationInternal, ""), "network": nlb()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			b.lb = b.controller(managedGroups)
			other := b.controller(managedGroups, func(c *loadBalancerConfig) { c.Settings.Cluster.Name = "prod" })
			b.lb, other = other, b.lb
			b.nodes = nil
			b.ensure(web(option, annotate(request.AnnotationSubnets, b.seed.Public[b.seed.Zones[0]])))
			b.lb, b.nodes = other, nodesOf(b.ids...)
			before := b.Dump()
			if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, web(option), b.nodes); !errors.Is(err, apierr.ErrConflict) {
				t.Errorf("AWS-CLUSTER-7: got %v", err)
			}
			if b.exists(web(option)) {
				t.Error("AWS-CLUSTER-7: Get returns that it exists")
			}
			b.remove(web(option))
			if diff := cmp.Diff(before, b.Dump()); diff != "" {
				t.Errorf("AWS-CLUSTER-7: changed: %s", diff)
			}
		})
	}
}

// AWS-CLUSTER-7: nor are the rules of nodes that both clusters have, which name
// the load balancer.
func TestOtherClustersWithTheSameNodes(t *testing.T) {
	t.Parallel()
	b := balance(t)
	ours := b.lb
	b.lb = b.controller(func(c *loadBalancerConfig) { c.Settings.Cluster.Name = "prod" })
	for _, id := range append([]string{b.seed.NodeGroup}, b.ids...) {
		b.SetTags(id, map[string]string{sim.ClusterTag(demo): "owned", sim.ClusterTag("prod"): "owned"})
	}
	b.ensure(web(nlb(), annotate(request.AnnotationSubnets, b.seed.Public[b.seed.Zones[0]])))
	b.lb = ours
	before := b.Dump()
	if b.exists(web(nlb())) {
		t.Error("AWS-CLUSTER-7: Get takes the rules for ours")
	}
	b.remove(web(nlb()))
	if diff := cmp.Diff(before, b.Dump()); diff != "" {
		t.Errorf("AWS-CLUSTER-7: changed: %s", diff)
	}
}

// AWS-SUBNET-7: subnets that do not exist are an error that names them and the
// annotation.
func TestSubnetsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]kubetest.ServiceOption{"classic": annotate(request.AnnotationInternal, ""), "network": nlb()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(option, annotate(request.AnnotationSubnets, "subnet-0123456789abcdef0, elsewhere"))
			writes := b.writes(func() {
				_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
				if !errors.Is(err, apierr.ErrInvalid) {
					t.Fatalf("AWS-SUBNET-7: got %v", err)
				}
				for _, part := range []string{string(request.AnnotationSubnets), "subnet-0123456789abcdef0", "elsewhere"} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the error does not name %s: %v", part, err)
					}
				}
			})
			if len(writes) > 0 {
				t.Errorf("writes: %v", writes)
			}
		})
	}
}
