package securitygroup

import (
	"net/netip"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
)

// rulesOf reads the rules out of permissions, each of which may contain many.
func rulesOf(permissions []types.IpPermission) Rules {
	rules := Rules{}
	for _, p := range permissions {
		for _, r := range p.IpRanges {
			rules.read(p, Source{FromIPv4, canonical(aws.ToString(r.CidrIp))}, r.Description)
		}
		for _, r := range p.Ipv6Ranges {
			rules.read(p, Source{FromIPv6, canonical(aws.ToString(r.CidrIpv6))}, r.Description)
		}
		for _, r := range p.PrefixListIds {
			rules.read(p, Source{FromPrefixList, aws.ToString(r.PrefixListId)}, r.Description)
		}
		for _, r := range p.UserIdGroupPairs {
			rules.read(p, Source{FromGroup, aws.ToString(r.GroupId)}, r.Description)
		}
	}

	return rules
}

func (r Rules) read(p types.IpPermission, source Source, description *string) {
	rule := Rule{Protocol: protocol(aws.ToString(p.IpProtocol)), From: all, To: all, Source: source}
	if hasPorts(rule.Protocol) {
		if p.FromPort != nil {
			rule.From = *p.FromPort
		}
		if p.ToPort != nil {
			rule.To = *p.ToPort
		}
	}
	r[rule] = aws.ToString(description)
}

// protocol returns the canonical form of a protocol.
func protocol(text string) string {
	switch text = strings.ToLower(text); text {
	case "6":
		return tcp
	case "17":
		return udp
	case "1":
		return icmp
	case "58":
		return icmpV6
	default:
		return text
	}
}

// hasPorts reports whether EC2 uses the ports of a protocol.
func hasPorts(protocol string) bool {
	switch protocol {
	case tcp, udp, icmp, icmpV6:
		return true
	default:
		return false
	}
}

// canonical returns the canonical form of a CIDR.
func canonical(cidr string) string {
	parsed, err := netip.ParsePrefix(cidr)
	if err != nil {
		return cidr
	}

	return parsed.Masked().String()
}

// permissions combines rules into few permissions. Descriptions are left out if
// EC2 does not accept any, which is when it revokes.
func (r Rules) permissions(described bool) []types.IpPermission {
	var list []types.IpPermission
	var last Rule
	for _, rule := range r.sorted() {
		same := rule
		same.Source = last.Source
		if len(list) == 0 || same != last {
			p := types.IpPermission{IpProtocol: aws.String(rule.Protocol)}
			if hasPorts(rule.Protocol) {
				p.FromPort, p.ToPort = aws.Int32(rule.From), aws.Int32(rule.To)
			}
			list = append(list, p)
		}
		last = rule
		var description *string
		if described {
			description = awstype.Optional(r[rule])
		}
		add(&list[len(list)-1], rule.Source, description)
	}

	return list
}

func add(p *types.IpPermission, source Source, description *string) {
	value := aws.String(source.Value)
	switch source.Kind {
	case FromIPv4:
		p.IpRanges = append(p.IpRanges, types.IpRange{CidrIp: value, Description: description})
	case FromIPv6:
		p.Ipv6Ranges = append(p.Ipv6Ranges, types.Ipv6Range{CidrIpv6: value, Description: description})
	case FromPrefixList:
		p.PrefixListIds = append(p.PrefixListIds, types.PrefixListId{PrefixListId: value, Description: description})
	case FromGroup:
		p.UserIdGroupPairs = append(p.UserIdGroupPairs, types.UserIdGroupPair{GroupId: value, Description: description})
	}
}
