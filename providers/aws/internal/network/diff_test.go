package network

import (
	"testing"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/test/golden"
)

// TestPlans compares the plan of each case in testdata/plans with the wanted one: the
// steps for what a Service specifies, if there is one, over what there is (observed),
// with two subnets and the nodes i-1 and i-2. The part groups has the security groups
// in mode Managed. With -update it rewrites the plans.
func TestPlans(t *testing.T) {
	t.Parallel()
	golden.RunPlans(t, *update, []string{"groups", "observed"}, func(t *testing.T, spec []byte, c golden.Case) string {
		t.Helper()
		var seen Observed
		golden.Decode(t, c.Parts["observed"], &seen)

		return planFor(planned(t, spec, c.Parts["groups"]), &seen).String()
	})
}

// planned is the model of a case, nil without a Service.
func planned(t *testing.T, spec, groups []byte) *Model {
	t.Helper()
	if spec == nil {
		return nil
	}
	var svc v1.Service
	golden.Decode(t, spec, &svc)
	facts := baseFacts()
	golden.Decode(t, groups, &facts.SecurityGroups)
	facts.Config.ManagedNetworkGroups = groups != nil
	var nodes []*v1.Node
	for _, id := range []string{"i-1", "i-2"} {
		nodes = append(nodes, kubetest.Node(id, kubetest.ProviderID("aws:///us-west-2a/"+id)))
	}
	r, _, err := request.New(&svc, nodes, facts.Config)
	if err != nil {
		t.Fatal(err)
	}
	model, _, err := Build(r, facts)
	if err != nil {
		t.Fatal(err)
	}

	return model
}

func TestFixed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reason string
		change func(*Model, *LoadBalancer)
		want   []service.Reason
	}{
		"the same": {reason: "nothing to report", change: func(*Model, *LoadBalancer) {}},
		"scheme": {
			reason: "AWS-LB-15: the change is not ignored silently",
			change: func(m *Model, _ *LoadBalancer) { m.Internal = true },
			want:   []service.Reason{SchemeFixed},
		},
		"scheme unknown": {
			reason: "AWS-API-1: what is not known is no change", change: func(m *Model, lb *LoadBalancer) { m.Internal, lb.Scheme = true, "" },
		},
		"subnets": {
			reason: "AWS-NLB-5: a load balancer stays in its subnets",
			change: func(m *Model, _ *LoadBalancer) { m.Annotated.Subnets, m.Mappings[0].Subnet = true, "subnet-c" },
			want:   []service.Reason{SubnetsFixed},
		},
		"subnets in another order": {
			reason: "AWS sorts them",
			change: func(m *Model, _ *LoadBalancer) {
				m.Annotated.Subnets = true
				m.Mappings[0], m.Mappings[1] = m.Mappings[1], m.Mappings[0]
			},
		},
		"discovered subnets": {
			reason: "they are not annotated",
			change: func(m *Model, _ *LoadBalancer) { m.Mappings[0].Subnet = "subnet-c" },
		},
		"subnets that were not chosen": {
			reason: "a load balancer that is there needs none",
			change: func(m *Model, _ *LoadBalancer) { m.Annotated.Subnets, m.Mappings = true, nil },
		},
		"elastic IPs": {
			reason: "AWS-NLB-5: a load balancer keeps its addresses",
			change: func(m *Model, lb *LoadBalancer) {
				m.Annotated.EIPAllocations = true
				m.Mappings[0].Allocation, m.Mappings[1].Allocation = "eipalloc-1", "eipalloc-2"
				lb.Mappings[0].Allocation, lb.Mappings[1].Allocation = "eipalloc-1", "eipalloc-3"
			},
			want: []service.Reason{AddressesFixed},
		},
		"private addresses": {
			reason: "AWS-NLB-5: a load balancer keeps its addresses",
			change: func(m *Model, _ *LoadBalancer) {
				m.Annotated.PrivateIPv4Addresses = true
				m.Mappings[0].PrivateIPv4 = "10.0.0.4"
			},
			want: []service.Reason{AddressesFixed},
		},
		"security groups": {
			reason: "AWS cannot add them later",
			change: func(m *Model, _ *LoadBalancer) { m.Annotated.SecurityGroups = true },
			want:   []service.Reason{SecurityGroupsFixed},
		},
		"foreign": {
			reason: "AWS-CLUSTER-7: that is another error",
			change: func(m *Model, lb *LoadBalancer) {
				m.Internal = true
				lb.Tags = map[string]string{"kubernetes.io/cluster/other": "owned"}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model, _, err := Build(baseRequest(), baseFacts())
			if err != nil {
				t.Fatal(err)
			}
			seen := &Observed{Name: lbName, Cluster: model.Cluster, LoadBalancer: &LoadBalancer{
				Scheme: "internet-facing", Mappings: []Mapping{{Subnet: "subnet-a"}, {Subnet: "subnet-b"}},
			}}
			c.change(model, seen.LoadBalancer)
			var got []service.Reason
			for _, warning := range Fixed(model, seen) {
				got = append(got, warning.Reason)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
		})
	}
	if warnings := Fixed(nil, &Observed{}); warnings != nil {
		t.Errorf("nothing wanted returns %v", warnings)
	}
}

// The target groups of Diff are those that its steps leave the listeners with.
func TestTargetGroupsOfListeners(t *testing.T) {
	t.Parallel()
	want := TargetGroup{Name: "k8s-a", Spare: "k8s-a-spare", Protocol: "TCP", Port: 30080}
	group := func(name string, protocol elbv2types.ProtocolEnum) GroupState {
		return GroupState{Name: name, ARN: "arn-" + name, Protocol: protocol, Port: 30080, Owned: true}
	}
	listener := func(protocol elbv2types.ProtocolEnum, group string) []ListenerState {
		return []ListenerState{{ARN: "l-443", Port: 443, Protocol: protocol, TargetGroup: "arn-" + group}}
	}
	for name, test := range map[string]struct {
		reason    string
		listeners []ListenerState
		groups    []GroupState
		created   string // by the plan
		want      []GroupState
	}{
		"created": {
			reason: "there is none yet", created: "k8s-a",
			want: []GroupState{{Name: "k8s-a", ARN: "arn-new", Port: 30080}},
		},
		"current": {
			reason: "it is kept although another one has the name", listeners: listener("TLS", "old"),
			groups: []GroupState{group("k8s-a", "TCP"), group("old", "TCP")},
			want:   []GroupState{{Name: "old", ARN: "arn-old", Port: 30080}},
		},
		"current, another protocol of the listener": {
			reason: "the protocol changes in place, the target group stays", listeners: listener("TCP", "old"),
			groups: []GroupState{group("k8s-a", "TCP"), group("old", "TCP")},
			want:   []GroupState{{Name: "old", ARN: "arn-old", Port: 30080}},
		},
		"spare": {
			reason: "an interrupted run has created it", groups: []GroupState{group("k8s-a-spare", "TCP")},
			want: []GroupState{{Name: "k8s-a-spare", ARN: "arn-k8s-a-spare", Port: 30080}},
		},
		"replaced": {
			reason: "the current one cannot become as wanted", created: "k8s-a", listeners: listener("TLS", "old"),
			groups: []GroupState{group("old", "TLS")},
			want:   []GroupState{{Name: "k8s-a", ARN: "arn-new", Port: 30080}},
		},
		"not created": {reason: "what is not known is looked for"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &Model{Name: lbName, Listeners: []Listener{{Port: 443, Protocol: "TLS", TargetGroup: want}}}
			_, refs := Diff(m, &Observed{
				Name: lbName, TargetGroups: test.groups, LoadBalancer: &LoadBalancer{ARN: "arn", Listeners: test.listeners},
			})
			var ids plan.IDs
			if test.created != "" {
				ids.Set(targetGroupKey(test.created), "arn-new")
			}
			if diff := cmp.Diff(test.want, Resolve(refs, &ids)); diff != "" {
				t.Errorf("%s: -want +got\n%s", test.reason, diff)
			}
		})
	}
}
