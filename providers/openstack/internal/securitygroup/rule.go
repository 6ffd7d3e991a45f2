package securitygroup

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// The values of Neutron in rules.
const (
	ingress = "ingress"
	ipv4    = "IPv4"
	ipv6    = "IPv6"
)

// Rule is a rule of a security group in the form in which Neutron compares rules: two
// that are equal cannot be in one group (neutron: db/securitygroups_db.py, _rule_to_key).
// That is why all addresses and no prefix are the same, and so are the name and the number
// of a protocol. The description of a rule does not count.
type Rule struct {
	Direction, EtherType string
	// Protocol is the name of those that have ports, and empty for any.
	Protocol string
	// PortMin and PortMax are 0 for any.
	PortMin, PortMax int
	// Prefix is where traffic comes from, the zero Prefix for any address.
	Prefix netip.Prefix
	// Group is the ID of the security group or of the address group that traffic comes
	// from, empty for any.
	Group string
}

// allow returns the rule that allows traffic to a port.
func allow(protocol string, port int32, from netip.Prefix) Rule {
	rule := Rule{
		Direction: ingress, EtherType: ipv4, Protocol: strings.ToLower(protocol), PortMin: int(port), PortMax: int(port),
		Prefix: normalPrefix(from),
	}
	if from.Addr().Is6() {
		rule.EtherType = ipv6
	}

	return rule
}

// ruleOf returns a rule of Neutron.
func ruleOf(r *client.SecurityGroupRule) Rule {
	rule := Rule{
		Direction: strings.ToLower(r.Direction), EtherType: r.EtherType, Protocol: normalProtocol(r.Protocol),
		Group: cmp.Or(r.RemoteGroupID, r.RemoteAddressGroupID),
	}
	if r.PortMin != nil {
		rule.PortMin = *r.PortMin
	}
	if r.PortMax != nil {
		rule.PortMax = *r.PortMax
	}
	if prefix, err := netip.ParsePrefix(r.RemotePrefix); err == nil {
		rule.Prefix = normalPrefix(prefix)
	} else if addr, err := netip.ParseAddr(r.RemotePrefix); err == nil {
		rule.Prefix = netip.PrefixFrom(addr, addr.BitLen())
	}

	return rule
}

func normalPrefix(prefix netip.Prefix) netip.Prefix {
	if prefix.Bits() == 0 {
		return netip.Prefix{}
	}

	return prefix.Masked()
}

// protocols are the protocols of Services by their numbers:
// https://www.iana.org/assignments/protocol-numbers/protocol-numbers.xhtml.
var protocols = map[int]string{6: "tcp", 17: "udp", 132: "sctp"}

func normalProtocol(protocol string) string {
	if number, err := strconv.Atoi(protocol); err == nil {
		return cmp.Or(protocols[number], strconv.Itoa(number))
	}

	return strings.ToLower(protocol)
}

// request returns the rule as it is created in a group.
func (r Rule) request(group string) client.SecurityGroupRule {
	request := client.SecurityGroupRule{
		GroupID: group, Direction: r.Direction, EtherType: r.EtherType, Protocol: r.Protocol,
		PortMin: new(r.PortMin), PortMax: new(r.PortMax), RemotePrefix: r.from(),
	}

	return request
}

// from is the CIDR that traffic comes from.
func (r Rule) from() string {
	switch {
	case r.Prefix.IsValid():
		return r.Prefix.String()
	case r.EtherType == ipv6:
		return "::/0"
	default:
		return "0.0.0.0/0"
	}
}

// String is the rule in a few words: "tcp 30080 from 10.0.0.0/24".
func (r Rule) String() string {
	var words []string
	if r.Direction != ingress {
		words = append(words, r.Direction)
	}
	words = append(words, cmp.Or(r.Protocol, "any"))
	switch {
	case r.PortMin != r.PortMax:
		words = append(words, fmt.Sprintf("%d-%d", r.PortMin, r.PortMax))
	case r.PortMin != 0:
		words = append(words, strconv.Itoa(r.PortMin))
	}
	side := "from"
	if r.Direction != ingress {
		side = "to"
	}

	return strings.Join(append(words, side, cmp.Or(r.Group, r.from())), " ")
}

// compare is the order of rules in lists.
func (r Rule) compare(other Rule) int {
	return cmp.Or(
		cmp.Compare(r.Direction, other.Direction), cmp.Compare(r.Protocol, other.Protocol), cmp.Compare(r.PortMin, other.PortMin),
		cmp.Compare(r.PortMax, other.PortMax), cmp.Compare(r.EtherType, other.EtherType), r.Prefix.Compare(other.Prefix),
		cmp.Compare(r.Group, other.Group),
	)
}

// sortRules returns the different rules in order.
func sortRules(rules []Rule) []Rule {
	return slices.SortedFunc(slices.Values(lists.Distinct(rules)), Rule.compare)
}

// ownRule is a rule that is in a group.
type ownRule struct {
	id string
	Rule
}

// compareRules returns the wanted rules that a group lacks, and its rules that are not
// wanted.
func compareRules(wanted []Rule, have []*client.SecurityGroupRule) (missing []Rule, extra []ownRule) {
	known := map[Rule]bool{}
	for _, r := range have {
		rule := ruleOf(r)
		known[rule] = true
		if !slices.Contains(wanted, rule) {
			extra = append(extra, ownRule{r.ID, rule})
		}
	}
	slices.SortFunc(extra, func(a, b ownRule) int { return cmp.Or(a.compare(b.Rule), cmp.Compare(a.id, b.id)) })

	return lists.Filter(wanted, func(rule Rule) bool { return !known[rule] }), extra
}
