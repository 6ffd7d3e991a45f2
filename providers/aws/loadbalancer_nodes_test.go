package aws

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// apiName is the name of the load balancer of the other Service.
const apiName = "aaaaaaaaa11112222333344445555666"

// two are two Services of a kind that share a health check port.
func two(options ...kubetest.ServiceOption) (first, second *v1.Service) {
	return web(options...), apiService(options...)
}

// AWS-SG-13: the rule for a group that two classic load balancers have stays
// until the last of them goes.
func TestSharedGroup(t *testing.T) {
	t.Parallel()
	b := balance(t)
	id := b.group("byo", nil)
	b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
	before := b.Leaks()
	first, second := two(annotate(request.AnnotationSecurityGroups, id))
	b.ensure(first)
	b.ensure(second)
	b.Interceptor().Inject("elb.DescribeTags", simserver.Always(), sim.Denied())
	b.remove(first)
	b.reachable(apiName)
	b.unchanged(second)
	b.remove(second)
	b.same(before)
}

// AWS-SG-13: of two that are deleted at the same time one removes the rule.
func TestSharedGroupGoesWithBoth(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{
		"classic": nil,
		"network": {nlb(), annotate(request.AnnotationHealthCheckPort, "10256")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			id := b.group("byo", nil)
			if options == nil {
				options = []kubetest.ServiceOption{annotate(request.AnnotationSecurityGroups, id)}
			}
			before := b.Leaks()
			first, second := two(options...)
			b.ensure(first)
			b.ensure(second)
			// The first has looked for others, and is about to delete.
			op := "elb.DeleteLoadBalancer"
			if name == "network" {
				op = "elbv2.DeleteLoadBalancer"
			}
			hold := simserver.NewHold()
			b.Interceptor().Inject(op, simserver.First(1), hold.Before)
			var wg sync.WaitGroup
			wg.Go(func() { b.remove(first) })
			if err := b.Interceptor().WaitFor(t.Context(), op, 1); err != nil {
				t.Fatal(err)
			}
			b.remove(second)
			hold.Release()
			wg.Wait()
			b.same(before)
		})
	}
}

// AWS-SG-13: a load balancer of another cluster, or one that is not for a
// Service, preserves no rule of ours.
func TestSharedGroupWithOtherClusters(t *testing.T) {
	t.Parallel()
	b := balance(t)
	id := b.group("byo", nil)
	before := b.Leaks()
	svc := web(annotate(request.AnnotationSecurityGroups, id))
	b.ensure(svc)
	otherCluster := b.lb
	b.lb = b.controller(leaveNodes, func(c *loadBalancerConfig) { c.Settings.Cluster.Name = "prod" })
	b.nodes = nil
	other := apiService(annotate(request.AnnotationSecurityGroups, id), annotate(request.AnnotationSubnets, b.seed.Public[b.seed.Zones[0]]))
	b.ensure(other)
	b.lb, otherCluster = otherCluster, b.lb
	b.remove(svc)
	b.lb = otherCluster
	b.remove(other)
	b.same(before)
}

// AWS-SG-12: a health check port that two network load balancers share stays open
// until the last of them goes; the rule is kept for the other one.
func TestSharedHealthRule(t *testing.T) {
	t.Parallel()
	port := annotate(request.AnnotationHealthCheckPort, "10256")
	for name, test := range map[string]struct {
		settings []func(*loadBalancerConfig)
		options  []kubetest.ServiceOption
		denied   string
	}{
		"shared mode":        {settings: []func(*loadBalancerConfig){sharedProbe}, options: []kubetest.ServiceOption{nlb()}},
		"annotated":          {options: []kubetest.ServiceOption{nlb(), port}},
		"description denied": {options: []kubetest.ServiceOption{nlb(), port}, denied: "UpdateSecurityGroupRuleDescriptionsIngress"},
		"tags denied":        {options: []kubetest.ServiceOption{nlb(), port}, denied: "elbv2.DescribeTags"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, test.settings...)
			before := b.Leaks()
			first, second := two(test.options...)
			b.ensure(first)
			b.ensure(second)
			b.reachable(webName)
			b.reachable(apiName)
			if test.denied != "" {
				b.Interceptor().Inject(test.denied, simserver.Always(), sim.Denied())
			}
			b.remove(first)
			b.reachable(apiName)
			for _, rule := range b.rules(b.seed.NodeGroup) {
				if strings.Contains(rule, webName) {
					t.Errorf("AWS-SG-12: a rule names the load balancer that is gone: %s", rule)
				}
			}
			b.unchanged(second)
			b.remove(second)
			b.same(before)
		})
	}
}

// AWS-SG-12: a health check that moves to another port takes only its own rule
// along.
func TestSharedHealthRuleMoves(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	first, second := two(nlb(), annotate(request.AnnotationHealthCheckPort, "10256"))
	b.ensure(first)
	b.ensure(second)
	first.Annotations[string(request.AnnotationHealthCheckPort)] = "10257"
	b.ensure(first)
	b.reachable(webName)
	b.reachable(apiName)
	b.unchanged(first)
	b.unchanged(second)
	b.remove(second)
	b.reachable(webName)
	b.remove(first)
	b.same(before)
}

// A load balancer that uses a target group and is not listed was created or
// deleted a moment ago: what it might need stays until a later run finds out.
func TestSharedHealthRuleOfOneThatIsNotListed(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	first, second := two(nlb(), annotate(request.AnnotationHealthCheckPort, "10256"))
	b.ensure(first)
	b.ensure(second)
	b.lb = b.controller() // without the needs of the second
	b.Interceptor().Inject("elbv2.DescribeLoadBalancers", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		response := httptest.NewRecorder()
		apply.ServeHTTP(response, r)
		body := strings.ReplaceAll(response.Body.String(), ">"+apiName+"<", ">elsewhere<")
		response.Body.Reset()
		response.Body.WriteString(body)
		response.Header().Del("Content-Length")
		simserver.Replay(w, response)
	})
	err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, first)
	if !errors.Is(err, apierr.ErrConflict) || !strings.Contains(err.Error(), apiName) {
		t.Errorf("got %v", err)
	}
	b.reachable(apiName)
	b.Interceptor().Clear()
	b.lb = b.controller() // as after the age at which load balancers are listed again
	b.remove(first)
	b.reachable(apiName)
	b.remove(second)
	b.same(before)
}

// A load balancer that this process deletes while it looks for those that share a
// health check port needs nothing any more: that is no reason to try again later.
func TestSharedHealthRuleOfOneThatIsDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	first, second := two(nlb(), annotate(request.AnnotationHealthCheckPort, "10256"))
	b.ensure(first)
	b.ensure(second)
	other, _ := b.Network(apiName)
	var once sync.Once
	b.Interceptor().Inject("elbv2.DescribeLoadBalancers", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if r.FormValue("Names.member.1") != "" {
			apply.ServeHTTP(w, r)

			return
		}
		once.Do(func() { // after the target groups were read, before the load balancers are
			if _, err := b.lb.NLB.DeleteLoadBalancer(r.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: &other.ARN}); err != nil {
				t.Error(err)
			}
			b.lb.needs.Forget(apiName)
		})
		apply.ServeHTTP(w, r)
	})
	b.remove(first)
	b.Interceptor().Clear()
	if balancer, exists := b.Network(apiName); exists {
		t.Errorf("the test did not delete %v", balancer)
	}
	b.remove(second)
	b.same(before)
}

// AWS-SG-11: rules of users are kept, even if the group that they name changes.
func TestRulesOfUsersStay(t *testing.T) {
	t.Parallel()
	b := balance(t)
	byo, other := b.group("byo", nil), b.group("other", nil)
	b.AddRule(b.seed.NodeGroup, sim.Rule{Protocol: "tcp", From: 9100, To: 9100, Source: byo, Description: "metrics"})
	b.AddRule(b.seed.NodeGroup, sim.Rule{Protocol: "tcp", From: 0, To: 65535, Source: byo})
	b.AddRule(b.seed.NodeGroup, sim.Rule{Protocol: "-1", From: -1, To: -1, Source: other, Description: "bastion"})
	before := b.Leaks()
	svc := web(annotate(request.AnnotationSecurityGroups, byo))
	b.ensure(svc)
	svc.Annotations[string(request.AnnotationSecurityGroups)] = other
	b.ensure(svc)
	b.unchanged(svc)
	delete(svc.Annotations, string(request.AnnotationSecurityGroups))
	b.ensure(svc)
	b.reachable(webName)
	b.remove(svc)
	b.same(before)
}

// AWS-SG-11: where the nodes' own group is that of the load balancer, the rule by
// which nodes reach each other is no rule of ours.
func TestNodesGoOnTalking(t *testing.T) {
	t.Parallel()
	for _, name := range []string{string(request.AnnotationSecurityGroups), string(request.AnnotationExtraSecurityGroups)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			svc := web(kubetest.ServiceAnnotated(name, b.seed.NodeGroup))
			b.ensure(svc)
			b.unchanged(svc)
			delete(svc.Annotations, name)
			b.ensure(svc)
			b.remove(svc)
			b.same(before)
		})
	}
}

// AWS-SG-1, AWS-SG-2: groups change in both directions, and traffic is allowed
// all the time. A classic load balancer keeps a group until no rule of the nodes
// names it, so that none is forgotten.
func TestGroupsChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		options  []kubetest.ServiceOption
		settings []func(*loadBalancerConfig)
		key      string
	}{
		"classic":       {key: string(request.AnnotationSecurityGroups)},
		"classic extra": {key: string(request.AnnotationExtraSecurityGroups)},
		"network":       {options: []kubetest.ServiceOption{nlb()}, settings: []func(*loadBalancerConfig){managedGroups}, key: string(request.AnnotationSecurityGroups)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, test.settings...)
			one, two := b.group("one", nil), b.group("two", map[string]string{sim.ClusterTag(demo): "owned"})
			for _, id := range []string{one, two} {
				b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
			}
			before := b.Leaks()
			svc := web(test.options...)
			for _, groups := range []string{"", one, two, one + "," + two, two + ", " + one, ""} {
				svc.Annotations[test.key] = groups
				b.ensure(svc)
				b.reachable(webName)
				b.unchanged(svc)
			}
			if len(b.SecurityGroupIDs("one")) != 1 || len(b.SecurityGroupIDs("two")) != 1 {
				t.Error("a group of a user is gone")
			}
			svc.Annotations[test.key] = one
			b.ensure(svc)
			if name != "classic extra" && len(b.SecurityGroupIDs("k8s-elb-"+webName))+len(b.SecurityGroupIDs(webNLB)) != 0 {
				t.Error("the group that was made is not needed any more")
			}
			b.remove(svc)
			b.same(before)
		})
	}
}

// The change of groups may be interrupted at any write. A process that starts
// then does not know which group was the first: an Event names the rule that it
// leaves.
func TestGroupsChangeInterrupted(t *testing.T) {
	t.Parallel()
	for _, fails := range []string{"ApplySecurityGroupsToLoadBalancer", "RevokeSecurityGroupIngress", "AuthorizeSecurityGroupIngress", "DeleteSecurityGroup"} {
		for n := range 4 {
			restart, n := n >= 2, n%2+1
			t.Run(fmt.Sprintf("%s %d, restart %t", fails, n, restart), func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				one, two := b.group("one", nil), b.group("two", nil)
				before := b.Leaks()
				svc := web()
				for _, groups := range []string{"", one, two} {
					svc.Annotations[string(request.AnnotationSecurityGroups)] = groups
					op := fails
					if op == "ApplySecurityGroupsToLoadBalancer" {
						op = "elb." + op
					}
					rule := b.Interceptor().Inject(op, simserver.Nth(n), sim.Denied())
					_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
					if err != nil && !errors.Is(err, apierr.ErrDenied) {
						t.Fatal(err)
					}
					rule.Remove()
					if restart {
						b.lb = b.controller()
					}
					b.drainEvents()
					b.ensure(svc)
					b.unchanged(svc)
					for _, event := range b.drainEvents() {
						if !restart || !strings.HasPrefix(event, "Warning SecurityGroupRuleLeft ") || !strings.Contains(event, one) {
							t.Errorf("unexpected Event: %s", event)
						}
						b.RemoveRule(b.seed.NodeGroup, sim.Rule{Protocol: "-1", From: -1, To: -1, Source: one})
					}
				}
				b.remove(svc)
				b.same(before)
			})
		}
	}
}

// AWS-DELETE-4: a group that the load balancer has lost, and that is in use for
// too long, is deleted by a later sync, also where nodes are left alone.
func TestLostGroupGoesLater(t *testing.T) {
	t.Parallel()
	for name, settings := range map[string][]func(*loadBalancerConfig){"usual": nil, "nodes left alone": {leaveNodes}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, settings...)
			byo := b.group("byo", nil)
			before := b.Leaks()
			svc := web()
			b.ensure(svc)
			svc.Annotations[string(request.AnnotationSecurityGroups)] = byo
			rule := b.Interceptor().Inject("DeleteSecurityGroup", simserver.Always(), sim.Error(400, "DependencyViolation", "resource has a dependent object"))
			_, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes)
			if _, retry := errors.AsType[*api.RetryError](err); !retry {
				t.Errorf("AWS-DELETE-4: got %v", err)
			}
			rule.Remove()
			b.ensure(svc)
			if left := b.SecurityGroupIDs("k8s-elb-" + webName); len(left) > 0 {
				t.Errorf("AWS-DELETE-4: %v is left", left)
			}
			b.unchanged(svc)
			b.remove(svc)
			b.same(before)
		})
	}
}

// AWS-SG-9: packets that come from the load balancer itself are allowed to the
// node port; AWS-SG-10: health rules go when they are not needed.
func TestHealthRules(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	svc := web(nlb(), from("192.0.2.0/24"), kubetest.LocalTraffic(32000), annotate(request.AnnotationTargetGroupAttributes, "preserve_client_ip.enabled=false"))
	b.ensure(svc)
	b.reachable(webName, "192.0.2.0/24")
	b.unchanged(svc)

	svc = web(nlb(), from("192.0.2.0/24"))
	svc.Annotations[string(request.AnnotationTargetGroupAttributes)] = "preserve_client_ip.enabled=true"
	b.ensure(svc)
	b.reachable(webName, "192.0.2.0/24")
	svc.Spec.LoadBalancerSourceRanges = nil
	b.ensure(svc)
	b.reachable(webName, "0.0.0.0/0")
	want := []string{
		"-1 -1--1 " + b.seed.NodeGroup + " nodes among themselves",
		"icmp 3-4 0.0.0.0/0 kubernetes.io/rule/nlb/mtu",
		"tcp 30080-30080 0.0.0.0/0 kubernetes.io/rule/nlb/client=" + webName,
		"tcp 30443-30443 0.0.0.0/0 kubernetes.io/rule/nlb/client=" + webName,
	}
	if diff := cmp.Diff(want, b.rules(b.seed.NodeGroup)); diff != "" {
		t.Errorf("AWS-SG-10: %s", diff)
	}
	b.remove(svc)
	b.same(before)
}

// AWS-SG-5: IPv6 ranges reach EC2 as such, for both kinds.
func TestIPv6Ranges(t *testing.T) {
	t.Parallel()
	b := balance(t, managedGroups)
	before := b.Leaks()
	for _, options := range [][]kubetest.ServiceOption{{from("2001:db8:9::/48")}, {nlb(), from("2001:db8:9::/48")}} {
		svc := web(options...)
		b.ensure(svc)
		b.reachable(webName, "2001:db8:9::/48")
		b.unchanged(svc)
		b.remove(svc)
		b.same(before)
	}
}

// AWS-SG-4: a TLS listener is tcp to EC2.
func TestTLSListenerIsTCP(t *testing.T) {
	t.Parallel()
	b := balance(t, managedGroups)
	svc := web(nlb(), annotate(request.AnnotationSSLCert, "arn:aws:acm:us-west-2:123456789012:certificate/12345678-1234-1234-1234-123456789012"))
	b.ensure(svc)
	b.reachable(webName, "0.0.0.0/0")
	want := []string{"icmp 3-4 0.0.0.0/0", "tcp 80-80 0.0.0.0/0", "tcp 443-443 0.0.0.0/0"}
	if diff := cmp.Diff(want, b.rules(b.SecurityGroupIDs(webNLB)[0])); diff != "" {
		t.Errorf("AWS-SG-4: %s", diff)
	}
	b.unchanged(svc)
}

// AWS-LB-17: a node whose groups are ambiguous is an Event and an error, and the
// other nodes serve.
func TestAmbiguousGroups(t *testing.T) {
	t.Parallel()
	b := balance(t)
	second := b.group("second", map[string]string{sim.ClusterTag(demo): "owned"})
	b.SetInstanceGroups(b.ids[0], b.seed.NodeGroup, second)
	before := b.Leaks()
	svc := web()
	for range 2 {
		if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrInvalid) || !strings.Contains(err.Error(), b.ids[0]) {
			t.Errorf("got %v", err)
		}
	}
	if events := b.drainEvents(); len(events) != 1 || !strings.HasPrefix(events[0], "Warning AmbiguousNodeSecurityGroup ") {
		t.Errorf("AWS-LB-17: one Event: %v", events)
	}
	b.SetInstanceGroups(b.ids[0], b.seed.NodeGroup)
	b.lb = b.controller()
	b.ensure(svc)
	b.reachable(webName)
	b.remove(svc)
	b.same(before)
}

// AWS-SG-7, AWS-SG-14: nodes in several groups, some of which lose their last
// node.
func TestNodesMove(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			second := b.group("second", map[string]string{sim.ClusterTag(demo): "owned"})
			moved := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{second}}})
			before := b.Leaks()
			svc := web(options...)
			all := nodesOf(append(b.ids, moved)...)
			b.nodes = all
			b.ensure(svc)
			b.reachable(webName)
			b.nodes = all[:3]
			b.ensure(svc)
			if rules := b.rules(second); len(rules) != 0 {
				t.Errorf("rules stay where no node is: %v", rules)
			}
			b.unchanged(svc)
			b.nodes = all[3:]
			b.ensure(svc)
			b.reachable(webName)
			b.remove(svc)
			b.same(before)
		})
	}
}

// AWS-LB-17: what is ignored or left out is an Event, once; AWS-LB-12: an
// instance that cannot be registered does not keep others from it.
func TestWarningsAreEvents(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{"classic": nil, "network": {nlb()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			foreign, otherVPC := b.seed.AddNode(sim.InstanceSpec{}), b.Seed("demo").AddNodes(1)
			b.SetTags(foreign, nil)
			terminated := b.seed.AddNode(sim.InstanceSpec{State: sim.Terminated})
			b.nodes = append(b.nodes, nodesOf(foreign, otherVPC[0], terminated, "i-0123456789abcdef0")...)
			svc := web(append(options, annotate("service.beta.kubernetes.io/aws-load-balancer-color", "blue"))...)
			b.ensure(svc)
			b.reachable(webName)
			b.unchanged(svc)
			events := strings.Join(b.drainEvents(), "\n")
			if strings.Count(events, "Warning "+string(service.NodeSkipped)) != 2 || strings.Count(events, "Warning "+string(request.UnknownAnnotation)) != 1 {
				t.Errorf("AWS-LB-17: got %s", events)
			}
			for _, id := range []string{foreign, otherVPC[0], terminated, "i-0123456789abcdef0"} {
				if strings.Count(events, "node-"+id) != 1 {
					t.Errorf("AWS-LB-17: %s is not in one Event: %s", id, events)
				}
			}
		})
	}
}

// FW-LB-9: Services that change at the same time share the groups of the nodes,
// and lose no rule to each other.
func TestManyServicesAtOnce(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	var services []*v1.Service
	for i := range 6 {
		svc := kubetest.Service("many", fmt.Sprintf("s%d", i),
			kubetest.ServiceUID(fmt.Sprintf("%d0000000-1111-2222-3333-444455556666", i)),
			kubetest.Port(v1.ProtocolTCP, int32(80+i)), annotate(request.AnnotationHealthCheckPort, "10256"))
		if i%2 == 0 {
			nlb()(svc)
		}
		services = append(services, svc)
	}
	parallel(4, services, func(svc *v1.Service) { b.ensure(svc) })
	for _, svc := range services {
		b.reachable(b.lb.GetLoadBalancerName(t.Context(), flagged, svc))
	}
	parallel(4, services, func(svc *v1.Service) { b.ensure(svc) })
	parallel(4, services, func(svc *v1.Service) {
		err := b.deleteOnce(svc)
		for tries := len(services); tries > 0 && errors.Is(err, apierr.ErrConflict); tries-- {
			err = b.deleteOnce(svc) // another one was deleted between two reads of it
		}
		if err != nil {
			t.Errorf("delete %s: %v", svc.Name, err)
		}
	})
	b.same(before)
}
