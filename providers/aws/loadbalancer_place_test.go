package aws

import (
	"net/netip"
	"slices"
	"testing"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/network"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/securitygroup"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// observedSubnets are the subnets of the load balancers of these tests.
var observedSubnets = []vpc.Subnet{
	{ID: "subnet-1", CIDR: netip.MustParsePrefix("10.0.0.0/22")},
	{ID: "subnet-2", CIDR: netip.MustParsePrefix("172.16.0.0/20")},
}

// drawNetworkInput draws a Service with a network load balancer, and settings.
func drawNetworkInput(t *rapid.T) input {
	protocol := v1.ProtocolTCP
	if rapid.Bool().Draw(t, "udp") {
		protocol = v1.ProtocolUDP
	}
	options := []kubetest.ServiceOption{nlb(), kubetest.ServiceUID(webUID), kubetest.Port(protocol, 80), kubetest.Port(protocol, 443)}
	if rapid.Bool().Draw(t, "local") {
		options = append(options, kubetest.LocalTraffic(32000))
	}
	optional := func(name string, values ...string) string {
		return rapid.SampledFrom(append(values, "")).Draw(t, name)
	}
	if port := optional("health check port", request.TrafficPort, "10256", "30080"); port != "" {
		options = append(options, annotate(request.AnnotationHealthCheckPort, port))
	}
	if value := optional("attributes", "preserve_client_ip.enabled=true", "preserve_client_ip.enabled=false", "proxy_protocol_v2.enabled=true"); value != "" {
		options = append(options, annotate(request.AnnotationTargetGroupAttributes, value))
	}
	ranges := []string{"0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/22", "192.0.2.0/24", "::/0", "2001:db8::/32"}
	svc := kubetest.Service("default", "web", options...)
	svc.Spec.LoadBalancerSourceRanges = rapid.SliceOfNDistinct(rapid.SampledFrom(ranges), 0, 3, rapid.ID).Draw(t, "ranges")
	config := request.Config{
		Cluster: cluster.ID{Name: demo}, VPC: "vpc-1", SharedProbePort: 10256, SharedProbePath: "/healthz",
		SharedProbe: rapid.Bool().Draw(t, "shared"),
	}
	r, _, err := request.New(svc, nil, config)
	if err != nil {
		t.Skip("request parsing refuses the drawn Service, another one is drawn:", err)
	}

	return input{config: config, service: svc, request: r}
}

// What is not read about a network load balancer changes nothing about the rules of
// the nodes.
func TestRulesOfNodesNeedOnlyWhatIsRead(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawNetworkInput(t)
		full := observedFully(t, in)
		seen := *full
		if !subnetsMatter(in.request, in.config) {
			seen.NetworkSubnets = nil
		}
		if !attributesMatter(in.request, in.config) {
			without := *full.Network
			without.TargetGroups = slices.Clone(without.TargetGroups)
			for i := range without.TargetGroups {
				without.TargetGroups[i].Attributes = nil
			}
			seen.Network = &without
		}
		if diff := cmp.Diff(rulesOf(t, in, full), rulesOf(t, in, &seen)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// The subnets of a load balancer are read for some Services only.
func TestSubnetsAreReadWhereTheyMatter(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason  string
		ranges  []string
		options []kubetest.ServiceOption
		want    bool
	}{
		"OpenToAll":  {"the rule for all clients includes the health checks", nil, []kubetest.ServiceOption{kubetest.Port(v1.ProtocolTCP, 80)}, false},
		"Restricted": {"health checks come from the subnets", []string{"192.0.2.0/24"}, []kubetest.ServiceOption{kubetest.Port(v1.ProtocolTCP, 80)}, true},
		"UDP":        {"health checks do not use UDP", nil, []kubetest.ServiceOption{kubetest.Port(v1.ProtocolUDP, 80)}, true},
		"OtherPort": {
			"health checks use a port that no client does", nil,
			[]kubetest.ServiceOption{kubetest.Port(v1.ProtocolTCP, 80), annotate(request.AnnotationHealthCheckPort, "10256")},
			true,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			svc := kubetest.Service("default", "web", append(tc.options, nlb(), kubetest.ServiceUID(webUID))...)
			svc.Spec.LoadBalancerSourceRanges = tc.ranges
			config := request.Config{Cluster: cluster.ID{Name: demo}, VPC: "vpc-1"}
			r, _, err := request.New(svc, nil, config)
			if err != nil {
				t.Fatal(err)
			}
			if got := subnetsMatter(r, config); got != tc.want {
				t.Errorf("%s: subnets are read: %t", tc.reason, got)
			}
		})
	}
}

// observedFully returns an observation of the load balancer of a Service, with all
// that can be read about it.
func observedFully(t *rapid.T, in input) *observed {
	facts := request.Facts{Config: in.config, Subnets: observedSubnets}
	model, _, err := network.Build(in.request, facts)
	if err != nil {
		t.Skip("request parsing refuses the drawn Service, another one is drawn:", err)
	}
	full := &observed{Facts: facts, NetworkSubnets: observedSubnets, Network: &network.Observed{
		Name: in.request.Name, Service: in.request.Service, Cluster: in.config.Cluster,
		LoadBalancer: &network.LoadBalancer{ARN: "arn", Type: elbv2types.LoadBalancerTypeEnumNetwork, Tags: in.request.AllTags(in.config.Cluster)},
	}}
	preserved := []string{"true", "false"}
	if model.Listeners[0].Transport() == "udp" {
		// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/edit-target-group-attributes.html
		preserved = []string{"true"} // it cannot be disabled
	}
	for i := range model.Listeners {
		full.Network.TargetGroups = append(full.Network.TargetGroups, network.GroupState{
			Name:       model.Listeners[i].TargetGroup.Name,
			Attributes: map[string]string{request.PreserveClientIP: rapid.SampledFrom(preserved).Draw(t, "preserved")},
		})
	}
	if !full.hasNetwork() {
		t.Fatal("the load balancer is not that of the Service")
	}

	return full
}

func rulesOf(t *rapid.T, in input, o *observed) securitygroup.Rules {
	d := &desired{}
	if err := d.buildNetwork(in, o, o.Facts); err != nil {
		t.Skip("request parsing refuses the drawn Service, another one is drawn:", err)
	}

	return d.Nodes.Rules
}
