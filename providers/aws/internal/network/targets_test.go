package network

import (
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(svc)
	gone := b.nodes[0]
	b.nodes = slices.Concat(b.nodes[1:], b.Cluster.AddNodes(1))
	b.Interceptor().Reset()
	b.ensure(svc)
	order := []string{"elbv2.RegisterTargets", "elbv2.DeregisterTargets"}
	if diff := cmp.Diff(order, b.writeOrder()); diff != "" {
		t.Errorf("targets are removed once their replacements are accepted; -want +got:\n%s", diff)
	}

	// The one that is on its way out is still described.
	b.Interceptor().Reset()
	b.ensure(svc)
	b.nothing()

	b.nodes = append(b.nodes, gone)
	b.ensure(svc)
	if group := b.TargetGroups()[0]; len(group.Targets) != 4 || len(group.Draining) != 0 {
		t.Errorf("AWS-TG-5: a draining target can be registered again: targets %v, draining %v", group.Targets, group.Draining)
	}
}

// writeOrder are the writes since the log was cleared, in order.
func (b *fixture) writeOrder() []string {
	var ops []string
	for _, call := range b.Interceptor().History() {
		if sim.Mutating(call.Op) {
			ops = append(ops, call.Op)
		}
	}

	return ops
}

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

// TestRestingNode shows that a target stays while its instance stops and starts
// again, as nothing brings it back: the service controller does not look at that.
func TestRestingNode(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	svc := web(kubetest.Port(v1.ProtocolTCP, 443))
	b.ensure(svc)
	for state, want := range map[types.InstanceStateName]int{
		types.InstanceStateNameStopping: 0, types.InstanceStateNameStopped: 0, types.InstanceStateNamePending: 0, "": 0,
		types.InstanceStateNameShuttingDown: 1, types.InstanceStateNameTerminated: 1,
	} {
		f := b.facts()
		f.Targets[b.nodes[1]].State = state
		model, _, err := Build(b.request(svc), f)
		if err != nil {
			t.Fatal(err)
		}
		if steps := planFor(model, b.observe(svc)); len(steps) != want || want > 0 && steps[0].Kind != "DeregisterTargets" {
			t.Errorf("AWS-LB-12: a registered instance becomes %q, and the plan is %q, want %d steps", state, steps, want)
		}
	}
}

func TestSparseResponses(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{})
	b.SetSparse(true)
	svc := web()
	b.ensure(svc)
	seen := b.observe(svc)
	if got := seen.Hostname(); got == "" || got != b.network().DNSName {
		t.Errorf("AWS-API-1: without a state the host name is %q, want %q", got, b.network().DNSName)
	}
	before := b.Dump()
	b.ensure(svc)
	if diff := cmp.Diff(before, b.Dump()); diff != "" {
		t.Errorf("AWS-API-1: what is not known is written as wanted; -before +after:\n%s", diff)
	}
	b.remove(svc)
	b.empty()
}

func TestPages(t *testing.T) {
	t.Parallel()
	b := newFixture(t, sim.Options{PageSize: 1})
	var ports []kubetest.ServiceOption
	for port := range int32(4) {
		ports = append(ports, kubetest.Port(v1.ProtocolTCP, 8000+port))
	}
	svc := web(ports...)
	b.ensure(svc)
	b.upToDate(svc)
	if got := len(b.observe(svc).LoadBalancer.Listeners); got != 4 {
		t.Errorf("AWS-API-3: %d listeners, want 4", got)
	}
	b.remove(svc)
	b.empty()
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
