package aws

import (
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// AWS-SG-13: the rule for ElbSecurityGroup, which all classic load balancers
// have, stays until the last of them goes or has other groups.
func TestConfiguredGroupIsShared(t *testing.T) {
	t.Parallel()
	b := balance(t)
	id, own := b.group("conf", nil), b.group("own", nil)
	for _, group := range []string{id, own} {
		b.AddRule(group, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
	}
	b.lb = b.controller(configuredGroup(id))
	before := b.Leaks()
	first, second := two()
	b.ensure(first)
	b.ensure(second)
	first.Annotations[string(request.AnnotationSecurityGroups)] = own
	b.ensure(first)
	b.reachable(webName)
	b.reachable(apiName)
	delete(first.Annotations, string(request.AnnotationSecurityGroups))
	b.ensure(first)
	b.reachable(webName)
	b.remove(first)
	b.reachable(apiName)
	b.unchanged(second)
	b.remove(second)
	b.same(before)
}

// AWS-API-3: nothing changes when every response has one item on a page: load
// balancers are found and left alone, and those who share rules find each other.
func TestSmallPages(t *testing.T) {
	t.Parallel()
	for name, options := range map[string][]kubetest.ServiceOption{
		"classic": nil,
		"network": {nlb(), annotate(request.AnnotationHealthCheckPort, "10256")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One call for each resource exceeds what AWS allows without retries.
			b := balanceIn(newRegion(t, sim.Options{PageSize: 1, DisableThrottling: true}), managedGroups)
			if name == "classic" {
				id := b.group("byo", nil)
				b.AddRule(id, sim.Rule{Protocol: "-1", Source: "0.0.0.0/0"})
				options = append(options, annotate(request.AnnotationSecurityGroups, id))
			}
			before := b.Leaks()
			first, second := two(options...)
			b.ensure(first)
			b.ensure(second)
			for _, svc := range []*v1.Service{first, second} {
				if writes := b.writes(func() { b.ensure(svc) }); len(writes) > 0 {
					t.Errorf("AWS-API-3: a page was not read: %v", writes)
				}
			}
			b.remove(first)
			b.reachable(apiName)
			b.remove(second)
			b.same(before)
		})
	}
}
