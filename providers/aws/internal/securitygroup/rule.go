package securitygroup

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// SourceKind is a kind of source of traffic.
type SourceKind int

// The kinds of sources.
const (
	FromIPv4 SourceKind = iota
	FromIPv6
	FromPrefixList
	FromGroup
)

// Source is the source of a rule: a CIDR, or the ID of a prefix list or a
// security group.
type Source struct {
	Kind  SourceKind
	Value string
}

// The protocols with names. All others are numbers.
const (
	tcp    = "tcp"
	udp    = "udp"
	icmp   = "icmp"
	icmpV6 = "icmpv6"
	// everything is all protocols with all their ports.
	everything = "-1"
)

// all is the value for all ports, or all types or codes of ICMP.
const all = -1

// Rule is the identity of an inbound rule for EC2. Its description is not part
// of it.
type Rule struct {
	Protocol string
	// From and To are the first and last port, or type and code of ICMP.
	From, To int32
	Source   Source
}

// Rules holds the description of each rule.
type Rules map[Rule]string

// prefix returns a source for a CIDR.
func prefix(p netip.Prefix) Source {
	p = p.Masked()
	if p.Addr().Is4() {
		return Source{Kind: FromIPv4, Value: p.String()}
	}

	return Source{Kind: FromIPv6, Value: p.String()}
}

// FromEverything returns the rule that allows all traffic from a group of a
// classic load balancer.
func FromEverything(group string) Rule {
	return Rule{Protocol: everything, From: all, To: all, Source: Source{Kind: FromGroup, Value: group}}
}

// The types of the ICMP messages of path MTU discovery, IPv4 and IPv6. EC2
// stores them as the first port of a rule.
const (
	unreachable  = 3
	packetTooBig = 2
)

// mtuRule returns the rule for the messages of path MTU discovery:
// "fragmentation needed" for IPv4, "packet too big" for IPv6.
func mtuRule(source Source) Rule {
	if source.Kind == FromIPv6 {
		return Rule{Protocol: icmpV6, From: packetTooBig, To: 0, Source: source}
	}

	return Rule{Protocol: icmp, From: unreachable, To: 4, Source: source}
}

// String formats what the rule allows, such as "tcp 80 from 10.0.0.0/8".
func (r Rule) String() string {
	return fmt.Sprintf("%s from %s", r.traffic(), r.Source.Value)
}

func (r Rule) traffic() string {
	switch {
	case r.Protocol == everything:
		return "everything"
	case r.From == all && r.To == all:
		return r.Protocol
	case r.Protocol == icmp, r.Protocol == icmpV6:
		return fmt.Sprintf("%s %d/%d", r.Protocol, r.From, r.To)
	case r.From == r.To:
		return r.Protocol + " " + strconv.Itoa(int(r.From))
	default:
		return fmt.Sprintf("%s %d-%d", r.Protocol, r.From, r.To)
	}
}

func compare(a, b Rule) int {
	return cmp.Or(
		cmp.Compare(a.Protocol, b.Protocol),
		cmp.Compare(a.From, b.From),
		cmp.Compare(a.To, b.To),
		cmp.Compare(a.Source.Kind, b.Source.Kind),
		cmp.Compare(a.Source.Value, b.Source.Value),
	)
}

// sorted returns the rules in a fixed order.
func (r Rules) sorted() []Rule { return slices.SortedFunc(maps.Keys(r), compare) }

// refersTo reports whether the source of a rule is a group.
func (r Rules) refersTo(group string) bool {
	for rule := range r {
		if rule.Source == (Source{FromGroup, group}) {
			return true
		}
	}

	return false
}

// has reports whether a rule exists, with any description.
func (r Rules) has(rule Rule) bool {
	_, there := r[rule]

	return there
}

// without returns the rules that are not in others, regardless of descriptions.
func (r Rules) without(others Rules) Rules {
	left := Rules{}
	for rule, description := range r {
		if !others.has(rule) {
			left[rule] = description
		}
	}

	return left
}

// fromAnywhere returns the rule without its source.
func (r Rule) fromAnywhere() Rule {
	r.Source = Source{}

	return r
}

// onPortsOf returns the rules whose protocol and ports also occur in others.
func (r Rules) onPortsOf(others Rules) Rules {
	ports := Rules{}
	for rule := range others {
		ports[rule.fromAnywhere()] = ""
	}
	list := maps.Clone(r)
	maps.DeleteFunc(list, func(rule Rule, _ string) bool { return !ports.has(rule.fromAnywhere()) })

	return list
}

// String formats the rules with their descriptions.
func (r Rules) String() string {
	texts := make([]string, 0, len(r))
	for _, rule := range r.sorted() {
		text := rule.String()
		if description := r[rule]; description != "" {
			text += " (" + description + ")"
		}
		texts = append(texts, text)
	}

	return strings.Join(texts, ", ")
}
