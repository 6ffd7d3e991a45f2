package aws

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// FW-LB-1, AWS-DELETE-1: as long as any piece is left there is a load balancer,
// and deleting goes on where it was interrupted, also after a restart, and when
// the load balancer itself is long gone.
func TestDeleteGoesOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason  string
		options []kubetest.ServiceOption
		fails   string
	}{
		"classic, rules":       {reason: "the rule of the nodes is left", fails: "RevokeSecurityGroupIngress"},
		"classic, balancer":    {reason: "the load balancer is left", fails: "elb.DeleteLoadBalancer"},
		"classic, group":       {reason: "the security group is left", fails: "DeleteSecurityGroup"},
		"network, rules":       {reason: "the rules of the nodes are left", options: []kubetest.ServiceOption{nlb()}, fails: "RevokeSecurityGroupIngress"},
		"network, balancer":    {reason: "the load balancer is left", options: []kubetest.ServiceOption{nlb()}, fails: "elbv2.DeleteLoadBalancer"},
		"network, first group": {reason: "all target groups are left", options: []kubetest.ServiceOption{nlb()}, fails: "elbv2.DeleteTargetGroup"},
		"network, group":       {reason: "the security group is left", options: []kubetest.ServiceOption{nlb()}, fails: "DeleteSecurityGroup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t, managedGroups)
			before := b.Leaks()
			svc := web(test.options...)
			b.ensure(svc)
			rule := b.Interceptor().Inject(test.fails, simserver.Always(), sim.Denied())
			if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc); !errors.Is(err, apierr.ErrDenied) {
				t.Errorf("%s: got %v", test.reason, err)
			}
			rule.Remove()
			b.lb = b.controller(managedGroups)
			if !b.exists(svc) {
				t.Errorf("AWS-DELETE-1: %s, but Get returns that nothing exists", test.reason)
			}
			b.remove(svc)
			b.same(before)
			if b.exists(svc) {
				t.Error("Get reports a load balancer")
			}
		})
	}
}

// AWS-DELETE-1: what a user deleted in part is deleted to the end.
func TestDeleteWhatOthersBegan(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		rule   sim.Rule
		group  string
	}{
		"rules": {
			reason: "a rule of the nodes that names the load balancer",
			rule:   sim.Rule{Protocol: "tcp", From: 30080, To: 30080, Source: "0.0.0.0/0", Description: "kubernetes.io/rule/nlb/client=" + webName},
		},
		"classic group": {reason: "a security group by its derived name", group: "k8s-elb-" + webName},
		"network group": {reason: "a security group by its derived name", group: webNLB},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			svc := web()
			if test.group != "" {
				b.group(test.group, map[string]string{sim.ClusterTag(demo): "owned"})
			} else {
				b.AddRule(b.seed.NodeGroup, test.rule)
			}
			if !b.exists(svc) {
				t.Errorf("AWS-DELETE-1: %s is left, but Get returns that nothing exists", test.reason)
			}
			b.remove(svc)
			if b.exists(svc) {
				t.Errorf("AWS-DELETE-1: %s is still left", test.reason)
			}
		})
	}
}

// AWS-SG-6: groups of users are not deleted, whatever their names and tags.
func TestDeleteSparesGroups(t *testing.T) {
	t.Parallel()
	owned := map[string]string{sim.ClusterTag(demo): "owned"}
	for name, test := range map[string]struct {
		reason   string
		group    string
		tags     map[string]string
		service  func(id string) *v1.Service
		settings func(id string) func(*loadBalancerConfig)
	}{
		"annotated": {
			reason: "one of security-groups", group: "byo", tags: owned,
			service: func(id string) *v1.Service { return web(annotate(request.AnnotationSecurityGroups, id)) },
		},
		"annotated with the name of ours": {
			reason: "one of security-groups", group: "k8s-elb-" + webName, tags: owned,
			service: func(id string) *v1.Service { return web(annotate(request.AnnotationSecurityGroups, " "+id+" ")) },
		},
		"extra": {
			reason: "one of extra-security-groups", group: "byo", tags: owned,
			service: func(id string) *v1.Service { return web(annotate(request.AnnotationExtraSecurityGroups, id)) },
		},
		"configured": {
			reason: "ElbSecurityGroup", group: "byo", tags: owned,
			service: func(string) *v1.Service { return web() }, settings: configuredGroup,
		},
		"no longer annotated": {
			reason: "one that was in security-groups once", group: "byo", tags: owned,
			service: func(id string) *v1.Service { return web(annotate(request.AnnotationSecurityGroups, id)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			id := b.group(test.group, test.tags)
			if test.settings != nil {
				b.lb = b.controller(test.settings(id))
			}
			before := b.Leaks()
			svc := test.service(id)
			b.ensure(svc)
			if strings.HasPrefix(name, "no longer") {
				svc.Annotations = nil
			}
			b.remove(svc)
			b.same(before)
			if len(b.SecurityGroupIDs(test.group)) != 1 {
				t.Errorf("AWS-SG-6: %s is gone", test.reason)
			}
		})
	}
}

// AWS-DELETE-3: that other load balancers may not be read does not keep those who
// have none from being deleted, but the one of a Service must not be leaked.
func TestOtherKindDenied(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	denied := b.Interceptor().Inject("elbv2", simserver.Always(), sim.Denied())
	svc := web()
	b.ensure(svc)
	b.unchanged(svc)
	if !b.exists(svc) {
		t.Error("Get must find it")
	}
	b.remove(svc)
	b.same(before)
	if b.exists(svc) {
		t.Error("Get must not find it")
	}
	denied.Remove()

	svc = web(nlb())
	b.ensure(svc)
	delete(svc.Annotations, string(request.AnnotationType))
	b.Interceptor().Inject("elbv2", simserver.Always(), sim.Denied())
	if _, _, err := b.lb.GetLoadBalancer(t.Context(), flagged, svc); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("AWS-DELETE-3: its status is that of a network load balancer: %v", err)
	}
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("AWS-LB-4: its status is that of a network load balancer: %v", err)
	}
}

// Calls for one Service wait for each other, each until its own context ends,
// and those for different Services do not.
func TestCallsForOneServiceExclude(t *testing.T) {
	t.Parallel()
	b := balance(t)
	before := b.Leaks()
	hold := simserver.NewHold()
	rule := b.Interceptor().Inject("elb.CreateLoadBalancer", simserver.First(1), hold.Before)
	var wg sync.WaitGroup
	wg.Go(func() { b.ensure(web()) })
	if err := b.Interceptor().WaitFor(t.Context(), "elb.CreateLoadBalancer", 1); err != nil {
		t.Fatal(err)
	}
	rule.Remove()
	impatientCtx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.lb.EnsureLoadBalancerDeleted(impatientCtx, flagged, web()); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ends with its own context: %v", err)
	}
	b.ensure(apiService())
	b.remove(apiService())
	wg.Go(func() { b.remove(web()) })
	hold.Release()
	wg.Wait()
	b.remove(web())
	b.same(before)
}

// If tags may not be read, target groups that AWS reports to be in use after
// their load balancer was deleted are deleted by the next call, as long as there
// are any.
func TestTargetGroupsAreNotLeftBehindWithoutTags(t *testing.T) {
	t.Parallel()
	for name, restart := range map[string]bool{"same process": false, "restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			svc := web(nlb())
			b.ensure(svc)
			b.Interceptor().Inject("elbv2.DescribeTags", simserver.Always(), sim.Denied())
			rule := b.Interceptor().Inject("elbv2.DeleteTargetGroup", simserver.Always(),
				sim.Error(http.StatusBadRequest, "ResourceInUse", "the target group is in use"))
			if err := b.lb.EnsureLoadBalancerDeleted(t.Context(), flagged, svc); !errors.Is(err, apierr.ErrConflict) {
				t.Errorf("got %v", err)
			}
			rule.Remove()
			if restart {
				b.lb = b.controller()
			}
			if !b.exists(svc) {
				t.Error("target groups are left, but Get reports nothing")
			}
			b.remove(svc)
			b.same(before)
			if b.exists(svc) {
				t.Error("Get reports a load balancer")
			}
		})
	}
}
