package securitygroup

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// TestDiff has what no plan of providers/openstack/testdata/plans has.
func TestDiff(t *testing.T) {
	t.Parallel()
	d := &Desired{Names: namesOfService(), Nodes: []Node{{Name: "node-1", Address: netip.MustParseAddr("10.0.0.1"), Server: "s1", Subnet: "s"}}}
	port := &client.Port{
		ID: "p1", DeviceID: "s1", FixedIPs: []client.FixedIP{{SubnetID: "s", Address: "10.0.0.1"}}, SecurityGroups: []string{"g"},
	}
	o := &Observed{Group: &client.SecurityGroup{ID: "g"}, Ports: map[string][]*client.Port{"s1": {port}}}
	check(t, "of two reads of a port, the one without the group is older", "", Diff(o, d).String())
	for i := range 1000 {
		o.Members = append(o.Members, &client.Port{ID: fmt.Sprintf("port-%04d", i), DeviceID: "s9"})
	}
	check(t, "the plan for many ports is short",
		"remove security group "+groupName+" (g) from the ports port-0000, port-0001, port-0002, port-0003, port-0004 and 995 more\n", Diff(o, d).String())
}
