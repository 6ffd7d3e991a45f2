package aws

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// setGroups has a Service request security groups.
func setGroups(svc *v1.Service, ids ...string) {
	svc.Annotations[string(request.AnnotationSecurityGroups)] = strings.Join(ids, ",")
}

// reverseGroups has AWS return the security groups of the load balancer in
// another order, as it may:
// https://github.com/kubernetes/kubernetes/issues/92225
func (b *balanced) reverseGroups() {
	b.t.Helper()
	lb, _ := b.Classic(webName)
	slices.Reverse(lb.SecurityGroups)
	_, err := b.controller().ELB.ApplySecurityGroupsToLoadBalancer(b.t.Context(), &elb.ApplySecurityGroupsToLoadBalancerInput{
		LoadBalancerName: aws.String(webName), SecurityGroups: lb.SecurityGroups,
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

// Nodes allow a classic load balancer by its first security group alone. A rule
// by which users allow another one is theirs and is never removed.
func TestRulesOfUsersForOtherGroupsOfALoadBalancerStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(b *balanced, svc *v1.Service, first, second string)
		// unnamed is set if the Service names neither group any more: after a restart
		// it is not known which one was the first.
		unnamed bool
	}{
		"deleted": {change: func(*balanced, *v1.Service, string, string) {}},
		"detached": {change: func(b *balanced, svc *v1.Service, first, _ string) {
			setGroups(svc, first)
			b.ensure(svc)
		}},
		"detached, deleted before a sync": {change: func(_ *balanced, svc *v1.Service, first, _ string) { setGroups(svc, first) }},
		"both detached": {unnamed: true, change: func(b *balanced, svc *v1.Service, _, _ string) {
			setGroups(svc)
			b.ensure(svc)
		}},
		"both detached, deleted before a sync": {unnamed: true, change: func(_ *balanced, svc *v1.Service, _, _ string) { setGroups(svc) }},
		"no longer extra": {change: func(b *balanced, svc *v1.Service, first, second string) {
			setGroups(svc, first)
			svc.Annotations[string(request.AnnotationExtraSecurityGroups)] = second
			b.ensure(svc)
			delete(svc.Annotations, string(request.AnnotationExtraSecurityGroups))
			b.ensure(svc)
		}},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", after a restart"}[restart], func(t *testing.T) {
				t.Parallel()
				b := balance(t)
				first, second := b.openGroup("first"), b.openGroup("second")
				b.AddRule(b.seed.NodeGroup, sim.Rule{Protocol: "-1", From: -1, To: -1, Source: second})
				before := b.Leaks()
				svc := web(annotate(request.AnnotationSecurityGroups, first+","+second))
				b.ensure(svc)
				b.reverseGroups()
				if restart {
					b.lb = b.controller()
				}
				test.change(b, svc, first, second)
				b.remove(svc)
				if restart && test.unnamed {
					b.RemoveRule(b.seed.NodeGroup, sim.Rule{Protocol: "-1", From: -1, To: -1, Source: first})
				}
				b.same(before)
			})
		}
	}
}

// The rule of a security group that was the first one of a classic load balancer
// is removed when the load balancer loses the group, also if others were
// reordered before.
func TestRuleOfAFormerFirstGroupIsRemoved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason string
		steps  [][]string // the annotation, sync after sync
		last   []string   // the annotation when the Service is deleted
	}{
		"replaced":               {reason: "it is detached", steps: [][]string{{"one", "two"}, {"three"}}, last: []string{"three"}},
		"second":                 {reason: "it stays attached", steps: [][]string{{"one", "two"}, {"two", "one"}}, last: []string{"two", "one"}},
		"second, then detached":  {reason: "it was the first one before", steps: [][]string{{"one", "two"}, {"two", "one"}, {"two"}}, last: []string{"two"}},
		"second, deleted unseen": {reason: "the deletion is the first to name another one", steps: [][]string{{"one", "two"}}, last: []string{"two", "one"}},
		"none, deleted unseen":   {reason: "the deletion is the first to name none", steps: [][]string{{"one", "two"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			ids := map[string]string{"one": b.openGroup("one"), "two": b.openGroup("two"), "three": b.openGroup("three")}
			before := b.Leaks()
			svc := web(annotate(request.AnnotationSecurityGroups, ""))
			set := func(names []string) {
				var groups []string
				for _, name := range names {
					groups = append(groups, ids[name])
				}
				setGroups(svc, groups...)
			}
			for _, names := range test.steps {
				set(names)
				b.ensure(svc)
				b.reachable(webName)
				b.unchanged(svc)
			}
			set(test.last)
			b.remove(svc)
			b.same(before)
		})
	}
}

// A process that does not know which of several security groups was the first
// one leaves the rule of one that is detached, with an Event that names both
// groups: it may be a rule of users.
func TestRuleThatMayBeOfUsersIsLeftWithAnEvent(t *testing.T) {
	t.Parallel()
	for name, finish := range map[string]func(b *balanced, svc *v1.Service){
		"synced":  func(b *balanced, svc *v1.Service) { b.ensure(svc) },
		"deleted": func(b *balanced, svc *v1.Service) { b.remove(svc) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			before := b.Leaks()
			one, two := b.openGroup("one"), b.openGroup("two")
			svc := web(annotate(request.AnnotationSecurityGroups, one))
			b.ensure(svc)
			setGroups(svc, two)
			rule := b.Interceptor().Inject("RevokeSecurityGroupIngress", simserver.Always(), sim.Denied())
			if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); err == nil {
				t.Fatal("no error")
			}
			rule.Remove()
			b.lb = b.controller()
			b.drainEvents()
			finish(b, svc)
			events := b.drainEvents()
			if len(events) != 1 || !strings.HasPrefix(events[0], "Warning SecurityGroupRuleLeft ") ||
				!strings.Contains(events[0], one) || !strings.Contains(events[0], b.seed.NodeGroup) {
				t.Errorf("want one Event about %s in %s, got %v", one, b.seed.NodeGroup, events)
			}
			if name == "synced" {
				b.reachable(webName)
				b.unchanged(svc)
				b.remove(svc)
			}
			b.RemoveRule(b.seed.NodeGroup, sim.Rule{Protocol: "-1", From: -1, To: -1, Source: one})
			b.same(before)
			if events := b.drainEvents(); len(events) > 0 {
				t.Errorf("more Events: %v", events)
			}
		})
	}
}
