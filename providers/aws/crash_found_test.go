package aws

import (
	"errors"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// AWS-DELETE-1: rules for node ports that a Service no longer has are found when
// it is deleted, in groups without the tag of the cluster, too, and without any of the
// target groups that they were for.
func TestStaleRulesAreDeleted(t *testing.T) {
	t.Parallel()
	b := balance(t)
	group := b.group("plain", nil)
	for _, id := range b.ids {
		b.SetInstanceGroups(id, group)
	}
	before := b.Leaks()
	svc := web(nlb())
	b.ensure(svc)
	portsOf(svc)
	denied := b.Interceptor().Inject("AuthorizeSecurityGroupIngress", simserver.Always(), sim.Denied())
	if _, err := b.lb.EnsureLoadBalancer(t.Context(), flagged, svc, b.nodes); !errors.Is(err, apierr.ErrDenied) {
		t.Errorf("got %v", err)
	}
	denied.Remove()
	b.lb = b.controller()
	if !b.exists(svc) {
		t.Error("AWS-DELETE-1: Get finds nothing")
	}
	b.remove(svc)
	b.same(before)
	if b.exists(svc) {
		t.Error("AWS-DELETE-1: Get finds something after the deletion")
	}
}
