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

func TestClassicCreate(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	lb := k.group("k8s-elb-web")
	out := k.createWeb(func(in *elb.CreateLoadBalancerInput) {
		in.SecurityGroups = []string{lb}
		in.Listeners = append(in.Listeners, tlsListener(443))
	})
	if dns := *out.DNSName; !strings.HasPrefix(dns, "web-") || !strings.HasSuffix(dns, ".us-west-2.elb.amazonaws.com") {
		t.Errorf("DNS name is %q", dns)
	}
	got, found := k.Classic("web")
	want := ClassicLoadBalancer{
		Name: "web", DNSName: *out.DNSName, Scheme: SchemeInternetFacing, VPC: k.seed.VPC, Subnets: k.public(), Zones: k.seed.Zones,
		SecurityGroups: []string{lb},
		Listeners: []ClassicListener{
			{Port: 80, Protocol: "TCP", InstancePort: 30080, InstanceProtocol: "TCP"},
			{Port: 443, Protocol: "SSL", InstancePort: 30443, InstanceProtocol: "TCP", Certificate: testCertificate, Policies: []string{"ELBSecurityPolicy-2016-08"}},
		},
		HealthCheck: ClassicHealthCheck{Target: "TCP:30080", Interval: 30, Timeout: 5, HealthyThreshold: 10, UnhealthyThreshold: 2},
		Attributes:  ClassicAttributes{IdleTimeout: 60, DrainingTimeout: 300, DesyncMitigation: "defensive"},
		Policies: map[string]ClassicPolicy{
			"ELBSecurityPolicy-2016-08": {Type: "SSLNegotiationPolicyType", Attributes: map[string]string{"Reference-Security-Policy": "ELBSecurityPolicy-2016-08"}},
		},
		BackendPolicies: map[int32][]string{},
		Tags:            map[string]string{"kubernetes.io/cluster/demo": "owned"},
	}
	if diff := cmp.Diff(want, got); diff != "" || !found {
		t.Errorf("load balancer found %v, -want +got:\n%s", found, diff)
	}
	wire := describeWeb(k)
	if *wire.Scheme != "internet-facing" || *wire.VPCId != k.seed.VPC || *wire.SourceSecurityGroup.GroupName != "k8s-elb-web" ||
		len(wire.ListenerDescriptions) != 2 || *wire.ListenerDescriptions[1].Listener.SSLCertificateId != testCertificate ||
		wire.ListenerDescriptions[1].Listener.LoadBalancerPort != 443 || !wire.CreatedTime.Equal(k.clock.Now()) {
		t.Errorf("over the wire the load balancer is %+v", wire)
	}
	if diff := cmp.Diff(k.public(), wire.Subnets); diff != "" {
		t.Errorf("subnets over the wire, -want +got:\n%s", diff)
	}
}

func describeWeb(k *balancing) elbtypes.LoadBalancerDescription {
	k.t.Helper()
	out := ok(k, func(ctx context.Context) (*elb.DescribeLoadBalancersOutput, error) {
		return k.elb.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"web"}})
	})

	return out.LoadBalancerDescriptions[0]
}

func TestClassicCreateInternalInChina(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{Region: "cn-north-1"})
	out := k.createWeb(func(in *elb.CreateLoadBalancerInput) {
		in.Scheme = new("internal")
		in.Subnets = []string{k.seed.Private["cn-north-1a"]}
		in.SecurityGroups = nil
	})
	if dns := *out.DNSName; !strings.HasPrefix(dns, "internal-web-") || !strings.HasSuffix(dns, ".cn-north-1.elb.amazonaws.com.cn") {
		t.Errorf("DNS name is %q", dns)
	}
	got, _ := k.Classic("web")
	if want := k.SecurityGroupIDs("default"); !cmp.Equal(want, got.SecurityGroups) {
		t.Errorf("without groups it has %v, want the default group %v", got.SecurityGroups, want)
	}
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

func TestClassicPaging(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	var want, got []string
	for i := range 5 {
		want = append(want, fmt.Sprint("web-", i))
		k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.LoadBalancerName = new(want[i]) })
	}
	pages := 0
	for p := elb.NewDescribeLoadBalancersPaginator(k.elb, &elb.DescribeLoadBalancersInput{PageSize: new(int32(2))}); p.HasMorePages(); pages++ {
		page := ok(k, func(ctx context.Context) (*elb.DescribeLoadBalancersOutput, error) { return p.NextPage(ctx) })
		for _, b := range page.LoadBalancerDescriptions {
			got = append(got, *b.LoadBalancerName)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || pages != 3 {
		t.Errorf("%d pages, want 3, -want +got:\n%s", pages, diff)
	}
	_, err := k.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{PageSize: new(int32(401))})
	if code(err) != "ValidationError" {
		t.Errorf("a page of 401: %v", err)
	}
	_, err = k.elb.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{"web-1", "nothing"}})
	if code(err) != "LoadBalancerNotFound" {
		t.Errorf("an unknown name: %v", err)
	}
}

func TestClassicSubnets(t *testing.T) {
	t.Parallel()
	k := startBalancing(t, Options{})
	public := k.public()
	k.createWeb(func(in *elb.CreateLoadBalancerInput) { in.Subnets = public[:2] })
	attached := ok(k, func(ctx context.Context) (*elb.AttachLoadBalancerToSubnetsOutput, error) {
		return k.elb.AttachLoadBalancerToSubnets(ctx, &elb.AttachLoadBalancerToSubnetsInput{LoadBalancerName: new("web"), Subnets: public[1:]})
	})
	if diff := cmp.Diff(public, attached.Subnets); diff != "" {
		t.Errorf("after attaching, -want +got:\n%s", diff)
	}
	detached := ok(k, func(ctx context.Context) (*elb.DetachLoadBalancerFromSubnetsOutput, error) {
		return k.elb.DetachLoadBalancerFromSubnets(ctx, &elb.DetachLoadBalancerFromSubnetsInput{LoadBalancerName: new("web"), Subnets: public[:2]})
	})
	if diff := cmp.Diff(public[2:], detached.Subnets); diff != "" {
		t.Errorf("after detaching, -want +got:\n%s", diff)
	}
	_, err := k.elb.DetachLoadBalancerFromSubnets(t.Context(), &elb.DetachLoadBalancerFromSubnetsInput{LoadBalancerName: new("web"), Subnets: public[2:]})
	if code(err) != "InvalidConfigurationRequest" {
		t.Errorf("detaching the last subnet: %v", err)
	}
	_, err = k.elb.AttachLoadBalancerToSubnets(t.Context(), &elb.AttachLoadBalancerToSubnetsInput{
		LoadBalancerName: new("web"), Subnets: []string{k.seed.Private[k.seed.Zones[2]]},
	})
	if code(err) != "InvalidConfigurationRequest" {
		t.Errorf("attaching a second subnet of a zone: %v", err)
	}
	if got := interfaces(k, "ELB web"); len(got) != 1 {
		t.Errorf("network interfaces %v, want one for the subnet that is left", got)
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
