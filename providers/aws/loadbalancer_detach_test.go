package aws

import (
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// Two load balancers give up a security group of users at the same time. Each
// keeps the group until the rules that name it are removed, and the last one
// removes them.
func TestRuleOfASharedGroupIsRemovedWithItsLastUser(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]func(b *balanced, svc *v1.Service, group string){
		"changed": func(b *balanced, svc *v1.Service, group string) {
			svc.Annotations[string(request.AnnotationSecurityGroups)] = group
			b.ensure(svc)
		},
		"deleted": func(b *balanced, svc *v1.Service, _ string) { b.remove(svc) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := balance(t)
			one, other := b.openGroup("one"), b.openGroup("other")
			first, second := two(annotate(request.AnnotationSecurityGroups, one))
			b.ensure(first)
			b.ensure(second)

			// The first call attaches the new group, the second one detaches the other.
			const apply = "elb.ApplySecurityGroupsToLoadBalancer"
			hold := simserver.NewHold()
			b.Interceptor().Reset()
			b.Interceptor().Inject(apply, simserver.Nth(2), hold.Before)
			first.Annotations[string(request.AnnotationSecurityGroups)] = other
			var wg sync.WaitGroup
			wg.Go(func() { b.ensure(first) })
			if err := b.Interceptor().WaitFor(t.Context(), apply, 2); err != nil {
				t.Fatal(err)
			}
			last(b, second, other)
			hold.Release()
			wg.Wait()
			if rules := strings.Join(b.rules(b.seed.NodeGroup), "\n"); strings.Contains(rules, one) {
				t.Errorf("the rule of the group that no load balancer has is left:\n%s", rules)
			}
			b.reachable(webName)
			b.unchanged(first)
		})
	}
}

// A load balancer that did not get its new group yet still needs the rule of the
// one that it has, though its Service does not name that any more.
func TestRuleOfASharedGroupIsKeptUntilItsReplacementWorks(t *testing.T) {
	t.Parallel()
	b := balance(t)
	one, other := b.openGroup("one"), b.openGroup("other")
	first, second := two(annotate(request.AnnotationSecurityGroups, one))
	b.ensure(first)
	b.ensure(second)
	first.Annotations[string(request.AnnotationSecurityGroups)] = other
	denied := b.Interceptor().Inject("elb.ApplySecurityGroupsToLoadBalancer", simserver.Always(), sim.Denied())
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, first, b.nodes); err == nil {
		t.Fatal("no error")
	}
	b.remove(second)
	b.reachable(webName)
	denied.Remove()
	b.ensure(first)
	b.reachable(webName)
	if rules := strings.Join(b.rules(b.seed.NodeGroup), "\n"); strings.Contains(rules, one) {
		t.Errorf("the rule of the group that no load balancer has is left:\n%s", rules)
	}
}

// openGroup makes a security group of users that allows all traffic.
func (b *balanced) openGroup(name string) string {
	id := b.group(name, nil)
	b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})

	return id
}
