package securitygroup

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestDeletedMeanwhile is no error: what is to be taken away is gone.
func TestDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason, op string
		meanwhile  func(f *fixture, group string)
	}{
		"group":           {"404 for the group", "neutron.DeleteSecurityGroup", func(f *fixture, group string) { f.DeleteSecurityGroup(group) }},
		"group and ports": {"the port has no such group any more", "neutron.UpdatePort", func(f *fixture, group string) { f.DeleteSecurityGroup(group) }},
		"port":            {"404 for the port", "neutron.UpdatePort", func(f *fixture, _ string) { f.DeletePort(f.ports["node-001"]) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 2, openstack.Options{})
			f.mustSync(t)
			group := f.group(t)
			f.Interceptor().Inject(test.op, simserver.First(1), simserver.Before(func() { test.meanwhile(f, group) }))
			if err := f.remove(bounded(t), f.client).err; err != nil {
				t.Errorf("%s: %v", test.reason, err)
			}
			check(t, "groups", []string(nil), f.groups(t))
		})
	}
}

// TestTagsOfOldVersions go with the group: old versions of the upstream cloud controller
// manager marked ports with its ID. Tags of users stay.
func TestTagsOfOldVersions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 0, openstack.Options{})
	group := f.AddSecurityGroup(openstack.SecurityGroupSpec{Name: groupName})
	port := f.AddPort(openstack.PortSpec{Network: f.network, Groups: []string{group}, Tags: []string{group, "mine"}})
	must(t, f.remove(bounded(t), f.client).err)
	ports, err := f.client.Network().PortsByIDFull(bounded(t), []string{port})
	must(t, err)
	check(t, "tags", []string{"mine"}, ports[0].Tags)
	check(t, "security groups", 0, len(ports[0].SecurityGroups))
	check(t, "groups", []string(nil), f.groups(t))
	check(t, "writes", map[string]int{"neutron.DeleteTag": 1, "neutron.UpdatePort": 1, "neutron.DeleteSecurityGroup": 1}, f.Writes())
}

// TestMissingExtensions works on clouds without extensions: one list of all ports instead of
// those with the group, writes without a revision, port security that is not shown is on.
func TestMissingExtensions(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	for name, test := range map[string]struct {
		reason  string
		options openstack.Options
		without []string
		reads   int
	}{
		"filter":             {"the filter is refused, and all ports are read", openstack.Options{}, []string{client.ExtensionGroupFilter}, 2},
		"filter, validation": {"the filter is ignored, so that all ports are read", openstack.Options{}, []string{client.ExtensionGroupFilter, client.ExtensionFilterValidation}, 1},
		"port security":      {"it is on", openstack.Options{}, []string{client.ExtensionPortSecurity}, 1},
		"revisions":          {"nothing can be compared", openstack.Options{}, []string{client.ExtensionRevisions}, 1},
		"tags":               {"no port has any", openstack.Options{}, []string{client.ExtensionTags}, 1},
		"bare":               {"no extension at all", openstack.Options{Profile: openstack.Bare}, nil, 1},
		"pages":              {"each list has several pages", openstack.Options{PageSize: 3}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 4, test.options)
			if test.without != nil {
				f.SetWithoutExtensions(test.without...)
			}
			f.AddPort(openstack.PortSpec{Network: f.network}) // of something else
			f.mustSync(t)
			check(t, "nodes", "node-001 node-002 node-003 node-004", f.withGroup(t))
			f.Interceptor().Reset()
			f.mustSyncOnce(t)
			check(t, test.reason, test.reads, f.Interceptor().Count("neutron.ListPorts"))
			check(t, "writes", map[string]int{}, f.Writes())
			f.leave("node-003")
			f.mustSync(t)
			check(t, "nodes", "node-001 node-002 node-004", f.withGroup(t))
			must(t, f.remove(bounded(t), f.client).err)
			check(t, "leaks", []string(nil), f.Leaks())
		})
	}
}

// TestSubports are the ports of Nodes whose address is in a trunk. Their device is not the
// server.
func TestSubports(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 1, openstack.Options{})
	outer := f.AddNetwork(openstack.NetworkSpec{Name: "outer"})
	f.AddSubnet(openstack.SubnetSpec{Network: outer, CIDR: "172.16.0.0/16"})
	f.joinAt("node-trunk", "10.0.9.9")
	parent := f.AddPort(openstack.PortSpec{Network: outer, Server: f.given.Servers["node-trunk"]})
	sub := f.AddPort(openstack.PortSpec{Network: f.network, IPs: []string{"10.0.9.9"}})
	f.AddTrunk("trunk", parent, openstack.Subport{Port: sub, Segment: 7})
	f.ports["node-trunk"] = sub
	f.mustSync(t)
	check(t, "nodes", "node-001 node-trunk", f.withGroup(t))
	check(t, "calls", "ListPorts 1, ListSecurityGroupRules 1, ListSecurityGroups 1", callsOf(f, func() { f.mustSyncOnce(t) }))
	f.leave("node-trunk")
	f.mustSync(t)
	check(t, "nodes", "node-001", f.withGroup(t))
}
