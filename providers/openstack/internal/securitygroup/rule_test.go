package securitygroup

import (
	"net/netip"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// TestRuleOf compares rules as Neutron does (neutron: db/securitygroups_db.py,
// _rule_to_key).
func TestRuleOf(t *testing.T) {
	t.Parallel()
	tcp := func(prefix string) *client.SecurityGroupRule {
		return &client.SecurityGroupRule{
			Direction: "ingress", EtherType: "IPv4", Protocol: "tcp", PortMin: new(80), PortMax: new(80), RemotePrefix: prefix,
		}
	}
	wanted := allow("TCP", 80, netip.MustParsePrefix("10.0.0.0/24"))
	everyone, everyone6 := allow("TCP", 80, netip.MustParsePrefix("0.0.0.0/0")), allow("TCP", 80, netip.MustParsePrefix("::/0"))
	for name, test := range map[string]struct {
		reason string
		have   *client.SecurityGroupRule
		change func(r *client.SecurityGroupRule)
		want   Rule
		same   bool
		text   string
	}{
		"same":              {"nothing differs", tcp("10.0.0.0/24"), nil, wanted, true, "tcp 80 from 10.0.0.0/24"},
		"description":       {"it does not count", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.Description = "x" }, wanted, true, "tcp 80 from 10.0.0.0/24"},
		"host bits":         {"the prefix is the same", tcp("10.0.0.7/24"), nil, wanted, true, "tcp 80 from 10.0.0.0/24"},
		"number":            {"6 is tcp", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.Protocol = "6" }, wanted, true, "tcp 80 from 10.0.0.0/24"},
		"capitals":          {"protocols are in small letters", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.Protocol = "TCP" }, wanted, true, "tcp 80 from 10.0.0.0/24"},
		"no prefix":         {"it is all addresses", tcp(""), nil, everyone, true, "tcp 80 from 0.0.0.0/0"},
		"all addresses":     {"they are no prefix", tcp("0.0.0.0/0"), nil, everyone, true, "tcp 80 from 0.0.0.0/0"},
		"no IPv6 prefix":    {"it is all addresses of the family", tcp(""), func(r *client.SecurityGroupRule) { r.EtherType = "IPv6" }, everyone6, true, "tcp 80 from ::/0"},
		"all of IPv6":       {"they are no prefix", tcp("::/0"), func(r *client.SecurityGroupRule) { r.EtherType = "IPv6" }, everyone6, true, "tcp 80 from ::/0"},
		"address":           {"an address is not its subnet", tcp("10.0.0.0"), nil, wanted, false, "tcp 80 from 10.0.0.0/32"},
		"family":            {"all IPv4 addresses are not all IPv6 addresses", tcp(""), nil, everyone6, false, "tcp 80 from 0.0.0.0/0"},
		"other protocol":    {"17 is udp", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.Protocol = "17" }, wanted, false, "udp 80 from 10.0.0.0/24"},
		"sctp":              {"132 is sctp", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.Protocol = "132" }, allow("SCTP", 80, netip.MustParsePrefix("10.0.0.0/24")), true, "sctp 80 from 10.0.0.0/24"},
		"range":             {"it is more than the port", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.PortMax = new(81) }, wanted, false, "tcp 80-81 from 10.0.0.0/24"},
		"all ports":         {"they are more than the port", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.PortMin, r.PortMax = nil, nil }, wanted, false, "tcp from 10.0.0.0/24"},
		"security group":    {"it is not all addresses", tcp(""), func(r *client.SecurityGroupRule) { r.RemoteGroupID = "g" }, everyone, false, "tcp 80 from g"},
		"address group":     {"it is not all addresses", tcp(""), func(r *client.SecurityGroupRule) { r.RemoteAddressGroupID = "a" }, everyone, false, "tcp 80 from a"},
		"default":           {"the rule of new groups", &client.SecurityGroupRule{Direction: "egress", EtherType: "IPv6"}, nil, wanted, false, "egress any to ::/0"},
		"another direction": {"it is not ingress", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.Direction = "egress" }, wanted, false, "egress tcp 80 to 10.0.0.0/24"},
		"another number":    {"it stays a number", tcp("10.0.0.0/24"), func(r *client.SecurityGroupRule) { r.Protocol = "51" }, wanted, false, "51 80 from 10.0.0.0/24"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.change != nil {
				test.change(test.have)
			}
			got := ruleOf(test.have)
			if (got == test.want) != test.same {
				t.Errorf("%s: %+v is the same as %+v: %t, want %t", test.reason, got, test.want, got == test.want, test.same)
			}
			check(t, test.reason, test.text, got.String())
		})
	}
}
