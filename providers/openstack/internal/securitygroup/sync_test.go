package securitygroup

import (
	"net/netip"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

const webRules = "tcp 30080 from 10.0.0.0/16, tcp 30443 from 10.0.0.0/16"

// TestNewGroup makes the group of a new Service, with all calls that it costs, and then
// nothing more.
func TestNewGroup(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, openstack.Options{})
	f.Interceptor().Reset()
	r := f.sync(bounded(t), f.client)
	must(t, r.err)
	check(t, "plan", strings.ReplaceAll(`create security group NAME, description "Security Group for default/web Service LoadBalancer in cluster kubernetes"
add to security group NAME the rules tcp 30080 from 10.0.0.0/16, tcp 30443 from 10.0.0.0/16
add security group NAME to the ports of node-001, node-002, node-003
remove from security group NAME the rules that it has from the start
`, "NAME", groupName), r.plan)
	check(t, "calls", "CreateSecurityGroup 1, CreateSecurityGroupRule 1, DeleteSecurityGroupRule 2, ListPorts 1, "+
		"ListSecurityGroupRules 1, ListSecurityGroups 2, UpdatePort 3", f.calls())
	check(t, "rules", webRules, f.rules(t))
	check(t, "nodes", "node-001 node-002 node-003", f.withGroup(t))
	groups, err := f.client.Network().SecurityGroupsByName(bounded(t), groupName)
	must(t, err)
	check(t, "description", "Security Group for default/web Service LoadBalancer in cluster kubernetes", groups[0].Description)
	f.Interceptor().Reset()
	f.mustSync(t)
	check(t, "plan of an unchanged group", "", f.sync(bounded(t), f.client).plan)
	check(t, "calls for an unchanged group", "ListPorts 1, ListSecurityGroupRules 1, ListSecurityGroups 1", f.calls())
}

// TestOtherGroupsOfPorts (OS-LB-18) keeps the groups that ports have besides.
func TestOtherGroupsOfPorts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	other := f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "other"})
	before, _ := f.Port(f.ports["node-001"])
	f.SetPortGroups(f.ports["node-001"], append(before.Groups, other)...)
	f.mustSync(t)
	port, _ := f.Port(f.ports["node-001"])
	if len(port.Groups) != 3 {
		t.Errorf("groups %v, want the default one, %s and %s", port.Groups, other, f.group(t))
	}
	must(t, f.remove(bounded(t), f.client).err)
	port, _ = f.Port(f.ports["node-001"])
	if len(port.Groups) != 2 {
		t.Errorf("after the deletion: groups %v, want the default one and %s", port.Groups, other)
	}
}

// TestReadsOfManyNodes counts the reads of ports: those of servers cost one for each 50, and
// only servers are read that have no port with the group.
func TestReadsOfManyNodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 100, openstack.Options{})
	f.Interceptor().Reset()
	must(t, f.sync(bounded(t), f.client).err)
	if got := f.Interceptor().Count("neutron.ListPorts"); got != 2 {
		t.Errorf("a new group: %d reads of ports, want 2", got)
	}
	f.Interceptor().Reset()
	f.mustSync(t)
	must(t, f.sync(bounded(t), f.client).err)
	check(t, "an unchanged group", "ListPorts 1, ListSecurityGroupRules 1, ListSecurityGroups 1", f.calls())
	f.Interceptor().Reset()
	f.join()
	f.leave("node-007")
	r := f.sync(bounded(t), f.client)
	must(t, r.err)
	check(t, "a Node joins, another one leaves", "ListPorts 2, ListSecurityGroupRules 1, ListSecurityGroups 1, UpdatePort 2", f.calls())
	if !strings.Contains(r.plan, "to the ports of node-101\n") || strings.Contains(f.withGroup(t), "node-007") {
		t.Errorf("plan %s\nnodes %s", r.plan, f.withGroup(t))
	}
	for _, port := range f.ports { // as if all had lost the group
		p, _ := f.Port(port)
		f.SetPortGroups(port, p.Groups[:1]...)
	}
	f.Interceptor().Reset()
	f.members = f.members[:99]
	must(t, f.sync(bounded(t), f.client).err)
	if got := f.Interceptor().Count("neutron.ListPorts"); got > 4 {
		t.Errorf("99 Nodes without the group: %d reads of ports, want at most 4", got)
	}
}

// TestRulesFollowTheService (OS-LB-18) replaces rules: missing ones are there before others
// go.
func TestRulesFollowTheService(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	f.mustSync(t)
	f.nodePorts = []request.Port{{Protocol: v1.ProtocolTCP, Number: 80, NodePort: 30080}, {Protocol: v1.ProtocolUDP, Number: 53, NodePort: 30053}}
	f.healthCheck = 32000
	r := f.sync(bounded(t), f.client)
	must(t, r.err)
	id := f.group(t)
	check(t, "plan", strings.ReplaceAll(`add to security group NAME the rules tcp 32000 from 10.0.0.0/16, udp 30053 from 10.0.0.0/16
remove from security group NAME the rules tcp 30443 from 10.0.0.0/16
`, "NAME", groupName+" ("+id+")"), r.plan)
	check(t, "calls", "CreateSecurityGroupRule 1, DeleteSecurityGroupRule 2, ListPorts 1, ListSecurityGroupRules 1, ListSecurityGroups 1", callsOf(f, func() {
		f.nodePorts = f.nodePorts[1:]
		f.nodePorts[0].NodePort = 30054
		must(t, f.sync(bounded(t), f.client).err)
	}))
}

// callsOf returns the calls of a function.
func callsOf(f *fixture, fn func()) string {
	f.Interceptor().Reset()
	fn()

	return f.calls()
}

// TestClientRanges (OS-LB-24) allows the ranges of clients, of both families, with a
// provider that keeps their addresses. All addresses are the same as no prefix to Neutron:
// creating one beside the other is refused for ever.
func TestClientRanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{Profile: openstack.OVN})
	f.nodePorts = f.nodePorts[:1]
	f.healthCheck = 32000
	f.sources = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("fd00::/8")}
	f.mustSync(t)
	check(t, "rules", "tcp 30080 from 0.0.0.0/0, tcp 30080 from fd00::/8, tcp 32000 from 10.0.0.0/16", f.rules(t))
	check(t, "calls for an unchanged group", "ListPorts 1, ListSecurityGroupRules 1, ListSecurityGroups 1", callsOf(f, func() { f.mustSyncOnce(t) }))
	f.sources = []netip.Prefix{netip.MustParsePrefix("::/0"), netip.MustParsePrefix("192.0.2.0/24")}
	f.mustSync(t)
	check(t, "rules", "tcp 30080 from 192.0.2.0/24, tcp 30080 from ::/0, tcp 32000 from 10.0.0.0/16", f.rules(t))
}

func (f *fixture) mustSyncOnce(t *testing.T) {
	t.Helper()
	must(t, f.sync(bounded(t), f.client).err)
}

// TestRulesThatMeanTheSame leaves rules alone that a user or an older version has written
// in another form.
func TestRulesThatMeanTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 0, openstack.Options{})
	f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: groupName, Rules: []openstack.SecurityRule{
		{Protocol: "6", From: 30080, To: 30080}, {Protocol: "tcp", From: 30443, To: 30443, Prefix: "0.0.0.0/0"},
	}})
	f.sources = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	r := f.sync(bounded(t), f.client)
	must(t, r.err)
	if strings.Contains(r.plan, "add") || !strings.Contains(r.plan, "the rules egress any to 0.0.0.0/0, egress any to ::/0\n") {
		t.Errorf("plan: %s", r.plan)
	}
	check(t, "plan of an unchanged group", "", f.sync(bounded(t), f.client).plan)
}
