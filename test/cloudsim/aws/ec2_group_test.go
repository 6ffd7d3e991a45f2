package aws

import (
	"strconv"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// groups is a VPC with a group to work on.
type groups struct {
	*Cloud
	seed  *Seed
	api   *ec2.Client
	group string
}

func startGroups(t *testing.T, opts Options) *groups {
	t.Helper()
	c := start(t, opts)
	seed := c.Seed("demo")

	return &groups{c, seed, ec2Client(t, c), c.AddSecurityGroup(SecurityGroupSpec{VPC: seed.VPC, Name: "lb"})}
}

func (g *groups) authorize(t *testing.T, permissions ...types.IpPermission) error {
	t.Helper()
	_, err := g.api.AuthorizeSecurityGroupIngress(t.Context(), &ec2.AuthorizeSecurityGroupIngressInput{GroupId: &g.group, IpPermissions: permissions})

	return err
}

func (g *groups) revoke(t *testing.T, permissions ...types.IpPermission) error {
	t.Helper()
	_, err := g.api.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &g.group, IpPermissions: permissions})

	return err
}

// allow is a permission for one port and some IPv4 ranges.
func allow(protocol string, port int32, ranges ...string) types.IpPermission {
	p := types.IpPermission{IpProtocol: &protocol, FromPort: &port, ToPort: &port}
	for _, cidr := range ranges {
		text, description, _ := strings.Cut(cidr, " ")
		r := types.IpRange{CidrIp: &text}
		if description != "" {
			r.Description = &description
		}
		p.IpRanges = append(p.IpRanges, r)
	}

	return p
}

func allow6(protocol string, port int32, cidr string) types.IpPermission {
	return types.IpPermission{IpProtocol: &protocol, FromPort: &port, ToPort: &port, Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: &cidr}}}
}

func TestPermissionsMerge(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
	pair := types.UserIdGroupPair{GroupId: &g.seed.NodeGroup, Description: new("nodes")}
	err := g.authorize(t,
		allow("tcp", 80, "10.0.0.9/8 first", "192.168.0.0/16"), allow6("6", 80, "2001:db8::1/32"), allow("udp", 53, "10.0.0.0/8"),
		types.IpPermission{IpProtocol: new("tcp"), FromPort: new(int32(80)), ToPort: new(int32(80)), UserIdGroupPairs: []types.UserIdGroupPair{pair}, PrefixListIds: []types.PrefixListId{{PrefixListId: new("pl-12")}}},
		types.IpPermission{IpProtocol: new("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &g.group}}},
		types.IpPermission{IpProtocol: new("icmp"), FromPort: new(int32(3)), ToPort: new(int32(4)), IpRanges: []types.IpRange{{CidrIp: new("0.0.0.0/0")}}},
	)
	if err != nil {
		t.Fatal(err)
	}
	out, err := g.api.DescribeSecurityGroups(t.Context(), &ec2.DescribeSecurityGroupsInput{GroupIds: []string{g.group}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range out.SecurityGroups[0].IpPermissions {
		text := *p.IpProtocol
		if p.FromPort != nil {
			text += " " + strconv.Itoa(int(*p.FromPort)) + "-" + strconv.Itoa(int(*p.ToPort))
		}
		for _, r := range p.IpRanges {
			text += " " + *r.CidrIp + awssdk.ToString(r.Description)
		}
		for _, r := range p.Ipv6Ranges {
			text += " " + *r.CidrIpv6
		}
		for _, r := range p.PrefixListIds {
			text += " " + *r.PrefixListId
		}
		for _, r := range p.UserIdGroupPairs {
			text += " " + strings.NewReplacer(g.seed.NodeGroup, "nodes", g.group, "self").Replace(*r.GroupId) + awssdk.ToString(r.Description)
		}
		got = append(got, text)
	}
	want := []string{
		"tcp 80-80 10.0.0.0/8first 192.168.0.0/16 2001:db8::/32 pl-12 nodesnodes", "udp 53-53 10.0.0.0/8", "-1 self", "icmp 3-4 0.0.0.0/0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
	if err := g.revoke(t, allow("tcp", 80, "10.0.0.0/8 anything")); err != nil {
		t.Errorf("descriptions do not count in a revoke: %v", err)
	}
	if n := len(g.Rules(g.group)); n != 7 {
		t.Errorf("%d rules are left, want 7: only the exact source goes", n)
	}
}

func TestRuleRejected(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
	other := g.Cloud.Seed("other").NodeGroup
	g.AddRule(g.group, Rule{Protocol: "tcp", From: 443, To: 443, Source: "10.0.0.0/8", Description: "mine"})
	groupPair := func(id string) types.IpPermission {
		p := allow("tcp", 1)
		p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: &id}}

		return p
	}
	tests := map[string]struct {
		reason     string
		permission []types.IpPermission
		want       string
		texts      []string
	}{
		"twice":          {"whatever the description, and in any spelling", []types.IpPermission{allow("tcp", 1, "10.0.0.0/8"), allow("TCP", 443, "10.1.2.3/8 other")}, "InvalidPermission.Duplicate", []string{"peer: 10.0.0.0/8, TCP, from port: 443, to port: 443, ALLOW"}},
		"same call":      {"", []types.IpPermission{allow("tcp", 1, "10.0.0.0/8"), allow("tcp", 1, "10.0.0.0/8")}, "InvalidParameterValue", []string{"same permission must not appear multiple times"}},
		"tls":            {"TLS is no protocol of EC2", []types.IpPermission{allow("tls", 443, "10.0.0.0/8")}, "InvalidParameterValue", []string{"Invalid value 'tls' for IP protocol. Unknown protocol."}},
		"v6 in v4":       {"an IPv6 range in the field for IPv4", []types.IpPermission{allow("tcp", 1, "fd00::/8")}, "InvalidParameterValue", []string{"CIDR block fd00::/8 is malformed"}},
		"v4 in v6":       {"an IPv4 range in the field for IPv6", []types.IpPermission{allow6("tcp", 1, "10.0.0.0/8")}, "InvalidParameterValue", []string{"CIDR block 10.0.0.0/8 is malformed"}},
		"address":        {"", []types.IpPermission{allow("tcp", 1, "10.0.0.1")}, "InvalidParameterValue", []string{"10.0.0.1 is malformed"}},
		"no source":      {"", []types.IpPermission{allow("tcp", 1)}, "InvalidPermission.Malformed", nil},
		"no ports":       {"", []types.IpPermission{{IpProtocol: new("tcp"), IpRanges: []types.IpRange{{CidrIp: new("10.0.0.0/8")}}}}, "InvalidParameterValue", []string{"both from and to ports"}},
		"port -1":        {"", []types.IpPermission{allow("tcp", -1, "10.0.0.0/8")}, "InvalidParameterValue", []string{"port (-1) out of range"}},
		"port 65536":     {"", []types.IpPermission{allow("udp", 65536, "10.0.0.0/8")}, "InvalidParameterValue", []string{"out of range"}},
		"icmp type":      {"", []types.IpPermission{allow("icmp", 300, "10.0.0.0/8")}, "InvalidParameterValue", []string{"ICMP"}},
		"description":    {"", []types.IpPermission{allow("tcp", 1, "10.0.0.0/8 naïve")}, "InvalidParameterValue", []string{"Invalid rule description"}},
		"no group":       {"", []types.IpPermission{groupPair("sg-0dead")}, "InvalidGroup.NotFound", []string{"sg-0dead"}},
		"other network":  {"", []types.IpPermission{groupPair(other)}, "InvalidGroup.NotFound", []string{"different networks"}},
		"no permissions": {"", nil, "MissingParameter", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCode(t, g.authorize(t, tc.permission...), tc.want, tc.texts...)
		})
	}
	t.Cleanup(func() {
		if n := len(g.Rules(g.group)); n != 1 {
			t.Errorf("a rejected call changed the rules: %d are there", n)
		}
	})
}

func TestRevokeRejected(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
	if err := g.authorize(t, allow("tcp", 80, "10.0.0.0/8")); err != nil {
		t.Fatal(err)
	}
	wantCode(t, g.revoke(t, allow("tcp", 80, "10.0.0.0/8"), allow("tcp", 81, "10.0.0.0/8")), "InvalidPermission.NotFound")
	if n := len(g.Rules(g.group)); n != 1 {
		t.Errorf("a rejected revoke left %d rules, want 1", n)
	}
	if err := g.revoke(t, allow("tcp", 80, "10.0.0.0/8")); err != nil || len(g.Rules(g.group)) != 0 {
		t.Errorf("revoke: %v", err)
	}
	wantCode(t, g.revoke(t, allow("tcp", 80, "10.0.0.0/8")), "InvalidPermission.NotFound")
}

func TestRuleLimit(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
	for n := range 60 {
		g.AddRule(g.group, Rule{Protocol: "tcp", From: int32(n), To: int32(n), Source: "10.0.0.0/8"})
	}
	wantCode(t, g.authorize(t, allow("tcp", 100, "10.0.0.0/8")), "RulesPerSecurityGroupLimitExceeded")
	if err := g.authorize(t, allow6("tcp", 100, "2001:db8::/32")); err != nil {
		t.Errorf("the limit counts families apart: %v", err)
	}
	p := allow("tcp", 100)
	p.UserIdGroupPairs = []types.UserIdGroupPair{{GroupId: &g.group}}
	wantCode(t, g.authorize(t, p), "RulesPerSecurityGroupLimitExceeded")
}

// TestRuleLimitCountsEntriesOfPrefixLists checks what rules that name prefix
// lists count for.
func TestRuleLimitCountsEntriesOfPrefixLists(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{Limits: Limits{PrefixListEntries: 59}})
	g.AddRule(g.group, Rule{Protocol: "tcp", From: 22, To: 22, Source: "pl-1"})
	if err := g.authorize(t, allow("tcp", 80, "10.0.0.0/8"), allow6("tcp", 80, "2001:db8::/32")); err != nil {
		t.Errorf("one rule of each family fits: %v", err)
	}
	wantCode(t, g.authorize(t, allow("tcp", 81, "10.0.0.0/8")), "RulesPerSecurityGroupLimitExceeded")
	wantCode(t, g.authorize(t, allow6("tcp", 81, "2001:db8::/32")), "RulesPerSecurityGroupLimitExceeded")
}

func TestRuleDescriptions(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
	if err := g.authorize(t, allow("tcp", 80, "10.0.0.0/8 old")); err != nil {
		t.Fatal(err)
	}
	update := func(p types.IpPermission) error {
		_, err := g.api.UpdateSecurityGroupRuleDescriptionsIngress(t.Context(), &ec2.UpdateSecurityGroupRuleDescriptionsIngressInput{GroupId: &g.group, IpPermissions: []types.IpPermission{p}})

		return err
	}
	if err := update(allow("tcp", 80, "10.0.0.0/8 new")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Rule{{"tcp", 80, 80, "10.0.0.0/8", "new"}}, g.Rules(g.group)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	wantCode(t, update(allow("tcp", 81, "10.0.0.0/8 new")), "InvalidPermission.NotFound")
}

func TestGroupLife(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
	create := func(name, vpc string, tags ...types.Tag) (string, error) {
		out, err := g.api.CreateSecurityGroup(t.Context(), &ec2.CreateSecurityGroupInput{
			GroupName: &name, Description: new("for a test"), VpcId: &vpc,
			TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeSecurityGroup, Tags: tags}},
		})
		if err != nil {
			return "", err
		}

		return *out.GroupId, nil
	}
	id, err := create("k8s-elb-a1", g.seed.VPC, types.Tag{Key: new("a"), Value: new("b")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"security-group k8s-elb-a1"}, g.Leaks()); diff != "" || g.Tags(id)["a"] != "b" {
		t.Errorf("leaks (-want +got):\n%s\ntags %v", diff, g.Tags(id))
	}
	_, err = create("k8s-elb-a1", g.seed.VPC)
	wantCode(t, err, "InvalidGroup.Duplicate", "'k8s-elb-a1' already exists for VPC '"+g.seed.VPC)
	if _, err = create("k8s-elb-a1", g.Cloud.Seed("other").VPC); err != nil {
		t.Errorf("the same name in another VPC: %v", err)
	}
	_, err = create("sg-1", g.seed.VPC)
	wantCode(t, err, "InvalidParameterValue")
	_, err = create("x", "vpc-0")
	wantCode(t, err, "InvalidVpcID.NotFound")
	_, err = create("x", "")
	wantCode(t, err, "VPCIdNotSpecified")

	remove := func(id string) error {
		_, err := g.api.DeleteSecurityGroup(t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: &id})

		return err
	}
	g.AddRule(g.seed.NodeGroup, Rule{Protocol: "-1", Source: id})
	wantCode(t, remove(id), "DependencyViolation", "resource "+id+" has a dependent object")
	p := types.IpPermission{IpProtocol: new("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: &id}}}
	_, err = g.api.RevokeSecurityGroupIngress(t.Context(), &ec2.RevokeSecurityGroupIngressInput{GroupId: &g.seed.NodeGroup, IpPermissions: []types.IpPermission{p}})
	if err != nil {
		t.Fatal(err)
	}
	node := g.seed.AddNodes(1)[0]
	g.SetInstanceGroups(node, g.seed.NodeGroup, id)
	wantCode(t, remove(id), "DependencyViolation")
	g.Terminate(node)
	if err := remove(id); err != nil {
		t.Errorf("delete: %v", err)
	}
	wantCode(t, remove(id), "InvalidGroup.NotFound", id)
	wantCode(t, remove("sg-what?"), "InvalidGroupId.Malformed")
	defaults := g.SecurityGroupIDs("default")
	wantCode(t, remove(defaults[0]), "CannotDelete")
}

func TestGroupQueries(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
	g.AddRule(g.seed.NodeGroup, Rule{Protocol: "-1", Source: g.group})
	g.AddRule(g.seed.NodeGroup, Rule{Protocol: "tcp", From: 30080, To: 30080, Source: "10.9.0.0/16"})
	tests := map[string]struct {
		in   ec2.DescribeSecurityGroupsInput
		want []string
		code string
	}{
		"name":       {ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{by("group-name", "lb"), by("vpc-id", g.seed.VPC)}}, []string{"lb"}, ""},
		"references": {ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{by("ip-permission.group-id", g.group)}}, []string{"nodes.demo"}, ""},
		"ranges":     {ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{by("ip-permission.cidr", "10.9.0.0/16"), by("ip-permission.from-port", "30080")}}, []string{"nodes.demo"}, ""},
		"tag":        {ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{by("tag:"+ClusterTag("demo"), "owned")}}, []string{"nodes.demo"}, ""},
		"tag-key":    {ec2.DescribeSecurityGroupsInput{Filters: []types.Filter{by("tag-key", "other")}}, nil, ""},
		"missing":    {ec2.DescribeSecurityGroupsInput{GroupIds: []string{"sg-0dead", g.group}}, nil, "InvalidGroup.NotFound"},
		"malformed":  {ec2.DescribeSecurityGroupsInput{GroupIds: []string{"lb"}}, nil, "InvalidGroupId.Malformed"},
		"pages":      {ec2.DescribeSecurityGroupsInput{GroupIds: []string{g.group}, MaxResults: new(int32(5))}, nil, "InvalidParameterCombination"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := g.api.DescribeSecurityGroups(t.Context(), &tc.in)
			wantCode(t, err, tc.code)
			if err != nil {
				return
			}
			var got []string
			for _, group := range out.SecurityGroups {
				got = append(got, *group.GroupName)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRulesAreASet draws calls and compares the rules with a model: a set that
// rejects what is in it and revokes what is.
func TestRulesAreASet(t *testing.T) {
	t.Parallel()
	// Thousands of calls are made in no time.
	g := startGroups(t, Options{Limits: Limits{RulesPerSecurityGroup: 6}, DisableThrottling: true})
	rapid.Check(t, func(rt *rapid.T) {
		g.group = g.AddSecurityGroup(SecurityGroupSpec{VPC: g.seed.VPC, Name: "g" + g.anID("x")})
		model := make(map[string]bool)
		for range rapid.IntRange(1, 6).Draw(rt, "calls") {
			ports := rapid.SliceOfNDistinct(rapid.Int32Range(1, 4), 1, 3, rapid.ID[int32]).Draw(rt, "ports")
			cidr := rapid.SampledFrom([]string{"10.0.0.0/8", "10.9.9.9/8", "192.168.0.0/16"}).Draw(rt, "range")
			stored := strings.Replace(cidr, "10.9.9.9", "10.0.0.0", 1)
			var permissions []types.IpPermission
			known := 0
			for _, port := range ports {
				permissions = append(permissions, allow("tcp", port, cidr))
				if model[strconv.Itoa(int(port))+" "+stored] {
					known++
				}
			}
			adding := rapid.Bool().Draw(rt, "add")
			want := ""
			switch {
			case adding && known > 0:
				want = "InvalidPermission.Duplicate"
			case adding && len(model)+len(ports) > 6:
				want = "RulesPerSecurityGroupLimitExceeded"
			case !adding && known < len(ports):
				want = "InvalidPermission.NotFound"
			}
			err := g.revoke
			if adding {
				err = g.authorize
			}
			if got := code(err(t, permissions...)); got != want {
				rt.Fatalf("adding %v of %v from %s to %v: code %q, want %q", adding, ports, cidr, model, got, want)
			}
			for _, port := range ports {
				if key := strconv.Itoa(int(port)) + " " + stored; want == "" && adding {
					model[key] = true
				} else if want == "" {
					delete(model, key)
				}
			}
			if got := len(g.Rules(g.group)); got != len(model) {
				rt.Fatalf("%d rules, want %d", got, len(model))
			}
		}
	})
}
