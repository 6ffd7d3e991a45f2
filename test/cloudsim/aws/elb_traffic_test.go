package aws

import (
	"context"
	"strings"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

func TestBlockedTrafficClassic(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	lb := k.group("k8s-elb-web")
	k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{lb} })
	ok(k, func(ctx context.Context) (*elb.RegisterInstancesWithLoadBalancerOutput, error) {
		return k.elb.RegisterInstancesWithLoadBalancer(ctx, &elb.RegisterInstancesWithLoadBalancerInput{
			LoadBalancerName: new("web"), Instances: []elbtypes.Instance{{InstanceId: new(k.nodes[0])}},
		})
	})
	want := []string{
		"load balancer: traffic tcp 80 from 0.0.0.0/0",
		"node-1: health check tcp 30080 from load balancer",
		"node-1: traffic tcp 30080 from load balancer",
	}
	if diff := cmp.Diff(want, k.BlockedTraffic("web", "0.0.0.0/0")); diff != "" {
		t.Errorf("without rules, -want +got:\n%s", diff)
	}
	k.AddRule(lb, Rule{Protocol: "tcp", From: 80, To: 80, Source: "10.0.0.0/8"})
	k.AddRule(k.seed.NodeGroup, Rule{Protocol: "-1", Source: lb})
	if got := k.BlockedTraffic("web", "10.1.0.0/16"); len(got) != 0 {
		t.Errorf("with the rules still missing: %v", got)
	}
	if diff := cmp.Diff(want[:1], k.BlockedTraffic("web", "10.1.0.0/16", "0.0.0.0/0")); diff != "" {
		t.Errorf("from anywhere, -want +got:\n%s", diff)
	}
}

func TestBlockedTrafficNetwork(t *testing.T) {
	t.Parallel()
	subnets := func(port int32) []Rule {
		var rules []Rule
		for _, cidr := range []string{"10.0.0.0/22", "10.0.4.0/22", "10.0.8.0/22"} {
			rules = append(rules, Rule{Protocol: "tcp", From: port, To: port, Source: cidr, Description: "kubernetes.io/rule/nlb/health=net"})
		}

		return rules
	}
	client := Rule{Protocol: "tcp", From: 30080, To: 30080, Source: "203.0.113.0/24", Description: "kubernetes.io/rule/nlb/client=net"}
	anywhere := client
	anywhere.Source = "0.0.0.0/0"
	cases := map[string]struct {
		reason   string
		local    bool
		rewrites bool // preserve_client_ip.enabled=false
		rules    []Rule
		want     []string
	}{
		"none":               {"", false, false, nil, []string{"health check tcp 30080 from load balancer", "traffic tcp 30080 from 203.0.113.0/24"}},
		"client and subnets": {"all that is needed", false, false, append(subnets(30080), client), nil},
		"client alone":       {"health checks come from the subnets", false, false, []Rule{client}, []string{"health check tcp 30080 from load balancer"}},
		"anywhere":           {"health rules can be omitted", false, false, []Rule{anywhere}, nil},
		"two subnets":        {"the third zone is cut off", false, false, append(subnets(30080)[:2], client), []string{"health check tcp 30080 from load balancer"}},
		"local":              {"the health check port", true, false, []Rule{client}, []string{"health check tcp 32000 from load balancer"}},
		"local complete":     {"", true, false, append(subnets(32000), client), nil},
		"local with rewritten addresses": {
			"traffic comes from the load balancer too", true, true, append(subnets(32000), client),
			[]string{"traffic tcp 30080 from load balancer"},
		},
		"local with rewritten addresses complete": {"the subnets may use both ports", true, true, append(subnets(32000), subnets(30080)...), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			group := k.createGroup("group", func(in *elbv2.CreateTargetGroupInput) {
				if tc.local {
					local(in)
				}
			})
			k.listen(k.createNet(nil), group, 80)
			if tc.rewrites {
				ok(k, func(ctx context.Context) (*elbv2.ModifyTargetGroupAttributesOutput, error) {
					return k.v2.ModifyTargetGroupAttributes(ctx, &elbv2.ModifyTargetGroupAttributesInput{
						TargetGroupArn: new(group), Attributes: []elbv2types.TargetGroupAttribute{{Key: new("preserve_client_ip.enabled"), Value: new("false")}},
					})
				})
			}
			wantCode(t, k.register(group, k.nodes[0]), "")
			for _, rule := range tc.rules {
				k.AddRule(k.seed.NodeGroup, rule)
			}
			var got []string
			for _, line := range k.BlockedTraffic("net", "203.0.113.0/24") {
				got = append(got, strings.TrimPrefix(line, "node-1: "))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s, -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBlockedTrafficUDP(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	group := k.createGroup("dns", func(in *elbv2.CreateTargetGroupInput) { in.Protocol = elbv2types.ProtocolEnumTcpUdp })
	in := listenerInput(k.createNet(nil), group, 53)
	in.Protocol = elbv2types.ProtocolEnumUdp
	ok(k, func(ctx context.Context) (*elbv2.CreateListenerOutput, error) { return k.v2.CreateListener(ctx, in) })
	wantCode(t, k.register(group, k.nodes[0]), "")
	k.AddRule(k.seed.NodeGroup, Rule{Protocol: "udp", From: 30080, To: 30080, Source: "0.0.0.0/0"})
	want := []string{"node-1: health check tcp 30080 from load balancer"}
	if diff := cmp.Diff(want, k.BlockedTraffic("net", "0.0.0.0/0")); diff != "" {
		t.Errorf("a TCP probe of a UDP port, -want +got:\n%s", diff)
	}
}

func TestBlockedTrafficNetworkWithGroups(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	lb := k.group("managed")
	group := k.createGroup("group", nil)
	k.listen(k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.SecurityGroups = []string{lb} }), group, 80)
	wantCode(t, k.register(group, k.nodes[0]), "")
	k.AddRule(k.seed.NodeGroup, Rule{Protocol: "tcp", From: 30000, To: 32767, Source: lb})
	if diff := cmp.Diff([]string{"load balancer: traffic tcp 80 from any client"}, k.BlockedTraffic("net")); diff != "" {
		t.Errorf("the load balancer's own group, -want +got:\n%s", diff)
	}
	k.AddRule(lb, Rule{Protocol: "tcp", From: 80, To: 80, Source: "0.0.0.0/0"})
	if got := k.BlockedTraffic("net", "198.51.100.0/24"); len(got) != 0 {
		t.Errorf("still missing: %v", got)
	}
}
