package network

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// removal reports whether a call removes a setting or resource.
func removal(call string) bool {
	return strings.HasPrefix(call, "elbv2.Delete") || strings.HasPrefix(call, "elbv2.Deregister")
}

// TestAdditionsTakeNothingAway applies the additions of a plan with every kind of
// change: AWS accepts them, and what there was stays.
func TestAdditionsTakeNothingAway(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	one := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "one", Description: "one"})
	two := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "two", Description: "two"})
	b.groups = []plan.Ref{{ID: one}, {ID: two}}
	b.ensure(changedBefore())
	before := b.observe(changedBefore())

	b.groups = []plan.Ref{{ID: one}}
	b.nodes = append(b.nodes[1:], b.Cluster.AddNodes(1)...)
	after := changedAfter()
	after.Annotations[string(request.AnnotationSSLCert)] = "arn:aws:acm:us-west-2:123456789012:certificate/0a1b2c3d"
	after.Annotations[string(request.AnnotationSSLPorts)] = "80"
	model, _ := b.model(after)
	steps := planFor(model, before)
	b.Interceptor().Reset()
	if err := steps.Additions().Apply(t.Context(), &change.Env{ELBV2: b.shared()}, nil); err != nil {
		t.Fatalf("the additions of\n%s: %v", steps, err)
	}
	for call := range b.Writes() {
		if removal(call) {
			t.Errorf("%s was called", call)
		}
	}

	seen := b.observe(after)
	if diff := cmp.Diff(before.SecurityGroups(), seen.SecurityGroups()); diff != "" {
		t.Errorf("security groups were lost: -want +got:\n%s", diff)
	}
	listeners := map[int32]bool{}
	for _, listener := range seen.LoadBalancer.Listeners {
		listeners[listener.Port] = true
	}
	for _, listener := range before.LoadBalancer.Listeners {
		if !listeners[listener.Port] {
			t.Errorf("listener %d was lost", listener.Port)
		}
	}
	if !listeners[8443] || len(seen.TargetGroups) <= len(before.TargetGroups) {
		t.Errorf("what is missing was not added: %+v", seen)
	}
	b.ensure(after)
	b.upToDate(after)
}
