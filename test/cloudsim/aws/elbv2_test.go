package aws

import (
	"context"
	"fmt"
	"strings"
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

func TestNetworkCreateAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*balancing, *elbv2.CreateLoadBalancerInput)
		code   string
	}{
		"same": {"the call can be repeated after a lost response", func(*balancing, *elbv2.CreateLoadBalancerInput) {}, ""},
		"other scheme": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.Scheme = elbv2types.LoadBalancerSchemeEnumInternal
		}, "DuplicateLoadBalancerName"},
		"other subnets": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.SubnetMappings = in.SubnetMappings[1:]
		}, "DuplicateLoadBalancerName"},
		"other groups": {"", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.SecurityGroups = []string{k.group("other")}
		}, "DuplicateLoadBalancerName"},
		"other tags": {"the load balancer of another owner", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.Tags = nil }, "DuplicateLoadBalancerName"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			arn := k.createNet(nil)
			in := k.net()
			tc.change(k, in)
			again, err := k.v2.CreateLoadBalancer(t.Context(), in)
			if got := code(err); got != tc.code {
				t.Fatalf("error code %q, want %q (%s)", got, tc.code, tc.reason)
			}
			if err == nil && *again.LoadBalancers[0].LoadBalancerArn != arn {
				t.Errorf("ARN %q, want %q as before", *again.LoadBalancers[0].LoadBalancerArn, arn)
			}
		})
	}
}

func TestNetworkCreateRejected(t *testing.T) {
	t.Parallel()
	internal := elbv2types.LoadBalancerSchemeEnumInternal
	cases := map[string]struct {
		reason string
		change func(*balancing, *elbv2.CreateLoadBalancerInput)
		code   string
	}{
		"long name":  {"33 characters are one too many", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.Name = new(strings.Repeat("a", 33)) }, "ValidationError"},
		"name":       {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.Name = new("internal-web") }, "ValidationError"},
		"type":       {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.Type = "" }, "ValidationError"},
		"scheme":     {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.Scheme = "public" }, "InvalidScheme"},
		"dualstack":  {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.IpAddressType = "dualstack" }, "InvalidConfigurationRequest"},
		"no subnets": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.SubnetMappings = nil }, "ValidationError"},
		"subnets twice": {"subnets or mappings, not both", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.Subnets = k.public()
		}, "ValidationError"},
		"unknown subnet": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.SubnetMappings[0].SubnetId = new("subnet-0") }, "SubnetNotFound"},
		"two subnets in a zone": {"one per zone", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.SubnetMappings = append(in.SubnetMappings, elbv2types.SubnetMapping{SubnetId: new(k.seed.Private["us-west-2a"])})
		}, "InvalidConfigurationRequest"},
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
		"internal allocation": {"", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			eip, _ := k.AddAllocation()
			in.Scheme, in.SubnetMappings = internal, in.SubnetMappings[:1]
			in.SubnetMappings[0].AllocationId = new(eip)
		}, "InvalidConfigurationRequest"},
		"public private address": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.SubnetMappings[0].PrivateIPv4Address = new("10.0.0.9")
		}, "InvalidConfigurationRequest"},
		"foreign private address": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.Scheme, in.SubnetMappings[0].PrivateIPv4Address = internal, new("10.9.0.9")
		}, "InvalidConfigurationRequest"},
		"private address in use": {"", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			in.Scheme, in.SubnetMappings[0].PrivateIPv4Address = internal, new("10.0.0.9")
			k.createNet(func(first *elbv2.CreateLoadBalancerInput) {
				first.Name, first.Scheme, first.SubnetMappings = new("first"), internal, in.SubnetMappings
			})
		}, "InvalidConfigurationRequest"},
		"unknown group": {"", func(_ *balancing, in *elbv2.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-0"} }, "InvalidSecurityGroup"},
		"six groups": {"", func(k *balancing, in *elbv2.CreateLoadBalancerInput) {
			for i := range 6 {
				in.SecurityGroups = append(in.SecurityGroups, k.group(fmt.Sprint("group-", i)))
			}
		}, "InvalidConfigurationRequest"},
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

func TestNetworkAttributes(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	arn := k.createNet(nil)
	modify := func(pairs ...string) error {
		in := &elbv2.ModifyLoadBalancerAttributesInput{LoadBalancerArn: new(arn), Attributes: []elbv2types.LoadBalancerAttribute{}}
		for i := 0; i < len(pairs); i += 2 {
			in.Attributes = append(in.Attributes, elbv2types.LoadBalancerAttribute{Key: new(pairs[i]), Value: new(pairs[i+1])})
		}
		_, err := k.v2.ModifyLoadBalancerAttributes(t.Context(), in)

		return err
	}
	wantCode(t, modify(), "ValidationError")
	wantCode(t, modify("idle_timeout.timeout_seconds", "60"), "ValidationError", "not recognized")
	wantCode(t, modify("load_balancing.cross_zone.enabled", "yes"), "ValidationError")
	wantCode(t, modify("load_balancing.cross_zone.enabled", "true", "load_balancing.cross_zone.enabled", "true"), "ValidationError")
	wantCode(t, modify("access_logs.s3.enabled", "true"), "InvalidConfigurationRequest", "access_logs.s3.bucket")
	wantCode(t, modify("access_logs.s3.enabled", "true", "access_logs.s3.bucket", "logs", "access_logs.s3.prefix", "net"), "")
	wantCode(t, modify("load_balancing.cross_zone.enabled", "true", "deletion_protection.enabled", "true"), "")
	wantCode(t, k.deleteNet(arn), "OperationNotPermitted")
	wantCode(t, modify("deletion_protection.enabled", "false"), "")

	out := ok(k, func(ctx context.Context) (*elbv2.DescribeLoadBalancerAttributesOutput, error) {
		return k.v2.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: new(arn)})
	})
	got := make(map[string]string)
	for _, attribute := range out.Attributes {
		got[*attribute.Key] = *attribute.Value
	}
	want := defaultNetworkAttributes(SchemeInternetFacing)
	want["access_logs.s3.enabled"], want["access_logs.s3.bucket"], want["access_logs.s3.prefix"] = "true", "logs", "net"
	want["load_balancing.cross_zone.enabled"] = "true"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("attributes, -want +got:\n%s", diff)
	}
	wantCode(t, k.deleteNet(arn), "")
}
