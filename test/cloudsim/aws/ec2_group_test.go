package aws

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
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

func TestRuleRejected(t *testing.T) {
	t.Parallel()
	g := startGroups(t, Options{})
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
		"twice":     {"whatever the description, and in any spelling", []types.IpPermission{allow("tcp", 1, "10.0.0.0/8"), allow("TCP", 443, "10.1.2.3/8 other")}, "InvalidPermission.Duplicate", []string{"peer: 10.0.0.0/8, TCP, from port: 443, to port: 443, ALLOW"}},
		"same call": {"", []types.IpPermission{allow("tcp", 1, "10.0.0.0/8"), allow("tcp", 1, "10.0.0.0/8")}, "InvalidParameterValue", []string{"same permission must not appear multiple times"}},
		"v6 in v4":  {"an IPv6 range in the field for IPv4", []types.IpPermission{allow("tcp", 1, "fd00::/8")}, "InvalidParameterValue", []string{"CIDR block fd00::/8 is malformed"}},
		"no source": {"", []types.IpPermission{allow("tcp", 1)}, "InvalidPermission.Malformed", nil},
		"no group":  {"", []types.IpPermission{groupPair("sg-0dead")}, "InvalidGroup.NotFound", []string{"sg-0dead"}},
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
