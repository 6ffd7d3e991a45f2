package aws

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const anyProtocol = "-1"

// rule is one inbound rule with one source.
type rule struct {
	id          string
	protocol    string
	from, to    int32 // -1 for all; ports, or ICMP type and code
	kind        sourceKind
	source      string // CIDR, prefix list ID or group ID
	description string
	given       bool // by the builder
}

type sourceKind int

const (
	fromIPv4 sourceKind = iota
	fromIPv6
	fromPrefixList
	fromGroup
)

// same reports whether two rules allow the same; descriptions do not count.
func (r *rule) same(other *rule) bool {
	return r.protocol == other.protocol && r.from == other.from && r.to == other.to && r.kind == other.kind && r.source == other.source
}

// sourceOf returns the source if it is of the kind.
func (r *rule) sourceOf(kind sourceKind) string {
	if r.kind != kind {
		return ""
	}

	return r.source
}

// String returns the rule for people: "tcp 80-443 10.0.0.0/8 (why)".
func (r *rule) String() string {
	ports := strconv.Itoa(int(r.from)) + "-" + strconv.Itoa(int(r.to))
	switch {
	case r.protocol == anyProtocol:
		ports = "all"
	case r.from == r.to:
		ports = strconv.Itoa(int(r.from))
	case strings.HasPrefix(r.protocol, "icmp"):
		ports = strconv.Itoa(int(r.from)) + "/" + strconv.Itoa(int(r.to))
	}
	text := r.protocol + " " + ports + " " + r.source
	if r.description != "" {
		text += " (" + r.description + ")"
	}

	return text
}

// everywhere is the outbound rule that every group has.
func everywhere() []*rule {
	return []*rule{{protocol: anyProtocol, from: -1, to: -1, source: "0.0.0.0/0"}}
}

// permissions parses the rules of a request.
func (c *Cloud) permissions(p params, g *securityGroup) ([]*rule, error) {
	items := p.structs("IpPermissions")
	if len(items) == 0 {
		return nil, fail("MissingParameter", "The request must contain the parameter ipPermissions")
	}
	var rules []*rule
	for _, item := range items {
		parsed, err := c.permission(item, g)
		if err != nil {
			return nil, err
		}
		for _, r := range parsed {
			if slices.ContainsFunc(rules, r.same) {
				return nil, fail("InvalidParameterValue", "The same permission must not appear multiple times")
			}
			rules = append(rules, r)
		}
	}

	return rules, nil
}

// permission parses one permission, which is a rule for each of its sources.
func (c *Cloud) permission(p params, g *securityGroup) ([]*rule, error) {
	protocol, err := parseProtocol(p.str("IpProtocol"))
	if err != nil {
		return nil, err
	}
	from, to, err := parsePorts(p, protocol)
	if err != nil {
		return nil, err
	}
	sources, err := c.sources(p, g)
	if err != nil {
		return nil, err
	}
	if len(sources) == 0 {
		return nil, fail("InvalidPermission.Malformed", "The permission has no source.")
	}
	for _, r := range sources {
		r.protocol, r.from, r.to = protocol, from, to
		if !groupText.MatchString(r.description) {
			return nil, fail("InvalidParameterValue", "Invalid rule description. Valid descriptions are strings less than 256 characters from the following set: %s", groupCharacters)
		}
	}

	return sources, nil
}

var protocolNames = map[string]string{"1": "icmp", "6": "tcp", "17": "udp", "58": "icmpv6", "all": anyProtocol}

func parseProtocol(text string) (string, error) {
	protocol := strings.ToLower(text)
	if name := protocolNames[protocol]; name != "" {
		protocol = name
	}
	switch protocol {
	case "tcp", "udp", "icmp", "icmpv6", anyProtocol:
		return protocol, nil
	case "":
		return "", fail("InvalidParameterValue", "Invalid value 'null' for protocol. VPC security group rules must specify protocols explicitly.")
	}
	if n, err := strconv.ParseUint(protocol, 10, 8); err == nil {
		return strconv.Itoa(int(n)), nil
	}

	return "", fail("InvalidParameterValue", "Invalid value '%s' for IP protocol. Unknown protocol.", text)
}

// parsePorts returns the ports of a permission, or ICMP type and code.
func parsePorts(p params, protocol string) (from, to int32, err error) {
	low, err := p.int32("FromPort")
	if err != nil {
		return 0, 0, err
	}
	high, err := p.int32("ToPort")
	if err != nil {
		return 0, 0, err
	}
	switch protocol {
	case "tcp", "udp":
		switch {
		case low == nil || high == nil:
			return 0, 0, fail("InvalidParameterValue", "Invalid value 'Must specify both from and to ports with TCP/UDP.' for portRange.")
		case *low < 0 || *low > 65535:
			return 0, 0, fail("InvalidParameterValue", "TCP/UDP port (%d) out of range", *low)
		case *high < 0 || *high > 65535:
			return 0, 0, fail("InvalidParameterValue", "TCP/UDP port (%d) out of range", *high)
		case *low > *high:
			return 0, 0, fail("InvalidParameterValue", "Invalid value '%d-%d' for portRange. The from port must not exceed the to port.", *low, *high)
		}

		return *low, *high, nil
	case "icmp", "icmpv6":
		if low == nil && high == nil && protocol == "icmpv6" {
			return -1, -1, nil
		}
		if low == nil || high == nil || *low < -1 || *low > 255 || *high < -1 || *high > 255 || *low == -1 && *high != -1 {
			return 0, 0, fail("InvalidParameterValue", "ICMP code or type is invalid")
		}

		return *low, *high, nil
	}

	return -1, -1, nil
}

// prefixListID is all that is simulated of prefix lists.
var prefixListID = regexp.MustCompile(`^pl-[0-9a-f]+$`)

func (c *Cloud) sources(p params, g *securityGroup) ([]*rule, error) {
	var rules []*rule
	if p.has("CidrIp") {
		source, err := parseCIDR(p.str("CidrIp"), false)
		if err != nil {
			return nil, err
		}
		rules = append(rules, &rule{kind: fromIPv4, source: source})
	}
	for _, item := range p.structs("IpRanges") {
		source, err := parseCIDR(item.str("CidrIp"), false)
		if err != nil {
			return nil, err
		}
		rules = append(rules, &rule{kind: fromIPv4, source: source, description: item.str("Description")})
	}
	for _, item := range p.structs("Ipv6Ranges") {
		source, err := parseCIDR(item.str("CidrIpv6"), true)
		if err != nil {
			return nil, err
		}
		rules = append(rules, &rule{kind: fromIPv6, source: source, description: item.str("Description")})
	}
	for _, item := range p.structs("PrefixListIds") {
		id := item.str("PrefixListId")
		if !prefixListID.MatchString(id) {
			return nil, fail("InvalidPrefixListId.Malformed", "Invalid id: \"%s\" (expecting \"pl-...\")", id)
		}
		rules = append(rules, &rule{kind: fromPrefixList, source: id, description: item.str("Description")})
	}
	for _, item := range p.structs("Groups") {
		source, err := c.sourceGroup(item, g)
		if err != nil {
			return nil, err
		}
		rules = append(rules, &rule{kind: fromGroup, source: source, description: item.str("Description")})
	}

	return rules, nil
}

// sourceGroup returns the ID of the group that a rule of g names.
func (c *Cloud) sourceGroup(p params, g *securityGroup) (string, error) {
	id := p.str("GroupId")
	source, owner := c.group(id), p.str("UserId")
	switch {
	case id == "":
		return "", fail("MissingParameter", "Source group ID missing.")
	case source == nil, owner != "" && owner != c.opts.AccountID:
		return "", noGroup(id)
	case source.vpc != g.vpc:
		return "", fail("InvalidGroup.NotFound", "You have specified two resources that belong to different networks.")
	}

	return source.id, nil
}

// parseCIDR returns the range in the form that AWS stores.
func parseCIDR(text string, ipv6 bool) (string, error) {
	prefix, err := netip.ParsePrefix(text)
	if err != nil || prefix.Addr().Is6() != ipv6 || prefix.Addr().Is4In6() {
		return "", fail("InvalidParameterValue", "CIDR block %s is malformed", text)
	}

	return prefix.Masked().String(), nil
}

// peer names the source of a rule as AWS's messages do.
func (r *rule) peer() string {
	ports := ""
	if r.protocol != anyProtocol {
		ports = fmt.Sprintf(" from port: %d, to port: %d,", r.from, r.to)
	}
	protocol := strings.ToUpper(r.protocol)
	if r.protocol == anyProtocol {
		protocol = "ALL"
	}

	return fmt.Sprintf("peer: %s, %s,%s ALLOW", r.source, protocol, ports)
}
