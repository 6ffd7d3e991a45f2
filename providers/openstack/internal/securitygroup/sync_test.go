package securitygroup

import (
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

const webRules = "tcp 30080 from 10.0.0.0/16, tcp 30443 from 10.0.0.0/16"

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

// callsOf returns the calls of a function.
func callsOf(f *fixture, fn func()) string {
	f.Interceptor().Reset()
	fn()

	return f.calls()
}

func (f *fixture) mustSyncOnce(t *testing.T) {
	t.Helper()
	must(t, f.sync(bounded(t), f.client).err)
}
