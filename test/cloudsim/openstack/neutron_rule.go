package openstack

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// rules are the rules of security groups of the API (neutron:
// extensions/securitygroup.py). None can be changed.
var rules = &resource{
	single: "security_group_rule", plural: "security_group_rules", sort: "Security group rule",
	attributes: []attribute{
		{name: "security_group_id", check: isUUID, post: true, need: true},
		{name: "direction", check: isDirection, post: true, need: true},
		{name: "ethertype", post: true},
		{name: "protocol", post: true},
		{name: "port_range_min", post: true},
		{name: "port_range_max", post: true},
		{name: "remote_ip_prefix", post: true},
		{name: "remote_group_id", post: true},
		{name: "remote_address_group_id", post: true},
		readOnly("normalized_cidr"),
	},
}

func isDirection(raw json.RawMessage) string {
	if value := python(raw); value != "ingress" && value != "egress" {
		return value + " is not in valid_values."
	}

	return ""
}

func (r *securityRule) document() object {
	doc := r.standard.document().merge(object{
		"security_group_id": r.groupID, "direction": r.direction, "ethertype": r.ethertype, "protocol": orNil(r.protocol),
		"port_range_min": numberOrNil(r.portMin), "port_range_max": numberOrNil(r.portMax), "remote_ip_prefix": orNil(r.remotePrefix),
		"remote_group_id": orNil(r.remoteGroup), "remote_address_group_id": nil, "normalized_cidr": nil,
	})
	delete(doc, "name")
	delete(doc, "tags")
	if r.noDescription {
		doc["description"] = nil
	}
	if prefix, err := netip.ParsePrefix(r.remotePrefix); err == nil {
		doc["normalized_cidr"] = prefix.Masked().String()
	}

	return doc
}

func numberOrNil(n *int) any {
	if n == nil {
		return nil
	}

	return *n
}

func (c *Cloud) newRule(g *securityGroup, direction, ethertype string) *securityRule {
	r := &securityRule{
		standard: c.newStandard("security group rule", "", g.projectID), groupID: g.id, direction: direction, ethertype: ethertype,
	}
	r.revision = 0

	return r
}

func (c *Cloud) ruleQuota(s *neutronState, project string, added int) error {
	used := len(s.rules.where(func(r *securityRule) bool { return r.projectID == project }))
	if exceeds(c.quotasOf(project).SecurityGroupRules, used, added) {
		return overQuota("security_group_rule")
	}

	return nil
}

func (k *call) rule(id string) (*securityRule, error) {
	r := k.region.neutron.rules.get(id)
	if r == nil || !k.caller.canRead(r.projectID) {
		return nil, missing("Security group rule", id)
	}

	return r, nil
}

func listRules(k *call) (response, error) {
	for _, name := range []string{"port_range_min", "port_range_max"} {
		if k.query.Has(name) && number(k.query, name) < 0 {
			return response{}, fail(http.StatusBadRequest, "SecurityGroupInvalidPortValue", "Invalid value for port %s", k.query.Get(name))
		}
	}
	rows := []object{}
	for _, r := range k.region.neutron.rules.all() {
		if k.caller.canRead(r.projectID) {
			rows = append(rows, r.document())
		}
	}

	return rules.list(k, rows)
}

func showRule(k *call) (response, error) {
	r, err := k.rule(k.path("id"))
	if err != nil {
		return response{}, err
	}

	return rules.show(k, r.document())
}

// updateRule serves PUT, which cannot change anything: what is not refused as read
// only fails (as tried with Zed).
func updateRule(k *call) (response, error) {
	if _, err := k.rule(k.path("id")); err != nil {
		return response{}, err
	}
	if _, err := rules.change(k); err != nil {
		return response{}, err
	}

	return response{}, internalError()
}

func deleteRule(k *call) (response, error) {
	r, err := k.rule(k.path("id"))
	if err != nil {
		return response{}, err
	}
	k.region.neutron.rules.remove(r.id)
	k.region.neutron.groups.get(r.groupID).touch(k.now())

	return response{status: http.StatusNoContent}, nil
}

// createRule makes one or several rules of one group. Several are checked against
// each other first (neutron: db/securitygroups_db.py,
// create_security_group_rule_bulk_native).
func createRule(k *call) (response, error) {
	var made []*securityRule

	return rules.create(k, func(a attributes) (object, error) {
		g, err := k.group(a.text("security_group_id"))
		if err != nil {
			return nil, err
		}
		r := k.cloud.newRule(g, a.text("direction"), "IPv4")
		r.projectID, r.description = k.owner(a), a.text("description")
		if err := k.setRule(r, a); err != nil {
			return nil, err
		}
		for _, other := range made {
			if other.groupID != r.groupID {
				return nil, fail(http.StatusBadRequest, "SecurityGroupNotSingleGroupRules", "Only allowed to update rules for one security profile at a time")
			}
			if other.key() == r.key() {
				return nil, conflict("DuplicateSecurityGroupRuleInPost", "Duplicate Security Group Rule in POST.")
			}
		}
		state := k.region.neutron
		for _, other := range state.rulesOf(g.id) {
			if other.key() == r.key() {
				return nil, conflict("SecurityGroupRuleExists", "Security group rule already exists. Rule id is %s.", other.id)
			}
		}
		if err := k.cloud.ruleQuota(state, r.projectID, 1); err != nil {
			return nil, err
		}
		made = append(made, r)
		state.rules.put(r.id, r)
		g.touch(k.now())

		return rules.visible(k, r.document()), nil
	})
}

// ruleKey is what makes two rules the same.
type ruleKey struct{ direction, ethertype, protocol, ports, prefix, group string }

// key returns what a rule is compared by: a protocol is the same by its number, and
// a prefix of all addresses is the same as none (neutron:
// db/securitygroups_db.py, _get_ip_proto_name_and_num and
// _check_for_duplicate_rules_in_db).
func (r *securityRule) key() ruleKey {
	key := ruleKey{direction: r.direction, ethertype: r.ethertype, protocol: r.protocol, prefix: r.remotePrefix, group: r.remoteGroup}
	if n, ok := protocolNumbers[r.protocol]; ok {
		key.protocol = digits(n)
	}
	if prefix, err := netip.ParsePrefix(r.remotePrefix); err == nil {
		key.prefix = prefix.String()
		if prefix.Bits() == 0 {
			key.prefix = ""
		}
	}
	for _, n := range []*int{r.portMin, r.portMax} {
		key.ports += ":"
		if n != nil {
			key.ports += digits(*n)
		}
	}

	return key
}

// protocolNumbers are the protocols that rules know by name (neutron-lib:
// constants.py, IP_PROTOCOL_MAP and IP_PROTOCOL_NAME_ALIASES).
var protocolNumbers = map[string]int{
	"ah": 51, "dccp": 33, "egp": 8, "esp": 50, "gre": 47, "hopopt": 0, "icmp": 1, "igmp": 2, "ip": 0, "ipip": 4,
	"ipv6-encap": 41, "ipv6-frag": 44, "ipv6-icmp": 58, "icmpv6": 58, "ipv6-nonxt": 59, "ipv6-opts": 60, "ipv6-route": 43,
	"ospf": 89, "pgm": 113, "rsvp": 46, "sctp": 132, "tcp": 6, "udp": 17, "udplite": 136, "vrrp": 112,
}

// protocolNames are the same in the order of a message.
var protocolNames = []string{
	"ah", "dccp", "egp", "esp", "gre", "hopopt", "icmp", "igmp", "ip", "ipip", "ipv6-encap", "ipv6-frag", "ipv6-icmp", "icmpv6",
	"ipv6-nonxt", "ipv6-opts", "ipv6-route", "ospf", "pgm", "rsvp", "sctp", "tcp", "udp", "udplite", "vrrp",
}

// portProtocols are those that have ports.
var portProtocols = []string{"dccp", "sctp", "tcp", "udp", "udplite"}

// setRule sets what a rule lets through (neutron: db/securitygroups_db.py,
// _validate_security_group_rule).
func (k *call) setRule(r *securityRule, a attributes) error {
	if a.has("ethertype") && !a.null("ethertype") {
		switch ethertype := python(a["ethertype"]); strings.ToLower(ethertype) {
		case "ipv4":
		case "ipv6":
			r.ethertype = "IPv6"
		default:
			return fail(http.StatusBadRequest, "SecurityGroupRuleInvalidEtherType",
				"Security group rule for ethertype '%s' not supported. Allowed values are ['IPv4', 'IPv6'].", ethertype)
		}
	}
	if err := r.setProtocol(a); err != nil {
		return err
	}
	if err := r.setPorts(a); err != nil {
		return err
	}

	return k.setRemote(r, a)
}

func (r *securityRule) setProtocol(a attributes) error {
	if !a.has("protocol") || a.null("protocol") {
		return nil
	}
	given := python(a["protocol"])
	r.protocol = strings.ToLower(given)
	if n, err := strconv.Atoi(r.protocol); err == nil && n >= 0 && n <= 255 {
		return nil
	}
	if _, ok := protocolNumbers[r.protocol]; !ok {
		return fail(http.StatusBadRequest, "SecurityGroupRuleInvalidProtocol",
			"Security group rule protocol %s not supported. Only protocol values [None, %s] and integer representations [0 to 255] are supported.",
			given, quoted(protocolNames))
	}
	if strings.HasPrefix(r.protocol, "ipv6-") || r.protocol == "icmpv6" {
		if r.ethertype == "IPv4" {
			return fail(http.StatusBadRequest, "SecurityGroupEthertypeConflictWithProtocol",
				"Invalid ethertype %s for protocol %s.", r.ethertype, r.protocol)
		}
	}
	if r.ethertype == "IPv6" && (r.protocol == "icmp" || r.protocol == "icmpv6") {
		r.protocol = "ipv6-icmp"
	}

	return nil
}

// setPorts sets the range of ports, which are the type and code with ICMP.
func (r *securityRule) setPorts(a attributes) error {
	var err error
	if r.portMin, err = portNumber(a, "port_range_min"); err != nil {
		return err
	}
	if r.portMax, err = portNumber(a, "port_range_max"); err != nil {
		return err
	}
	if r.portMin == nil && r.portMax == nil {
		return nil
	}
	number, named := protocolNumbers[r.protocol]
	if !named {
		number, _ = strconv.Atoi(r.protocol)
	}
	byNumber := func(name string) bool { return r.protocol != "" && protocolNumbers[name] == number }
	switch {
	case r.protocol == "":
		return fail(http.StatusBadRequest, "SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given.")
	case slices.ContainsFunc(portProtocols, byNumber):
		return r.checkPorts()
	case byNumber("icmp") || byNumber("ipv6-icmp"):
		return r.checkICMP()
	}

	return fail(http.StatusBadRequest, "SecurityGroupInvalidProtocolForPort",
		"Ports cannot be specified for protocol %d. Ports are only supported for %s.", number, strings.ToUpper(strings.Join(portProtocols, ", ")))
}

func portNumber(a attributes, name string) (*int, error) {
	if !a.has(name) || a.null(name) {
		return nil, nil
	}
	n, err := strconv.Atoi(python(a[name]))
	if err != nil {
		return nil, badPort(python(a[name]))
	}

	return &n, nil
}

func badPort(value string) *apiError {
	return fail(http.StatusBadRequest, "SecurityGroupInvalidPortValue", "Invalid value for port %s", value)
}

func (r *securityRule) checkPorts() error {
	for _, n := range []*int{r.portMin, r.portMax} {
		if n != nil && (*n < 1 || *n > 65535) {
			return badPort(digits(*n))
		}
	}
	if r.portMin == nil || r.portMax == nil || *r.portMin > *r.portMax {
		return fail(http.StatusBadRequest, "SecurityGroupInvalidPortRange", "For TCP/UDP protocols, port_range_min must be <= port_range_max")
	}

	return nil
}

func (r *securityRule) checkICMP() error {
	for i, n := range []*int{r.portMin, r.portMax} {
		if n != nil && (*n < 0 || *n > 255) {
			field := []string{"port_range_min (type)", "port_range_max (code)"}[i]
			name, attribute, _ := strings.Cut(field, " ")

			return fail(http.StatusBadRequest, "SecurityGroupInvalidIcmpValue",
				"Invalid value for ICMP %s (%s) %d. It must be 0 to 255.", strings.Trim(attribute, "()"), name, *n)
		}
	}
	if r.portMin == nil {
		return fail(http.StatusBadRequest, "SecurityGroupMissingIcmpType",
			"ICMP code (port-range-max) %d is provided but ICMP type (port-range-min) is missing.", *r.portMax)
	}

	return nil
}

// setRemote sets who may send or receive: at most one of a prefix and a group.
func (k *call) setRemote(r *securityRule, a attributes) error {
	prefix, group := a.text("remote_ip_prefix"), a.text("remote_group_id")
	if prefix != "" && group != "" {
		return fail(http.StatusBadRequest, "SecurityGroupMultipleRemoteEntites",
			"Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.")
	}
	if group != "" {
		if _, err := k.group(group); err != nil {
			return err
		}
		r.remoteGroup = group
	}
	if prefix == "" {
		return nil
	}
	parsed, err := netip.ParsePrefix(prefix)
	if err != nil {
		ip, err := netip.ParseAddr(prefix)
		if err != nil {
			return fail(http.StatusBadRequest, "InvalidCIDR", "Invalid CIDR %s given as IP prefix.", prefix)
		}
		parsed = netip.PrefixFrom(ip, ip.BitLen())
	}
	if parsed.Addr().Is6() != (r.ethertype == "IPv6") {
		return fail(http.StatusBadRequest, "SecurityGroupRuleParameterConflict", "Conflicting value ethertype %s for CIDR %s", r.ethertype, prefix)
	}
	r.remotePrefix = parsed.String()

	return nil
}
