package openstack_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func listGroups(t *testing.T, s *site, opts groups.ListOpts) []groups.SecGroup {
	t.Helper()
	pages, err := groups.List(s.ccm(t), opts).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := groups.ExtractGroups(pages)
	if err != nil {
		t.Fatal(err)
	}

	return all
}

func TestNewGroupsLetEverythingOut(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	made, err := groups.Create(t.Context(), s.ccm(t), groups.CreateOpts{Name: "lb", Description: "d"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range made.Rules {
		got = append(got, strings.Join([]string{r.Direction, r.EtherType, r.Protocol, r.RemoteIPPrefix, r.RemoteGroupID}, " "))
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"egress IPv4   ", "egress IPv6   "}, got); diff != "" {
		t.Errorf("rules of a new group (-want +got):\n%s", diff)
	}
	if _, err := groups.Create(t.Context(), s.ccm(t), groups.CreateOpts{Name: "lb"}).Extract(); err != nil {
		t.Errorf("a second group with the name: %v, want names not to be unique", err)
	}
	if found := listGroups(t, s, groups.ListOpts{Name: "LB"}); len(found) != 2 {
		t.Errorf("%d groups by name in capitals, want both: MySQL compares without case", len(found))
	}
	def := listGroups(t, s, groups.ListOpts{Name: "default"})
	if len(def) != 1 || len(def[0].Rules) != 4 {
		t.Fatalf("groups default are %+v, want one whose members reach each other", def)
	}
	s.vars["default"], s.vars["lb"] = def[0].ID, made.ID
	s.run(t,
		step{method: "POST", path: "security-groups", body: `{"security_group":{"name":"default"}}`, status: 409, kind: "SecurityGroupDefaultAlreadyExists", message: "Default security group already exists."},
		step{method: "PUT", path: "security-groups/$default$", body: `{"security_group":{"name":"x"}}`, status: 409, kind: "SecurityGroupCannotUpdateDefault", message: "Updating default security group not allowed."},
		step{method: "DELETE", path: "security-groups/$default$", status: 409, kind: "SecurityGroupCannotRemoveDefault"},
		step{method: "DELETE", path: "security-groups/$nowhere$", status: 404, kind: "SecurityGroupNotFound", message: "Security group $nowhere$ does not exist"},
		step{user: openstack.UserOther, method: "GET", path: "security-groups/$lb$", status: 404, kind: "SecurityGroupNotFound"},
		step{method: "POST", path: "ports", body: `{"port":{"network_id":"$private$","security_groups":["$lb$"]}}`, status: 201, save: "p"},
		step{method: "DELETE", path: "security-groups/$lb$", status: 409, kind: "SecurityGroupInUse", message: "Security Group $lb$ in use."},
		step{method: "DELETE", path: "ports/$p$", status: 204},
		step{method: "DELETE", path: "security-groups/$lb$", status: 204},
	)
}

func TestGroupQuotas(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	for i := range 9 { // one more is default
		if _, err := groups.Create(t.Context(), s.ccm(t), groups.CreateOpts{Name: fmt.Sprint("lb-", i)}).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	_, err := groups.Create(t.Context(), s.ccm(t), groups.CreateOpts{Name: "one more"}).Extract()
	wantNeutronError(t, err, 409, "OverQuota")
	id := listGroups(t, s, groups.ListOpts{Name: "lb-0"})[0].ID
	add := func(port int) error {
		_, err := rules.Create(t.Context(), s.ccm(t), rules.CreateOpts{
			SecGroupID: id, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP,
			PortRangeMin: port, PortRangeMax: port,
		}).Extract()

		return err
	}
	for i := range 100 - 4 - 9*2 { // those of default and of nine groups are there
		if err := add(1000 + i); err != nil {
			t.Fatal(err)
		}
	}
	wantNeutronError(t, add(2000), 409, "OverQuota")
}

// TestRules has responses of a Neutron of Zed.
func TestRules(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.vars["g"] = s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "g"})
	s.vars["h"] = s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "h"})
	add := func(attributes string, status int, kind, message string) step {
		return step{
			method: "POST", path: "security-group-rules", status: status, kind: kind, message: message,
			body: `{"security_group_rule":{"security_group_id":"$g$","direction":"ingress",` + attributes + `}}`,
		}
	}
	ok := func(attributes, save string) step {
		made := add(attributes, 201, "", "")
		made.save = save

		return made
	}
	bulk := func(status int, kind string, entries ...string) step {
		return step{
			method: "POST", path: "security-group-rules", status: status, kind: kind,
			body: `{"security_group_rules":[` + strings.Join(entries, ",") + `]}`,
		}
	}
	entry := func(group string, port int) string {
		return fmt.Sprintf(`{"security_group_id":"%s","direction":"ingress","protocol":"tcp","port_range_min":%d,"port_range_max":%d}`, group, port, port)
	}
	exists, conflict, ports := "SecurityGroupRuleExists", "SecurityGroupRuleParameterConflict", "SecurityGroupInvalidPortRange"
	http := `"protocol":"tcp","port_range_min":80,"port_range_max":80`
	s.run(t,
		ok(http+`,"remote_ip_prefix":"10.0.0.0/8"`, "first"),
		add(http+`,"remote_ip_prefix":"10.0.0.0/8","ethertype":"IPv4"`, 409, exists, "Security group rule already exists. Rule id is $first$."),
		add(`"protocol":"6","port_range_min":80,"port_range_max":80,"remote_ip_prefix":"10.0.0.0/8"`, 409, exists, ""),
		add(`"protocol":6,"port_range_min":"80","port_range_max":80,"remote_ip_prefix":"10.0.0.0/8"`, 409, exists, ""),
		ok(`"protocol":"TCP","port_range_min":81,"port_range_max":81,"remote_ip_prefix":"10.0.0.1/8"`, "host bits"),
		// All addresses are the same as none, of each IP version.
		ok(`"protocol":"tcp","port_range_min":82,"port_range_max":82,"remote_ip_prefix":"0.0.0.0/0"`, "all4"),
		add(`"protocol":"tcp","port_range_min":82,"port_range_max":82`, 409, exists, "Security group rule already exists. Rule id is $all4$."),
		ok(`"protocol":"tcp","port_range_min":82,"port_range_max":82,"ethertype":"IPv6"`, "all6"),
		add(`"protocol":"tcp","port_range_min":82,"port_range_max":82,"remote_ip_prefix":"::/0","ethertype":"IPv6"`, 409, exists, "Security group rule already exists. Rule id is $all6$."),
		add(`"protocol":"tcp","remote_ip_prefix":"::/0"`, 400, conflict, "Conflicting value ethertype IPv4 for CIDR ::/0"),
		add(`"protocol":"tcp","remote_ip_prefix":"10.0.0.0/8","ethertype":"IPv6"`, 400, conflict, "Conflicting value ethertype IPv6 for CIDR 10.0.0.0/8"),
		add(`"protocol":"tcp","port_range_min":90,"port_range_max":80`, 400, ports, "For TCP/UDP protocols, port_range_min must be <= port_range_max"),
		add(`"protocol":"tcp","port_range_max":80`, 400, ports, ""),
		add(`"protocol":"tcp","port_range_min":80`, 400, ports, ""),
		add(`"protocol":"tcp","port_range_min":0,"port_range_max":80`, 400, "SecurityGroupInvalidPortValue", "Invalid value for port 0"),
		add(`"protocol":"tcp","port_range_min":80,"port_range_max":70000`, 400, "SecurityGroupInvalidPortValue", "Invalid value for port 70000"),
		add(`"port_range_min":80,"port_range_max":80`, 400, "SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given."),
		add(`"protocol":"esp","port_range_min":80,"port_range_max":80`, 400, "SecurityGroupInvalidProtocolForPort", "Ports cannot be specified for protocol 50. Ports are only supported for DCCP, SCTP, TCP, UDP, UDPLITE."),
		add(`"protocol":"foo"`, 400, "SecurityGroupRuleInvalidProtocol", "Security group rule protocol foo not supported. Only protocol values [None, 'ah', 'dccp', 'egp', 'esp', 'gre', 'hopopt', 'icmp', 'igmp', 'ip', 'ipip', 'ipv6-encap', 'ipv6-frag', 'ipv6-icmp', 'icmpv6', 'ipv6-nonxt', 'ipv6-opts', 'ipv6-route', 'ospf', 'pgm', 'rsvp', 'sctp', 'tcp', 'udp', 'udplite', 'vrrp'] and integer representations [0 to 255] are supported."),
		add(`"protocol":"300"`, 400, "SecurityGroupRuleInvalidProtocol", ""),
		add(`"protocol":"icmpv6"`, 400, "SecurityGroupEthertypeConflictWithProtocol", "Invalid ethertype IPv4 for protocol icmpv6."),
		ok(`"protocol":"icmpv6","ethertype":"IPv6"`, "icmp6"),
		add(`"protocol":"icmp","ethertype":"IPv6"`, 409, exists, "Security group rule already exists. Rule id is $icmp6$."),
		ok(`"protocol":"icmp","port_range_min":8`, "echo"),
		add(`"protocol":"icmp","port_range_max":8`, 400, "SecurityGroupMissingIcmpType", "ICMP code (port-range-max) 8 is provided but ICMP type (port-range-min) is missing."),
		add(`"protocol":"icmp","port_range_min":8,"port_range_max":300`, 400, "SecurityGroupInvalidIcmpValue", "Invalid value for ICMP code (port_range_max) 300. It must be 0 to 255."),
		ok(`"protocol":"vrrp"`, "vrrp"),
		add(`"protocol":"112"`, 409, exists, "Security group rule already exists. Rule id is $vrrp$."),
		add(`"ethertype":"foo"`, 400, "SecurityGroupRuleInvalidEtherType", "Security group rule for ethertype 'foo' not supported. Allowed values are ['IPv4', 'IPv6']."),
		add(`"remote_ip_prefix":"foo"`, 400, "InvalidCIDR", "Invalid CIDR foo given as IP prefix."),
		add(`"remote_group_id":"$g$","remote_ip_prefix":"10.0.0.0/8"`, 400, "SecurityGroupMultipleRemoteEntites", ""),
		add(`"remote_group_id":"$nowhere$"`, 404, "SecurityGroupNotFound", "Security group $nowhere$ does not exist"),
		step{method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"$g$","direction":"foo"}}`, status: 400, kind: "HTTPBadRequest", message: "Invalid input for direction. Reason: foo is not in valid_values."},
		step{method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"$nowhere$","direction":"ingress"}}`, status: 404, kind: "SecurityGroupNotFound"},
		step{method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"direction":"ingress"}}`, status: 400, kind: "HTTPBadRequest", message: "Failed to parse request. Required attribute 'security_group_id' not specified"},
		// Several at once: all or none.
		bulk(201, "", entry("$g$", 1000), entry("$g$", 1001)),
		bulk(409, exists, entry("$g$", 1002), entry("$g$", 1001)),
		bulk(409, "DuplicateSecurityGroupRuleInPost", entry("$g$", 1003), entry("$g$", 1003)),
		bulk(400, "SecurityGroupNotSingleGroupRules", entry("$g$", 1004), entry("$h$", 1004)),
		bulk(400, "HTTPBadRequest"),
		step{method: "PUT", path: "security-group-rules/$first$", body: `{"security_group_rule":{"port_range_max":90}}`, status: 400, kind: "HTTPBadRequest", message: "Cannot update read-only attribute port_range_max"},
		step{method: "PUT", path: "security-group-rules/$first$", body: `{"security_group_rule":{"description":"x"}}`, status: 500, kind: "HTTPInternalServerError"},
		step{method: "DELETE", path: "security-group-rules/$first$", status: 204},
		step{method: "DELETE", path: "security-group-rules/$first$", status: 404, kind: "SecurityGroupRuleNotFound", message: "Security group rule $first$ does not exist"},
		step{user: openstack.UserOther, method: "DELETE", path: "security-group-rules/$all4$", status: 404, kind: "SecurityGroupRuleNotFound"},
	)
	for _, port := range []string{"1002", "1003", "1004"} {
		if rows := s.call(t, openstack.UserCCM, "GET", "security-group-rules?port_range_min="+port, "").body["security_group_rules"].([]any); len(rows) > 0 {
			t.Errorf("%s is there although its request was refused", port)
		}
	}
	if rows := s.call(t, openstack.UserCCM, "GET", "security-group-rules?port_range_min=1001", "").body["security_group_rules"].([]any); len(rows) != 1 {
		t.Errorf("%d rules of port 1001, want one", len(rows))
	}
	made := s.call(t, openstack.UserCCM, "GET", "security-group-rules/$"+"host bits$", "").object()
	if made["remote_ip_prefix"] != "10.0.0.1/8" || made["normalized_cidr"] != "10.0.0.0/8" || made["protocol"] != "tcp" {
		t.Errorf("a prefix with host bits is %v and %v, want it kept and normalized", made["remote_ip_prefix"], made["normalized_cidr"])
	}
}

func TestBulkRulesOfGophercloud(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	id := s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "g", Rules: []openstack.SecurityRule{{Protocol: "tcp", From: 22, To: 22, Prefix: "10.0.0.0/8"}}})
	made, err := rules.CreateBulk(t.Context(), s.ccm(t), []rules.CreateOpts{
		{SecGroupID: id, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 80, PortRangeMax: 80},
		{SecGroupID: id, Direction: rules.DirIngress, EtherType: rules.EtherType6, Protocol: rules.ProtocolUDP, PortRangeMin: 53, PortRangeMax: 53, RemoteIPPrefix: "fd00::/64"},
	}).Extract()
	if err != nil || len(made) != 2 {
		t.Fatalf("%+v, %v, want two rules", made, err)
	}
	g, err := groups.Get(t.Context(), s.ccm(t), id).Extract()
	if err != nil || len(g.Rules) != 5 {
		t.Errorf("%d rules, %v, want 5", len(g.Rules), err)
	}
}
