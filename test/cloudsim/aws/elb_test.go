package aws

import (
	"context"
	"testing"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"github.com/google/go-cmp/cmp"
)

func describeWeb(k *balancing) elbtypes.LoadBalancerDescription {
	k.t.Helper()
	out := ok(k, func(ctx context.Context) (*elb.DescribeLoadBalancersOutput, error) {
		return k.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"web"}})
	})

	return out.LoadBalancerDescriptions[0]
}

func TestClassicCreateRejected(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*balancing, *elb.CreateLoadBalancerInput)
		code   string
	}{
		"unknown subnet": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.Subnets[0] = "subnet-0" }, "SubnetNotFound"},
		"two subnets in a zone": {"one per zone", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			in.Subnets = append(in.Subnets, k.seed.Private["us-west-2a"])
		}, "InvalidConfigurationRequest"},
		"unknown group": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-0"} }, "InvalidSecurityGroup"},
		"tags twice": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Tags = append(in.Tags, in.Tags[0])
		}, "DuplicateTagKeys"},
		"quota": {"", func(k *balancing, _ *elb.CreateLoadBalancerInput) {
			k.SetQuotas(Quotas{ClassicLoadBalancers: 1})
			k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.LoadBalancerName = new("first") })
		}, "TooManyLoadBalancers"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			in := k.web()
			tc.change(k, in)
			before := k.Dump()
			_, err := k.elb.CreateLoadBalancer(t.Context(), in)
			if got := code(err); got != tc.code {
				t.Errorf("error code %q, want %q (%s)", got, tc.code, tc.reason)
			}
			if diff := cmp.Diff(before, k.Dump()); diff != "" {
				t.Errorf("a rejected call left resources:\n%s", diff)
			}
		})
	}
}

func TestClassicOperationRejected(t *testing.T) {
	t.Parallel()
	none := new("nothing")
	rejected(t, map[string]rejection{
		"listeners of missing load balancer": {"", func(k *balancing) error {
			_, err := k.elb.CreateLoadBalancerListeners(k.t.Context(), &elb.CreateLoadBalancerListenersInput{LoadBalancerName: none, Listeners: k.web().Listeners})

			return err
		}, "LoadBalancerNotFound"},
		"delete missing": {"absent is success", func(k *balancing) error {
			_, err := k.elb.DeleteLoadBalancer(k.t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: none})

			return err
		}, ""},
		"unknown action": {"", func(k *balancing) error {
			_, err := k.elb.DescribeAccountLimits(k.t.Context(), &elb.DescribeAccountLimitsInput{})

			return err
		}, "InvalidAction"},
	})
}
