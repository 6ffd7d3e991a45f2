package aws

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// AWS-CLUSTER-8: instances that lose the tag of the cluster, for example by a tag
// policy, stay targets with their rules; the Service has an Event. Nodes that join
// without the tag are targets, too.
func TestInstancesWithoutTheTagServe(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			svc := web(options...)
			b.ensure(svc)
			rules, registered := b.rules(b.seed.NodeGroup), b.registered(webName)
			for _, id := range b.ids {
				b.SetTags(id, nil)
			}
			b.drainEvents()
			if err := b.sync(svc); err != nil {
				t.Errorf("a sync: %v", err)
			}
			if diff := cmp.Diff(rules, b.rules(b.seed.NodeGroup)); diff != "" {
				t.Errorf("rules: -before +after\n%s", diff)
			}
			if diff := cmp.Diff(registered, b.registered(webName)); diff != "" {
				t.Errorf("targets: -before +after\n%s", diff)
			}
			events := b.drainEvents()
			if !slices.ContainsFunc(events, func(event string) bool { return strings.Contains(event, string(request.Untagged)) }) {
				t.Errorf("no Event %s: %v", request.Untagged, events)
			}
			joined := b.seed.AddNodes(1)[0]
			b.SetTags(joined, nil)
			b.nodes = append(b.nodes, nodesOf(joined)...)
			if err := b.update(svc); err != nil || !slices.Contains(b.registered(webName), joined) {
				t.Errorf("a node that joins: %v, registered are %v", err, b.registered(webName))
			}
			b.reachable(webName)
		})
	}
}

// AWS-LB-10: a Node of another region is no target, and nothing else is different:
// no error, no Event, and what is not needed any more is removed.
func TestNodeOfAnotherRegionChangesNothing(t *testing.T) {
	t.Parallel()
	for kind, options := range kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := balance(t, uncached)
			pool := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
			joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
			far := kubetest.Node("far", kubetest.ProviderID("aws:///eu-central-1a/i-0123456789abcdef0"))
			b.nodes = append(nodesOf(append(b.ids, joined)...), far)
			svc := web(options...)
			if err := b.sync(svc); err != nil {
				t.Errorf("the first sync: %v", err)
			}
			b.nodes = append(nodesOf(b.ids...), far)
			if err := b.sync(svc); err != nil {
				t.Errorf("after the pool is gone: %v", err)
			}
			if rules := b.rules(pool); len(rules) > 0 {
				t.Errorf("rules of the pool without nodes: %v", rules)
			}
			if events := b.drainEvents(); len(events) > 0 {
				t.Errorf("Events: %v", events)
			}
		})
	}
}

// AWS-LB-21: while EC2 does not return the instance of a Node, no rule is removed. After
// ten minutes, only the rules of groups without any known node stay: they may be
// those of the missing one.
func TestInstanceMissingForLong(t *testing.T) {
	t.Parallel()
	inSlowRegion(t, func(b *balanced) {
		pool := b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
		joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{pool}}})
		b.nodes = append(b.nodes, nodesOf(joined)...)
		svc := web(nlb(), from("10.0.0.0/8", "192.0.2.0/24"))
		b.ensure(svc)
		b.Remove(joined)
		time.Sleep(time.Minute) // what is cached goes out of date
		svc.Spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
		all, inPool := len(b.rules(b.seed.NodeGroup)), b.rules(pool)
		for begun := time.Now(); time.Since(begun) < longMissing; time.Sleep(3 * time.Minute) {
			b.retried(b.sync(svc), joined)
			if got := b.rules(b.seed.NodeGroup); len(got) != all {
				b.t.Fatalf("rules are removed after %s: %v", time.Since(begun), got)
			}
		}
		b.retried(b.sync(svc), joined)
		// Two rules for clients and one for path MTU discovery.
		if got := b.rules(b.seed.NodeGroup); len(got) != all-3 {
			b.t.Errorf("rules of a group with known nodes: %v", got)
		}
		if diff := cmp.Diff(inPool, b.rules(pool)); diff != "" {
			b.t.Errorf("rules of the group without a known node: -before +after\n%s", diff)
		}
		b.nodes = b.nodes[:3]
		if err := b.sync(svc); err != nil || len(b.rules(pool)) > 0 {
			b.t.Errorf("after the Node is deleted: %v, %v", err, b.rules(pool))
		}
	})
}

// AWS-LB-21: the former security group of a classic load balancer is deleted although
// an instance is missing for long, unless a group without any known node names it.
func TestSecurityGroupIsReplacedWhileAnInstanceIsMissing(t *testing.T) {
	t.Parallel()
	for name, separate := range map[string]bool{"the group of other nodes": false, "a group of its own": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inSlowRegion(t, func(b *balanced) {
				group := b.seed.NodeGroup
				if separate {
					group = b.group("pool", map[string]string{sim.ClusterTag(demo): "owned"})
				}
				joined := b.seed.AddNode(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Groups: []string{group}}})
				b.nodes = append(b.nodes, nodesOf(joined)...)
				svc := web()
				b.ensure(svc)
				b.Remove(joined)
				time.Sleep(time.Minute) // what is cached goes out of date
				annotate(request.AnnotationSecurityGroups, b.group("byo", nil))(svc)
				for range 6 {
					if err := b.sync(svc); err == nil {
						b.t.Fatal("the load balancer is complete")
					}
					time.Sleep(3 * time.Minute)
				}
				if ids := b.SecurityGroupIDs("k8s-elb-" + webName); (len(ids) > 0) != separate {
					b.t.Errorf("groups %v", ids)
				}
			})
		})
	}
}

// AWS-NLB-4: a listener that becomes a TLS one gets a security policy, which AWS
// demands.
func TestListenerBecomesTLS(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{"without the annotation": "", "with it": "ELBSecurityPolicy-TLS13-1-2-2021-06"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web(nlb())
			b.ensure(svc)
			annotate(request.AnnotationSSLCert, "arn:aws:acm:us-west-2:123456789012:certificate/0f0e0d0c-1111-2222-3333-444455556666")(svc)
			annotate(request.AnnotationSSLPorts, "443")(svc)
			if policy != "" {
				annotate(request.AnnotationSSLPolicy, policy)(svc)
			}
			b.ensure(svc)
			n, _ := b.Network(webName)
			want := map[int32]string{80: "TCP ", 443: "TLS ELBSecurityPolicy-2016-08"}
			if policy != "" {
				want[443] = "TLS " + policy
			}
			got := map[int32]string{}
			for _, l := range n.Listeners {
				got[l.Port] = l.Protocol + " " + l.Policy
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("listeners: -want +got\n%s", diff)
			}
			b.unchanged(svc)
		})
	}
}

// AWS-TG-7: at the quota of targets, the nodes of a load balancer are replaced in one
// sync, and at no time is it without a target.
func TestReplacementAtTheQuota(t *testing.T) {
	t.Parallel()
	for name, sync := range map[string]func(b *balanced, svc *v1.Service) error{
		"ensure": func(b *balanced, svc *v1.Service) error { return b.sync(svc) },
		"update": func(b *balanced, svc *v1.Service) error { return b.update(svc) },
	} {
		for kind, options := range kinds() {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				b.SetQuotas(sim.Quotas{ZoneTargets: 20, ClassicInstances: 20})
				b.nodes = nodesOf(b.seed.AddNodes(20)...)
				svc := kubetest.Service("default", "web", append(slices.Clone(options), kubetest.ServiceUID(webUID),
					kubetest.Port(v1.ProtocolTCP, 80), annotate(request.AnnotationCrossZone, "true"))...)
				if err := b.sync(svc); err != nil {
					t.Fatal(err)
				}
				fewest := 20
				watch := func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
					apply.ServeHTTP(w, r)
					fewest = min(fewest, len(b.registered(webName)))
				}
				for _, op := range []string{"elbv2.DeregisterTargets", "elb.DeregisterInstancesFromLoadBalancer"} {
					b.Interceptor().Inject(op, simserver.Always(), watch)
				}
				fresh := b.seed.AddNodes(20)
				b.nodes = nodesOf(fresh...)
				if err := sync(b, svc); err != nil {
					t.Error(err)
				}
				if diff := cmp.Diff(slices.Sorted(slices.Values(fresh)), b.registered(webName)); diff != "" {
					t.Errorf("registered: -want +got\n%s", diff)
				}
				if fewest < 10 {
					t.Errorf("%d targets at one time", fewest)
				}
				b.quiet(change.TargetQuotaExceeded)
			})
		}
	}
}

// quiet fails the test if there were Events with a reason.
func (b *balanced) quiet(reason service.Reason) {
	b.t.Helper()
	for _, event := range b.drainEvents() {
		if strings.Contains(event, string(reason)) {
			b.t.Errorf("Event %s", event)
		}
	}
}

// AWS-TG-7: where no place is free for others even without half of the targets that
// leave, the other half stays.
func TestTargetsStayIfNoneCanReplaceThem(t *testing.T) {
	t.Parallel()
	b := balance(t)
	svc := kubetest.Service("default", "web", nlb(), kubetest.ServiceUID(webUID), kubetest.Port(v1.ProtocolTCP, 80))
	b.ensure(svc)
	b.Interceptor().Inject("elbv2.RegisterTargets", simserver.Always(), sim.Error(http.StatusBadRequest, "TooManyTargets", "too many targets"))
	b.nodes = nodesOf(b.seed.AddNodes(3)...)
	b.retried(b.sync(svc), "exceed a quota")
	if got := b.registered(webName); len(got) != 1 {
		t.Errorf("registered are %v", got)
	}
}

// AWS-DELETE-4: a Service that is no longer of type LoadBalancer keeps its finalizer
// for ten minutes while rules of users name its security group.
func TestTypeChangedWhileARuleNamesTheGroup(t *testing.T) {
	t.Parallel()
	for name, removed := range map[string]bool{"the rule stays": false, "the rule is removed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inSlowRegion(t, func(b *balanced) {
				svc := web()
				b.ensure(svc)
				group := b.SecurityGroupIDs("k8s-elb-" + webName)[0]
				database := b.group("database", nil)
				rule := sim.Rule{Protocol: "tcp", From: 5432, To: 5432, Source: group}
				b.AddRule(database, rule)
				svc.Spec.Type = v1.ServiceTypeClusterIP
				for range 15 {
					if b.lb.EnsureLoadBalancerDeleted(b.t.Context(), flagged, svc) == nil {
						b.t.Fatal("the finalizer is removed at once")
					}
					time.Sleep(30 * time.Second)
				}
				if removed {
					b.RemoveRule(database, rule)
				} else {
					time.Sleep(5 * time.Minute)
				}
				if err := b.lb.EnsureLoadBalancerDeleted(b.t.Context(), flagged, svc); err != nil {
					b.t.Error(err)
				}
				left := slices.ContainsFunc(b.drainEvents(), func(event string) bool { return strings.Contains(event, string(securitygroup.GroupLeft)) })
				if ids := b.SecurityGroupIDs("k8s-elb-" + webName); removed != (len(ids) == 0) || left == removed {
					b.t.Errorf("groups %v, an Event that one is left: %t", ids, left)
				}
			})
		})
	}
}
