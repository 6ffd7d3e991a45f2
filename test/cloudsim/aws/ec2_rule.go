package aws

import (
	"cmp"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
)

// Rule is an inbound rule of a security group with one source.
type Rule struct {
	// Protocol is tcp, udp, icmp, icmpv6, a number, or -1 for all.
	Protocol string
	// From and To are the ports, or ICMP type and code; -1 is all.
	From, To int32
	// Source is an IPv4 or IPv6 range, or the ID of a group or prefix list.
	Source string
	// Description is the rule's description.
	Description string
}

// AddRule adds an inbound rule to a security group, as another client would.
func (c *Cloud) AddRule(group string, r Rule) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.group(group)
	if g == nil {
		wrong("no security group %q", group)
	}
	c.addRule(g, r)
}

// RemoveRule removes an inbound rule from a security group, as another client
// would. Its description does not matter.
func (c *Cloud) RemoveRule(group string, r Rule) {
	c.inspect(func() {
		g := c.group(group)
		if g == nil {
			wrong("no security group %q", group)
		}
		protocol := must(parseProtocol(r.Protocol))
		named := func(have *rule) bool {
			return have.protocol == protocol && have.from == r.From && have.to == r.To && have.source == r.Source
		}
		g.rules = slices.DeleteFunc(slices.Clone(g.rules), named)
		g.original = slices.DeleteFunc(slices.Clone(g.original), named)
	})
}

func (c *Cloud) addRule(g *securityGroup, want Rule) {
	r := &rule{
		id: c.newID("sgr"), protocol: must(parseProtocol(want.Protocol)), from: want.From, to: want.To, source: want.Source,
		description: want.Description, given: true,
	}
	if r.protocol == anyProtocol {
		r.from, r.to = -1, -1
	}
	switch {
	case groupID.MatchString(want.Source):
		r.kind = fromGroup
		if c.group(want.Source) == nil {
			wrong("no security group %q", want.Source)
		}
	case prefixListID.MatchString(want.Source):
		r.kind = fromPrefixList
	default:
		if source, err := parseCIDR(want.Source, false); err == nil {
			r.source = source
		} else {
			r.kind, r.source = fromIPv6, must(parseCIDR(want.Source, true))
		}
	}
	g.rules = append(g.rules, r)
	g.original = append(g.original, r)
}

// Rules returns the inbound rules of a security group, sorted.
func (c *Cloud) Rules(group string) []Rule {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.group(group)
	if g == nil {
		return nil
	}
	rules := make([]Rule, 0, len(g.rules))
	for _, r := range g.rules {
		rules = append(rules, Rule{r.protocol, r.from, r.to, r.source, r.description})
	}
	slices.SortFunc(rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To), cmp.Compare(a.Source, b.Source))
	})

	return rules
}

// SecurityGroupIDs returns the IDs of the groups with that name in any VPC,
// sorted.
func (c *Cloud) SecurityGroupIDs(name string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for _, g := range c.ec2.groups.all() {
		if g.name == name {
			ids = append(ids, g.id)
		}
	}

	return ids
}

// authorizeIngress implements AuthorizeSecurityGroupIngress: all rules or none.
func (c *Cloud) authorizeIngress(p params) (any, error) {
	g, err := c.wantedGroup(p)
	if err != nil {
		return nil, err
	}
	rules, err := c.permissions(p, g)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if slices.ContainsFunc(g.rules, r.same) {
			return nil, fail("InvalidPermission.Duplicate", "the specified rule \"%s\" already exists", r.peer())
		}
	}
	wanted := slices.Concat(g.rules, rules)
	if most := c.opts.Limits.RulesPerSecurityGroup; c.countFor(wanted, fromIPv4) > most || c.countFor(wanted, fromIPv6) > most {
		return nil, fail("RulesPerSecurityGroupLimitExceeded", "The maximum number of rules per security group has been reached.")
	}
	result := &authorizeResult{Return: true}
	for _, r := range rules {
		r.id = c.newID("sgr")
		result.Rules = append(result.Rules, c.renderRule(g, r))
	}
	c.setRules(g, wanted)

	return result, nil
}

// countFor returns the number of rules that count for an address family. The
// quota holds for IPv4 and IPv6 rules apart, and a rule that names a prefix list
// counts as many as the list can have entries:
// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
// One that names a group is for both families, and counts once for each of them.
func (c *Cloud) countFor(rules []*rule, family sourceKind) int {
	n := 0
	for _, r := range rules {
		switch r.kind {
		case family, fromGroup:
			n++
		case fromPrefixList:
			n += c.opts.Limits.PrefixListEntries
		case fromIPv4, fromIPv6: // of the other family
		}
	}

	return n
}

// revokeIngress implements RevokeSecurityGroupIngress. One rule that does not
// exist fails the call.
func (c *Cloud) revokeIngress(p params) (any, error) {
	g, err := c.wantedGroup(p)
	if err != nil {
		return nil, err
	}
	result := &revokeResult{Return: true}
	rules, err := c.permissions(p, g)
	if err != nil {
		return nil, err
	}
	var unknown []*rule
	for _, r := range rules {
		if !slices.ContainsFunc(g.rules, r.same) {
			unknown = append(unknown, r)
		}
	}
	if len(unknown) > 0 {
		return nil, fail("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
	}
	c.setRules(g, slices.DeleteFunc(slices.Clone(g.rules), func(r *rule) bool { return slices.ContainsFunc(rules, r.same) }))
	result.Unknown = c.renderPermissions(unknown)

	return result, nil
}

// describeIngress implements UpdateSecurityGroupRuleDescriptionsIngress.
func (c *Cloud) describeIngress(p params) (any, error) {
	g, err := c.wantedGroup(p)
	if err != nil {
		return nil, err
	}
	rules, err := c.permissions(p, g)
	if err != nil {
		return nil, err
	}
	for _, r := range rules {
		if !slices.ContainsFunc(g.rules, r.same) {
			return nil, fail("InvalidPermission.NotFound", "The specified rule does not exist in this security group.")
		}
	}
	changed := simstate.CloneSlice(g.rules)
	for _, r := range rules {
		changed[slices.IndexFunc(changed, r.same)].description = r.description
	}
	c.setRules(g, changed)

	return &done{true}, nil
}

type authorizeResult struct {
	Return bool      `xml:"return"`
	Rules  []ruleXML `xml:"securityGroupRuleSet>item"`
}

type revokeResult struct {
	Return  bool            `xml:"return"`
	Unknown []permissionXML `xml:"unknownIpPermissionSet>item"`
}

type ruleXML struct {
	ID          string           `xml:"securityGroupRuleId"`
	GroupID     string           `xml:"groupId"`
	Owner       string           `xml:"groupOwnerId"`
	Egress      bool             `xml:"isEgress"`
	Protocol    string           `xml:"ipProtocol"`
	From        int32            `xml:"fromPort"`
	To          int32            `xml:"toPort"`
	IPv4        string           `xml:"cidrIpv4,omitempty"`
	IPv6        string           `xml:"cidrIpv6,omitempty"`
	PrefixList  string           `xml:"prefixListId,omitempty"`
	Source      *referencedGroup `xml:"referencedGroupInfo"`
	Description string           `xml:"description,omitempty"`
}

type referencedGroup struct {
	ID    string `xml:"groupId"`
	Owner string `xml:"userId"`
}

func (c *Cloud) renderRule(g *securityGroup, r *rule) ruleXML {
	out := ruleXML{
		ID: r.id, GroupID: g.id, Owner: c.opts.AccountID, Protocol: r.protocol, From: r.from, To: r.to,
		IPv4: r.sourceOf(fromIPv4), IPv6: r.sourceOf(fromIPv6), PrefixList: r.sourceOf(fromPrefixList),
		Description: r.description,
	}
	if r.kind == fromGroup {
		out.Source = &referencedGroup{r.source, c.opts.AccountID}
	}

	return out
}

// permissionXML is all rules for the same protocol and ports.
type permissionXML struct {
	Protocol    string          `xml:"ipProtocol"`
	From        *int32          `xml:"fromPort"`
	To          *int32          `xml:"toPort"`
	Groups      []groupPairXML  `xml:"groups>item"`
	Ranges      []rangeXML      `xml:"ipRanges>item"`
	Ranges6     []range6XML     `xml:"ipv6Ranges>item"`
	PrefixLists []prefixListXML `xml:"prefixListIds>item"`
}

type groupPairXML struct {
	UserID      string  `xml:"userId"`
	GroupID     string  `xml:"groupId"`
	Description *string `xml:"description"`
}

type rangeXML struct {
	CIDR        string  `xml:"cidrIp"`
	Description *string `xml:"description"`
}

type range6XML struct {
	CIDR        string  `xml:"cidrIpv6"`
	Description *string `xml:"description"`
}

type prefixListXML struct {
	ID          string  `xml:"prefixListId"`
	Description *string `xml:"description"`
}

// renderPermissions merges rules with the same protocol and ports.
func (c *Cloud) renderPermissions(rules []*rule) []permissionXML {
	type key struct {
		protocol string
		from, to int32
	}
	var permissions []permissionXML
	index := make(map[key]int)
	for _, r := range rules {
		k := key{r.protocol, r.from, r.to}
		i, ok := index[k]
		if !ok {
			i = len(permissions)
			index[k] = i
			permissions = append(permissions, permissionXML{Protocol: r.protocol})
			if hasPorts(r.protocol) {
				permissions[i].From, permissions[i].To = new(r.from), new(r.to)
			}
		}
		c.addSource(&permissions[i], r)
	}

	return permissions
}

func (c *Cloud) addSource(out *permissionXML, r *rule) {
	var description *string
	if r.description != "" {
		description = new(r.description)
	}
	switch r.kind {
	case fromIPv4:
		out.Ranges = append(out.Ranges, rangeXML{r.source, description})
	case fromIPv6:
		out.Ranges6 = append(out.Ranges6, range6XML{r.source, description})
	case fromPrefixList:
		out.PrefixLists = append(out.PrefixLists, prefixListXML{r.source, description})
	case fromGroup:
		out.Groups = append(out.Groups, groupPairXML{c.opts.AccountID, r.source, description})
	}
}

func hasPorts(protocol string) bool {
	return slices.Contains([]string{"tcp", "udp", "icmp", "icmpv6"}, protocol)
}
