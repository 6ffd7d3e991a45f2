package aws

import (
	"context"
	"fmt"
	"strings"
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

func TestClassicCreateAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*balancing, *elb.CreateLoadBalancerInput)
		code   string
	}{
		"same": {"the call can be repeated after a lost response", func(*balancing, *elb.CreateLoadBalancerInput) {}, ""},
		"same in another order": {"lists of subnets are sets", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Subnets[0], in.Subnets[1] = in.Subnets[1], in.Subnets[0]
		}, ""},
		"other listeners": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Listeners[0].InstancePort = new(int32(30081))
		}, "DuplicateLoadBalancerName"},
		"other scheme":  {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.Scheme = new("internal") }, "DuplicateLoadBalancerName"},
		"other subnets": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.Subnets = in.Subnets[1:] }, "DuplicateLoadBalancerName"},
		"other groups": {"", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			in.SecurityGroups = []string{k.group("other")}
		}, "DuplicateLoadBalancerName"},
		"other tags": {"the load balancer of another owner", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Tags[0].Key = new("kubernetes.io/cluster/other")
		}, "DuplicateLoadBalancerName"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			first := k.createWeb(nil)
			in := k.web()
			tc.change(k, in)
			again, err := k.elb.CreateLoadBalancer(t.Context(), in)
			if got := code(err); got != tc.code {
				t.Fatalf("error code %q, want %q (%s)", got, tc.code, tc.reason)
			}
			if err == nil && *again.DNSName != *first.DNSName {
				t.Errorf("DNS name %q, want %q as before", *again.DNSName, *first.DNSName)
			}
			if classic, _ := k.LoadBalancers(); len(classic) != 1 {
				t.Errorf("load balancers %v, want one", classic)
			}
		})
	}
}

func TestClassicCreateRejected(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*balancing, *elb.CreateLoadBalancerInput)
		code   string
	}{
		"long name": {"33 characters are one too many", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.LoadBalancerName = new(strings.Repeat("a", 33))
		}, "ValidationError"},
		"invalid name": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.LoadBalancerName = new("web_1") }, "ValidationError"},
		"no listeners": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Listeners = []elbtypes.Listener{}
		}, "ValidationError"},
		"no subnets": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.Subnets = nil }, "ValidationError"},
		"zones alone": {"there is no default VPC", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Subnets, in.AvailabilityZones = nil, []string{"us-west-2a"}
		}, "InvalidConfigurationRequest"},
		"subnet on an Outpost": {"", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			in.Subnets = []string{k.AddSubnet(SubnetSpec{VPC: k.seed.VPC, Zone: "us-west-2a", CIDR: "10.0.250.0/24", Outpost: "arn:aws:outposts:us-west-2:123456789012:outpost/op-0"})}
		}, "InvalidSubnet"},
		"unknown subnet": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.Subnets[0] = "subnet-0" }, "SubnetNotFound"},
		"two subnets in a zone": {"one per zone", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			in.Subnets = append(in.Subnets, k.seed.Private["us-west-2a"])
		}, "InvalidConfigurationRequest"},
		"subnets of two VPCs": {"", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			in.Subnets[0] = k.Seed("other").Public["us-west-2a"]
		}, "InvalidSubnet"},
		"full subnet": {"eight addresses must be free", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			in.Subnets[0] = k.AddSubnet(SubnetSpec{VPC: k.seed.VPC, Zone: "us-west-2a", CIDR: "10.0.255.240/29"})
		}, "InvalidSubnet"},
		"no internet gateway": {"internet-facing needs one", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			vpc := k.AddVPC(VPCSpec{CIDR: "10.77.0.0/16"})
			in.Subnets = []string{k.AddSubnet(SubnetSpec{VPC: vpc, Zone: "us-west-2a", CIDR: "10.77.0.0/24"})}
			in.SecurityGroups = nil
		}, "InvalidSubnet"},
		"unknown group": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.SecurityGroups = []string{"sg-0"} }, "InvalidSecurityGroup"},
		"group of another VPC": {"", func(k *balancing, in *elb.CreateLoadBalancerInput) {
			in.SecurityGroups = []string{k.Seed("other").NodeGroup}
		}, "InvalidConfigurationRequest"},
		"scheme": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.Scheme = new("public") }, "InvalidScheme"},
		"tags twice": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Tags = append(in.Tags, in.Tags[0])
		}, "DuplicateTagKeys"},
		"tag of AWS": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) { in.Tags[0].Key = new("aws:x") }, "ValidationError"},
		"too many tags": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			for i := range 50 {
				in.Tags = append(in.Tags, elbtypes.Tag{Key: new(fmt.Sprint("key", i)), Value: new("")})
			}
		}, "TooManyTags"},
		"two listeners of a port": {"", func(_ *balancing, in *elb.CreateLoadBalancerInput) {
			in.Listeners = append(in.Listeners, tlsListener(80))
		}, "DuplicateListener"},
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
		"attributes of missing load balancer": {"", func(k *balancing) error {
			_, err := k.elb.DescribeLoadBalancerAttributes(k.t.Context(), &elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: none})

			return err
		}, "LoadBalancerNotFound"},
		"tags of missing load balancer": {"", func(k *balancing) error {
			_, err := k.elb.DescribeTags(k.t.Context(), &elb.DescribeTagsInput{LoadBalancerNames: []string{"nothing"}})

			return err
		}, "LoadBalancerNotFound"},
		"tags of 21": {"20 names at once", func(k *balancing) error {
			_, err := k.elb.DescribeTags(k.t.Context(), &elb.DescribeTagsInput{LoadBalancerNames: make([]string, 21)})

			return err
		}, "ValidationError"},
		"tag two": {"AddTags takes one name", func(k *balancing) error {
			k.createWeb(nil)
			_, err := k.elb.AddTags(k.t.Context(), &elb.AddTagsInput{LoadBalancerNames: []string{"web", "web"}, Tags: k.web().Tags})

			return err
		}, "ValidationError"},
		"delete missing": {"absent is success", func(k *balancing) error {
			_, err := k.elb.DeleteLoadBalancer(k.t.Context(), &elb.DeleteLoadBalancerInput{LoadBalancerName: none})

			return err
		}, ""},
		"groups empty": {"", func(k *balancing) error {
			k.createWeb(nil)
			_, err := k.elb.ApplySecurityGroupsToLoadBalancer(k.t.Context(), &elb.ApplySecurityGroupsToLoadBalancerInput{LoadBalancerName: new("web"), SecurityGroups: []string{}})

			return err
		}, "ValidationError"},
		"group unknown": {"", func(k *balancing) error {
			k.createWeb(nil)
			_, err := k.elb.ApplySecurityGroupsToLoadBalancer(k.t.Context(), &elb.ApplySecurityGroupsToLoadBalancerInput{LoadBalancerName: new("web"), SecurityGroups: []string{"sg-0"}})

			return err
		}, "InvalidSecurityGroup"},
		"unknown action": {"", func(k *balancing) error {
			_, err := k.elb.DescribeAccountLimits(k.t.Context(), &elb.DescribeAccountLimitsInput{})

			return err
		}, "InvalidAction"},
	})
}
