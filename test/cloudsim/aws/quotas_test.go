package aws

import (
	"slices"
	"testing"

	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// registerAll registers instances as their number demands, and returns the first
// error.
func (k *balancing) registerAll(group string, ids []string) error {
	k.t.Helper()
	for chunk := range slices.Chunk(ids, targetsPerCall) {
		if err := k.register(group, chunk...); err != nil {
			return err
		}
	}

	return nil
}

// nodesIn makes running instances in one zone.
func (k *balancing) nodesIn(zone string, n int) []string {
	ids := make([]string, 0, n)
	for range n {
		var spec InstanceSpec
		spec.Subnet = k.seed.Private[zone]
		ids = append(ids, k.seed.AddNode(spec))
	}

	return ids
}

func (k *balancing) setCrossZone(balancer, value string) error {
	_, err := k.v2.ModifyLoadBalancerAttributes(k.t.Context(), &elbv2.ModifyLoadBalancerAttributesInput{
		LoadBalancerArn: new(balancer),
		Attributes:      []elbv2types.LoadBalancerAttribute{{Key: new("load_balancing.cross_zone.enabled"), Value: new(value)}},
	})

	return err
}

func TestTargetsPerZone(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	a, b := k.seed.Zones[0], k.seed.Zones[1]
	inA, inB := k.nodesIn(a, 251), k.nodesIn(b, 250)
	balancer := k.createNet(nil)
	first, second := k.createGroup("first", nil), k.createGroup("second", nil)
	k.listen(balancer, first, 80)
	k.listen(balancer, second, 81)
	wantCode(t, k.registerAll(first, slices.Concat(inA[:250], inB[:100])), "")
	wantCode(t, k.registerAll(second, inA[:250]), "")
	wantCode(t, k.register(first, inA[250]), "TooManyTargets", a)
	wantCode(t, k.register(first, inB[100]), "") // another zone
	wantCode(t, k.register(first, inA[0]), "")   // already there
	wantCode(t, k.register(second, inB[0], inA[250]), "TooManyTargets")
	if got := len(k.TargetGroups()[1].Targets); got != 250 {
		t.Errorf("a rejected call changed the targets: %d, want 250", got)
	}
	wantCode(t, k.setCrossZone(balancer, "true"), "InvalidConfigurationRequest")
	wantCode(t, k.deregister(first, append(slices.Clone(inB[:90]), inA[:10]...)...), "")
	wantCode(t, k.deregister(first, inB[90:101]...), "")
	wantCode(t, k.setCrossZone(balancer, "true"), "")
	wantCode(t, k.register(first, inB[0:10]...), "")
	wantCode(t, k.register(first, inB[10]), "TooManyTargets", "cross-zone")
}

func TestTargetsPerLoadBalancer(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.SetQuotas(Quotas{LoadBalancerTargets: 4, Targets: 3})
	balancer := k.createNet(nil)
	first, second, third := k.createGroup("first", nil), k.createGroup("second", nil), k.createGroup("third", nil)
	wantCode(t, k.register(first, k.nodes...), "")
	wantCode(t, k.register(first, k.seed.AddNodes(1)...), "TooManyTargets", "per target group")
	k.listen(balancer, first, 80)
	listener := k.listen(balancer, second, 81)
	wantCode(t, k.register(second, k.nodes[:2]...), "TooManyTargets", "per load balancer")
	wantCode(t, k.register(second, k.nodes[0]), "")
	wantCode(t, k.register(third, k.nodes[:2]...), "") // of no load balancer yet
	_, err := k.v2.CreateListener(t.Context(), listenerInput(balancer, third, 82))
	wantCode(t, err, "TooManyTargets")
	_, err = k.v2.ModifyListener(t.Context(), &elbv2.ModifyListenerInput{
		ListenerArn: new(listener), DefaultActions: listenerInput(balancer, third, 81).DefaultActions,
	})
	wantCode(t, err, "TooManyTargets")
	wantCode(t, k.deregister(third, k.nodes[0]), "")
	_, err = k.v2.ModifyListener(t.Context(), &elbv2.ModifyListenerInput{
		ListenerArn: new(listener), DefaultActions: listenerInput(balancer, third, 81).DefaultActions,
	})
	wantCode(t, err, "")
}
