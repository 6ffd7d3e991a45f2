package securitygroup

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRulesOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason      string
		permissions []types.IpPermission
		want        Rules
	}{
		"all kinds of sources": {
			reason: "AWS-SG-5: one permission is one rule for each source, and none is overlooked",
			permissions: []types.IpPermission{{
				IpProtocol: aws.String("tcp"), FromPort: aws.Int32(80), ToPort: aws.Int32(81),
				IpRanges:         []types.IpRange{{CidrIp: aws.String("10.0.0.0/8"), Description: aws.String("inside")}, {CidrIp: aws.String("192.0.2.0/24")}},
				Ipv6Ranges:       []types.Ipv6Range{{CidrIpv6: aws.String("2001:DB8:0::/32")}},
				PrefixListIds:    []types.PrefixListId{{PrefixListId: aws.String("pl-1")}},
				UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String("sg-1"), UserId: aws.String("123456789012")}},
			}},
			want: Rules{
				rule("tcp", 80, 81, "10.0.0.0/8"):    "inside",
				rule("tcp", 80, 81, "192.0.2.0/24"):  "",
				rule("tcp", 80, 81, "2001:db8::/32"): "",
				rule("tcp", 80, 81, "pl-1"):          "",
				rule("tcp", 80, 81, "sg-1"):          "",
			},
		},
		"numbers": {
			reason: "protocols that have a name are the same by number",
			permissions: []types.IpPermission{
				{IpProtocol: aws.String("6"), FromPort: aws.Int32(80), ToPort: aws.Int32(80), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}},
				{IpProtocol: aws.String("17"), FromPort: aws.Int32(53), ToPort: aws.Int32(53), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}},
				{IpProtocol: aws.String("1"), FromPort: aws.Int32(3), ToPort: aws.Int32(4), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}},
				{IpProtocol: aws.String("58"), IpRanges: nil, Ipv6Ranges: []types.Ipv6Range{{CidrIpv6: aws.String("::/0")}}},
			},
			want: Rules{
				rule("tcp", 80, 80, "10.0.0.0/8"): "", rule("udp", 53, 53, "10.0.0.0/8"): "",
				rule("icmp", 3, 4, "10.0.0.0/8"): "", rule("icmpv6", -1, -1, "::/0"): "",
			},
		},
		"everything": {
			reason: "ports count for nothing where all protocols are meant",
			permissions: []types.IpPermission{
				{IpProtocol: aws.String("-1"), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String("sg-1")}}},
				{IpProtocol: aws.String("-1"), FromPort: aws.Int32(0), ToPort: aws.Int32(65535), UserIdGroupPairs: []types.UserIdGroupPair{{GroupId: aws.String("sg-2")}}},
				{IpProtocol: aws.String("50"), FromPort: aws.Int32(0), IpRanges: []types.IpRange{{CidrIp: aws.String("10.0.0.0/8")}}},
			},
			want: Rules{FromEverything("sg-1"): "", FromEverything("sg-2"): "", rule("50", -1, -1, "10.0.0.0/8"): ""},
		},
		"sparse": {
			reason:      "AWS-API-1: what AWS leaves out is empty",
			permissions: []types.IpPermission{{IpRanges: []types.IpRange{{}}}},
			want:        Rules{Rule{From: -1, To: -1}: ""},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, rulesOf(test.permissions)); diff != "" {
				t.Errorf("%s: %s", test.reason, diff)
			}
		})
	}
}

// What is written is read back as it was, with or without descriptions, and in
// as few permissions as there are different ports.
func TestPermissionsRoundTrip(t *testing.T) {
	t.Parallel()
	source := rapid.SampledFrom([]string{"10.0.0.0/8", "0.0.0.0/0", "2001:db8::/32", "::/0", "sg-1", "sg-2", "pl-1"})
	one := rapid.Custom(func(t *rapid.T) Rule {
		protocol := rapid.SampledFrom([]string{"tcp", "udp", "icmp", "icmpv6", "-1", "50"}).Draw(t, "protocol")
		if !hasPorts(protocol) {
			return rule(protocol, -1, -1, source.Draw(t, "source"))
		}

		return rule(protocol, rapid.Int32Range(1, 3).Draw(t, "from"), rapid.Int32Range(3, 4).Draw(t, "to"), source.Draw(t, "source"))
	})
	rapid.Check(t, func(t *rapid.T) {
		rules := Rules(rapid.MapOf(one, rapid.SampledFrom([]string{"", "why"})).Draw(t, "rules"))
		if diff := cmp.Diff(rules, rulesOf(rules.permissions(true))); diff != "" {
			t.Errorf("with descriptions: %s", diff)
		}
		plain := rules.permissions(false)
		for rule, description := range rulesOf(plain) {
			if description != "" {
				t.Errorf("%s has a description", rule)
			}
		}
		ports := map[string]bool{}
		for rule := range rules {
			ports[rule.traffic()] = true
		}
		if len(plain) != len(ports) || len(rulesOf(plain)) != len(rules) {
			t.Errorf("%d permissions for %s", len(plain), rules)
		}
	})
}
