package aws

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

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
