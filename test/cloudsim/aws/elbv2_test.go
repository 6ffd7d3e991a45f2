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
	"github.com/google/go-cmp/cmp/cmpopts"
)

func describeNet(k *balancing) elbv2types.LoadBalancer {
	k.t.Helper()
	out := ok(k, func(ctx context.Context) (*elbv2.DescribeLoadBalancersOutput, error) {
		return k.v2.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{"net"}})
	})

	return out.LoadBalancers[0]
}

func TestNetworkCreate(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	k.SetProvisioningDelay(time.Minute)
	lb := k.group("k8s-default-web-0")
	eip, address := k.AddAllocation()
	eip2, _ := k.AddAllocation()
	arn := k.createNet(func(in *elbv2.CreateLoadBalancerInput) {
		in.SubnetMappings = in.SubnetMappings[:2]
		in.SubnetMappings[0].AllocationId, in.SubnetMappings[1].AllocationId = new(eip), new(eip2)
		in.SecurityGroups = []string{lb}
	})
	if !strings.HasPrefix(arn, "arn:aws:elasticloadbalancing:us-west-2:123456789012:loadbalancer/net/net/") {
		t.Errorf("ARN is %q", arn)
	}
	wire := describeNet(k)
	if dns := *wire.DNSName; !strings.HasPrefix(dns, "net-") || !strings.HasSuffix(dns, ".elb.us-west-2.amazonaws.com") {
		t.Errorf("DNS name is %q", dns)
	}
	if wire.State.Code != elbv2types.LoadBalancerStateEnumProvisioning {
		t.Errorf("at first it is %s", wire.State.Code)
	}
	if zone := wire.AvailabilityZones[0]; *zone.SubnetId != k.public()[0] || *zone.ZoneName != "us-west-2a" || *zone.LoadBalancerAddresses[0].IpAddress != address {
		t.Errorf("the first zone is %+v", zone)
	}
	k.sleep(time.Minute)
	if state := describeNet(k).State.Code; state != elbv2types.LoadBalancerStateEnumActive {
		t.Errorf("later it is %s", state)
	}
	k.Impair("net", true)
	if state := describeNet(k).State.Code; state != elbv2types.LoadBalancerStateEnumActiveImpaired {
		t.Errorf("impaired it is %s", state)
	}
	got, found := k.Network("net")
	want := NetworkLoadBalancer{
		Name: "net", ARN: arn, DNSName: *wire.DNSName, Scheme: SchemeInternetFacing, VPC: k.seed.VPC, State: "active_impaired",
		Mappings: []SubnetMapping{
			{Subnet: k.public()[0], Zone: "us-west-2a", Allocation: eip}, {Subnet: k.public()[1], Zone: "us-west-2b", Allocation: eip2},
		},
		SecurityGroups: []string{lb}, Tags: map[string]string{"kubernetes.io/cluster/demo": "owned"},
		Attributes: defaultNetworkAttributes(SchemeInternetFacing),
	}
	if diff := cmp.Diff(want, got); diff != "" || !found {
		t.Errorf("found %v, -want +got:\n%s", found, diff)
	}
}

func TestNetworkCreateInternal(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{Region: "us-gov-west-1"})
	arn := k.createNet(func(in *elbv2.CreateLoadBalancerInput) {
		in.Scheme = elbv2types.LoadBalancerSchemeEnumInternal
		in.SubnetMappings = []elbv2types.SubnetMapping{{SubnetId: new(k.seed.Private["us-gov-west-1a"]), PrivateIPv4Address: new("10.0.100.9")}}
	})
	if !strings.HasPrefix(arn, "arn:aws-us-gov:") {
		t.Errorf("ARN is %q", arn)
	}
	enis := interfaces(k, "ELB "+strings.SplitN(arn, "loadbalancer/", 2)[1])
	if len(enis) != 1 || *enis[0].PrivateIpAddress != "10.0.100.9" || enis[0].Association != nil {
		t.Errorf("network interfaces %+v, want one with that address alone", enis)
	}
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

func TestNetworkDescribe(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{PageSize: 2})
	var names, arns []string
	for i := range 5 {
		names = append(names, fmt.Sprint("net-", i))
		arns = append(arns, k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.Name = new(names[i]) }))
	}
	var got []string
	pages := 0
	for p := elbv2.NewDescribeLoadBalancersPaginator(k.v2, &elbv2.DescribeLoadBalancersInput{}); p.HasMorePages(); pages++ {
		page := ok(k, func(ctx context.Context) (*elbv2.DescribeLoadBalancersOutput, error) { return p.NextPage(ctx) })
		for _, b := range page.LoadBalancers {
			got = append(got, *b.LoadBalancerName)
		}
	}
	if diff := cmp.Diff(names, got); diff != "" || pages != 3 {
		t.Errorf("%d pages, want 3, -want +got:\n%s", pages, diff)
	}
	for what, tc := range map[string]struct {
		in   elbv2.DescribeLoadBalancersInput
		code string
	}{
		"arn":             {elbv2.DescribeLoadBalancersInput{LoadBalancerArns: arns[:1]}, ""},
		"unknown name":    {elbv2.DescribeLoadBalancersInput{Names: []string{"net-0", "nothing"}}, "LoadBalancerNotFound"},
		"unknown arn":     {elbv2.DescribeLoadBalancersInput{LoadBalancerArns: []string{arns[0] + "0"}}, "LoadBalancerNotFound"},
		"names and arns":  {elbv2.DescribeLoadBalancersInput{Names: names[:1], LoadBalancerArns: arns[:1]}, "ValidationError"},
		"21 names":        {elbv2.DescribeLoadBalancersInput{Names: make([]string, 21)}, "ValidationError"},
		"a page of 401":   {elbv2.DescribeLoadBalancersInput{PageSize: new(int32(401))}, "ValidationError"},
		"a marker of ...": {elbv2.DescribeLoadBalancersInput{Marker: new("x")}, "ValidationError"},
	} {
		if _, err := k.v2.DescribeLoadBalancers(t.Context(), &tc.in); code(err) != tc.code {
			t.Errorf("%s: %v, want %q", what, err, tc.code)
		}
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

func TestNetworkSubnets(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	public := k.public()
	arn := k.createNet(func(in *elbv2.CreateLoadBalancerInput) { in.SubnetMappings = in.SubnetMappings[:1] })
	set := func(ids ...string) ([]string, error) {
		out, err := k.v2.SetSubnets(t.Context(), &elbv2.SetSubnetsInput{LoadBalancerArn: new(arn), Subnets: ids})
		if err != nil {
			return nil, err
		}
		var got []string
		for _, zone := range out.AvailabilityZones {
			got = append(got, *zone.SubnetId)
		}

		return got, nil
	}
	for _, ids := range [][]string{public, public[1:]} {
		if got, err := set(ids...); err != nil || !cmp.Equal(ids, got) {
			t.Errorf("set subnets %v: got %v and %v", ids, got, err)
		}
	}
	if enis := interfaces(k, "ELB "+strings.SplitN(arn, "loadbalancer/", 2)[1]); len(enis) != 2 {
		t.Errorf("%d network interfaces, want one per subnet", len(enis))
	}
	_, err := set(k.seed.Private["us-west-2b"])
	wantCode(t, err, "InvalidConfigurationRequest")
	_, err = set(k.Seed("other").Public["us-west-2c"])
	wantCode(t, err, "InvalidSubnet")
	_, err = set()
	wantCode(t, err, "ValidationError")
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

func TestNetworkTags(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	arn, group := k.createNet(nil), k.createGroup("k8s-default-web-0", nil)
	listener := k.listen(arn, group, 80)
	all := []string{arn, group, listener}
	ok(k, func(ctx context.Context) (*elbv2.AddTagsOutput, error) {
		return k.v2.AddTags(ctx, &elbv2.AddTagsInput{ResourceArns: all, Tags: []elbv2types.Tag{{Key: new("a"), Value: new("1")}, {Key: new("b"), Value: new("2")}}})
	})
	ok(k, func(ctx context.Context) (*elbv2.RemoveTagsOutput, error) {
		return k.v2.RemoveTags(ctx, &elbv2.RemoveTagsInput{ResourceArns: all[1:], TagKeys: []string{"a"}})
	})
	out := ok(k, func(ctx context.Context) (*elbv2.DescribeTagsOutput, error) {
		return k.v2.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: all})
	})
	tag := func(key, value string) elbv2types.Tag { return elbv2types.Tag{Key: new(key), Value: new(value)} }
	want := []elbv2types.TagDescription{
		{ResourceArn: new(arn), Tags: []elbv2types.Tag{tag("a", "1"), tag("b", "2"), tag("kubernetes.io/cluster/demo", "owned")}},
		{ResourceArn: new(group), Tags: []elbv2types.Tag{tag("b", "2")}},
		{ResourceArn: new(listener), Tags: []elbv2types.Tag{tag("b", "2")}},
	}
	if diff := cmp.Diff(want, out.TagDescriptions, cmpopts.IgnoreUnexported(elbv2types.TagDescription{}, elbv2types.Tag{})); diff != "" {
		t.Errorf("tags, -want +got:\n%s", diff)
	}
	var many []elbv2types.Tag
	for i := range 49 {
		many = append(many, tag(fmt.Sprint("key-", i), ""))
	}
	_, err := k.v2.AddTags(t.Context(), &elbv2.AddTagsInput{ResourceArns: []string{group, arn}, Tags: many})
	wantCode(t, err, "TooManyTags")
	if got := k.TargetGroups()[0].Tags; len(got) != 1 {
		t.Errorf("AddTags is for all resources or for none, the target group got %v", got)
	}
	for what, tc := range map[string]struct {
		arns []string
		code string
	}{
		"nothing":              {[]string{}, "ValidationError"},
		"21":                   {make([]string, 21), "ValidationError"},
		"unknown balancer":     {[]string{arn + "0"}, "LoadBalancerNotFound"},
		"unknown target group": {[]string{arn, group + "0"}, "TargetGroupNotFound"},
		"unknown listener":     {[]string{listener + "0"}, "ListenerNotFound"},
		"no ARN":               {[]string{"web"}, "ValidationError"},
	} {
		_, err := k.v2.DescribeTags(t.Context(), &elbv2.DescribeTagsInput{ResourceArns: tc.arns})
		if got := code(err); got != tc.code {
			t.Errorf("%s: error code %q, want %q", what, got, tc.code)
		}
	}
}
