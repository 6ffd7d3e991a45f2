package aws

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"
)

func describeNet(k *balancing) elbv2types.LoadBalancer {
	k.t.Helper()
	out := ok(k, func(ctx context.Context) (*elbv2.DescribeLoadBalancersOutput, error) {
		return k.v2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{"net"}})
	})

	return out.LoadBalancers[0]
}

func TestNetworkCreateRejected(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*balancing, *elbv2.CreateLoadBalancerInput)
		code   string
	}{
		"dualstack": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.IpAddressType = "dualstack" }, "InvalidConfigurationRequest"},
		"unknown allocation": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.SubnetMappings = in.SubnetMappings[:1]
			in.SubnetMappings[0].AllocationId = new("eipalloc-0")
		}, "AllocationIdNotFound"},
		"allocation in use": {"", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			eip, _ := k.AddAllocation()
			in.SubnetMappings = in.SubnetMappings[:1]
			in.SubnetMappings[0].AllocationId = new(eip)
			k.createNet(func(first *elbv2.CreateLoadBalancerInput) {
				first.Name, first.SubnetMappings = new("first"), in.SubnetMappings
			})
		}, "ResourceInUse"},
		"one allocation": {"all subnets or none", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			eip, _ := k.AddAllocation()
			in.SubnetMappings[0].AllocationId = new(eip)
		}, "InvalidConfigurationRequest"},
		"unknown group": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-0"} }, "InvalidSecurityGroup"},
		"quota": {"", func(k *balancing, _ *elbv2.CreateLoadBalancerInput) {
			k.SetQuotas(Quotas{NetworkLoadBalancers: 1})
			k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.Name = new("first") })
		}, "TooManyLoadBalancers"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			in := k.net()
			tc.change(k, in)
			before := k.Dump()
			_, err := k.v2.CreateLoadBalancer(t.Context(), in)
			if got := code(err); got != tc.code {
				t.Errorf("error code %q, want %q (%s): %v", got, tc.code, tc.reason, err)
			}
			if diff := cmp.Diff(before, k.Dump()); diff != "" {
				t.Errorf("a rejected call left resources:\n%s", diff)
			}
		})
	}
}

func TestNetworkGroups(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.SetDeletionDelay(time.Minute)
	first, second := k.group("first"), k.group("second")
	arn := k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.SecurityGroups = []string{first} })
	bare := k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.Name = new("bare") })
	set := func(arn string, groups ...string) error {
		_, err := k.v2.SetSecurityGroups(t.Context(), &elbv2.SetSecurityGroupsInput{LoadBalancerArn: new(arn), SecurityGroups: append([]string{}, groups...)})

		return err
	}
	remove := func(group string) error {
		_, err := k.ec2.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: new(group)})

		return err
	}
	wantCode(t, set(bare, first), "InvalidConfigurationRequest", "created without any security groups")
	wantCode(t, set(arn), "InvalidConfigurationRequest")
	wantCode(t, set(arn, "sg-0"), "InvalidSecurityGroup")
	wantCode(t, set(arn+"0", first), "LoadBalancerNotFound")
	wantCode(t, set("arn:aws:s3:::bucket", first), "ValidationError")
	wantCode(t, remove(first), "DependencyViolation")
	wantCode(t, set(arn, second), "")
	wantCode(t, remove(first), "")
	if diff := cmp.Diff([]string{second}, describeNet(k).SecurityGroups); diff != "" {
		t.Errorf("groups, -want +got:\n%s", diff)
	}
	wantCode(t, k.deleteNet(arn), "")
	wantCode(t, remove(second), "DependencyViolation")
	k.sleep(time.Minute)
	wantCode(t, remove(second), "")
	wantCode(t, k.deleteNet(arn), "")
}

func (k *balancing) deleteNet(arn string) error {
	_, err := k.v2.DeleteLoadBalancer(k.t.Context(), &elbv2.DeleteLoadBalancerInput{LoadBalancerArn: new(arn)})

	return err
}
