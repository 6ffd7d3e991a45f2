package network

import (
	"slices"
	"testing"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

func TestTargetsAreKnownByIDAndPort(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(svc)
	group := b.TargetGroups()[0]
	_, err := b.api.RegisterTargets(t.Context(), &elbv2.RegisterTargetsInput{
		TargetGroupArn: &group.ARN, Targets: toTargets([]Target{{ID: b.nodes[0], Port: 8080}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	b.ensure(svc)
	for _, target := range b.TargetGroups()[0].Targets {
		if target.Port != 30443 {
			t.Errorf("target %v should not be there", target)
		}
	}
	if got := len(b.TargetGroups()[0].Targets); got != 3 {
		t.Errorf("AWS-TG-5: %d targets, want 3", got)
	}
}

func TestManyTargets(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	b.nodes = append(b.nodes, b.Cluster.AddNodes(201)...)
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(svc)
	if got := b.Interceptor().Count("elbv2.RegisterTargets"); got != 3 {
		t.Errorf("AWS-TG-5: %d calls for 204 targets, want 3 with at most 100", got)
	}
	b.nodes = b.nodes[:2]
	b.ensure(svc)
	if got := b.Interceptor().Count("elbv2.DeregisterTargets"); got != 3 {
		t.Errorf("AWS-TG-5: %d calls to take out 202 targets, want 3 with at most 100", got)
	}
	b.upToDate(svc)
}

func TestHostname(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web()
	if seen := b.observe(svc); seen.Hostname() != "" || seen.Left() || seen.Subnets() != nil || seen.SecurityGroups() != nil {
		t.Errorf("there is nothing, but %+v", seen)
	}
	b.ensure(svc)
	want := b.network().DNSName
	if got := b.observe(svc).Hostname(); got != want {
		t.Errorf("host name is %q, want %q", got, want)
	}
	b.Impair(lbName, true)
	if got := b.observe(svc).Hostname(); got != want {
		t.Errorf("AWS-NLB-6: host name of an impaired load balancer is %q, want %q", got, want)
	}
	seen := b.observe(svc)
	seen.LoadBalancer.State = "failed"
	if got := seen.Hostname(); got != "" {
		t.Errorf("host name of a failed load balancer is %q", got)
	}
	subnets := []string{}
	for _, zone := range b.Cluster.Zones {
		subnets = append(subnets, b.Cluster.Public[zone])
	}
	slices.Sort(subnets)
	if diff := cmp.Diff(subnets, seen.Subnets()); diff != "" {
		t.Errorf("subnets for the health rules: -want +got:\n%s", diff)
	}
}
