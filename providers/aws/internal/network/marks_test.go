package network

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// removal reports whether a call removes a setting or resource.
func removal(call string) bool {
	return strings.HasPrefix(call, "elbv2.Delete") || strings.HasPrefix(call, "elbv2.Deregister")
}

// runMarked runs steps one by one, and checks that those that remove something
// are marked. It returns the kinds of the steps that ran.
func (b *fixture) runMarked(steps change.Plan, tolerant bool) map[string]bool {
	b.t.Helper()
	kinds := map[string]bool{}
	env := &change.Env{ELBV2: b.shared()}
	for _, step := range steps {
		b.Interceptor().Reset()
		if err := step.Do(b.t.Context(), env); err != nil && !tolerant {
			b.t.Errorf("%s: %v", step, err)
		}
		kinds[step.Kind] = true
		for call := range b.Writes() {
			if removal(call) && !step.Removes {
				b.t.Errorf("%s is made by a step that is not marked as one that removes: %s", call, step)
			}
		}
	}

	return kinds
}

// TestStepsThatRemoveAreMarked runs steps of every kind, also those that find
// something else than what was observed.
func TestStepsThatRemoveAreMarked(t *testing.T) {
	t.Parallel()
	covered := map[string]bool{}
	run := func(b *fixture, steps change.Plan, tolerant bool) {
		t.Helper()
		for kind := range b.runMarked(steps, tolerant) {
			covered[kind] = true
		}
	}
	b := newFixture(t, sim.Options{})
	one := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "one", Description: "one"})
	two := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "two", Description: "two"})
	b.groups = []plan.Ref{{ID: one}, {ID: two}}
	model, _ := b.model(changedBefore())
	before := b.observe(changedBefore())
	run(b, planFor(model, before), false)

	b.groups = []plan.Ref{{ID: one}}
	b.nodes = append(b.nodes[1:], b.Cluster.AddNodes(1)...)
	model, _ = b.model(changedAfter())
	run(b, planFor(model, b.observe(changedAfter())), false)

	other, _ := b.model(web(kubetest.LocalTraffic(32000), annotated(request.AnnotationAdditionalTags, "a=b"),
		annotated(request.AnnotationSSLCert, certificate)))
	b.group(other.Listeners[0].TargetGroup.Name, tagged(nil), nil)
	run(b, planFor(other, before), true) // as if nothing existed
	run(b, DiffDeletion(b.observe(changedAfter())), false)

	for _, kind := range awstest.StepKinds(t) {
		if !covered[kind] {
			t.Errorf("no step of kind %s ran", kind)
		}
	}
}

// A load balancer that exists with more security groups than its creation asks
// for keeps them, as creating removes nothing.
func TestAdoptedLoadBalancerKeepsItsSecurityGroups(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	one := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "one", Description: "one"})
	two := b.AddSecurityGroup(sim.SecurityGroupSpec{VPC: b.Cluster.VPC, Name: "two", Description: "two"})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.groups = []plan.Ref{{ID: two}}
	model, _ := b.model(svc)
	steps := planFor(model, b.observe(svc))
	b.groups = []plan.Ref{{ID: one}}
	b.ensure(svc)
	if err := steps.Additions().Apply(t.Context(), &change.Env{ELBV2: b.shared()}, nil); err == nil {
		t.Error("there is no error, so that nothing removes the other security group")
	}
	if got := b.observe(svc).SecurityGroups(); len(got) != 2 {
		t.Errorf("security groups are %v, want both", got)
	}
	b.groups = []plan.Ref{{ID: two}}
	b.ensure(svc)
	b.upToDate(svc)
}
