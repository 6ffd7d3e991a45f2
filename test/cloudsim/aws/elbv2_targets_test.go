package aws

import (
	"testing"
)

func TestTargetsAreRejectedTogether(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		spec   func(*balancing) InstanceSpec
		text   string
	}{
		"type": {"C1, M3 and so on", func(*balancing) InstanceSpec { return InstanceSpec{Type: "m3.large"} }, "} are not supported"},
		"stopped": {
			"not running", func(*balancing) InstanceSpec { return InstanceSpec{State: Stopped} },
			"The following targets are not in a running state and cannot be registered: '",
		},
		"other VPC": {"a target group has one VPC", func(k *balancing) (spec InstanceSpec) {
			other := k.Seed("other")
			spec.Subnet, spec.Groups = other.Private[other.Zones[0]], []string{other.NodeGroup}

			return spec
		}, "not in the target group VPC"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			group := k.createGroup("group", nil)
			spec := tc.spec(k)
			one, two := k.seed.AddNode(spec), k.seed.AddNode(spec)
			wantCode(t, k.register(group, k.nodes[0], one, k.nodes[1], two), "InvalidTarget", tc.text, one, two)
			if got := k.TargetGroups()[0].Targets; len(got) > 0 {
				t.Errorf("%s: a rejected call registers %v", tc.reason, got)
			}
			wantCode(t, k.register(group, k.nodes...), "")
		})
	}
}

func TestProtectedLoadBalancerStays(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	arn := k.createNet(nil)
	k.Protect("net", true)
	wantCode(t, k.deleteNet(arn), "OperationNotPermitted", "deletion protection")
	if _, found := k.Network("net"); !found {
		t.Error("a protected load balancer is deleted")
	}
	k.Protect("net", false)
	wantCode(t, k.deleteNet(arn), "")
}
