package networks_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/networks"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// nodesFixture is a cloud with servers in two subnets.
type nodesFixture struct {
	*fixture

	network, first, second, v6 string
}

func newNodesFixture(t *testing.T) *nodesFixture {
	t.Helper()
	f := &nodesFixture{fixture: newFixture(t, openstack.Options{})}
	f.network = f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	f.first = f.AddSubnet(openstack.SubnetSpec{Network: f.network, CIDR: "10.0.0.0/24"})
	f.second = f.AddSubnet(openstack.SubnetSpec{Network: f.network, CIDR: "10.1.0.0/24"})
	f.v6 = f.AddSubnet(openstack.SubnetSpec{Network: f.network, CIDR: "fd00::/64"})

	return f
}

// addServer adds a server with a port.
func (f *nodesFixture) addServer(name string, ips ...string) string {
	server := f.AddServer(openstack.ServerSpec{Name: name})
	f.AddPort(openstack.PortSpec{Network: f.network, Server: server, IPs: ips})

	return server
}

// What one Service has read is used for the others, until an address is missing.
func TestMemberSubnetsAge(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	f := newNodesFixture(t)
	byNode := map[string]string{"a": f.addServer("a", "10.0.0.11"), "b": f.addServer("b")}
	targets := []request.Target{target("a", "10.0.0.11"), target("b", "10.1.0.12")}
	check := func(reason, want string, calls int) {
		t.Helper()
		got := f.MemberSubnets(bounded(t), targets, servers(byNode))
		if diff := cmp.Diff(map[string]string{"a": f.first, "b": want}, got.ByNode); diff != "" || got.Err != nil {
			t.Errorf("%s: %v: %s", reason, got.Err, diff)
		}
		f.wantCalls(t, reason, map[string]int{opPorts: calls})
	}
	check("no port has the address of b", "", 1)
	f.AddPort(openstack.PortSpec{Network: f.network, Server: byNode["b"], IPs: []string{"10.1.0.12"}})
	check("that is not known yet", "", 1)
	f.tick(time.Minute)
	check("a missing address is looked up again", f.second, 2)
	f.tick(networks.DefaultMaxAge - time.Second)
	check("others are kept", f.second, 2)
	f.tick(2 * time.Second)
	check("for some minutes", f.second, 3)
}

// OS-LB-25: the subnet of a load balancer is that of the first Node, and of no other one.
func TestVIPSubnet(t *testing.T) {
	t.Parallel()
	f := newNodesFixture(t)
	byNode := map[string]string{"a": f.addServer("a", "10.0.0.11"), "b": f.addServer("b", "10.1.0.12"), "outside": ""}
	a, b, wrong := target("a", "10.0.0.11"), target("b", "10.1.0.12"), target("a", "192.0.2.11")
	outside, unknown := target("outside", "192.0.2.14"), target("unknown", "10.0.0.15")
	for name, tc := range map[string]struct {
		reason  string
		targets []request.Target
		fault   simserver.Fault
		want    string
		err     error
		message string
	}{
		"First":    {reason: "in the given order", targets: []request.Target{b, a, unknown}, want: f.second},
		"Outside":  {reason: "it has no subnet here", targets: []request.Target{outside, a}, want: f.first},
		"Unknown":  {reason: "another Node may be in another subnet", targets: []request.Target{unknown, a}, err: errUnknown},
		"NoPort":   {reason: "the user must choose", targets: []request.Target{wrong, b}, err: apierr.ErrInvalid, message: "no port of the server of node a has its address 192.0.2.11. Set subnet-id"},
		"NoServer": {reason: "the user must choose", targets: []request.Target{outside}, err: apierr.ErrInvalid, message: "no node is a server of this cloud"},
		"NoNode":   {reason: "the user must choose", err: apierr.ErrInvalid, message: "no node is a server of this cloud"},
		"Denied":   {reason: "nothing is known", targets: []request.Target{target("c", "10.0.0.11")}, fault: openstack.Denied(), err: apierr.ErrDenied},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.fault != nil {
				byNode["c"] = byNode["a"]
				f.tick(2 * networks.DefaultMaxAge)
				defer f.Interceptor().Inject(opPorts, simserver.Always(), tc.fault).Remove()
			}
			for what, find := range map[string]func() (string, error){
				"alone": func() (string, error) { return f.VIPSubnet(bounded(t), tc.targets, servers(byNode)) },
				"with others": func() (string, error) {
					return f.MemberSubnets(bounded(t), tc.targets, servers(byNode)).VIP(tc.targets)
				},
			} {
				got, err := find()
				if got != tc.want || !errors.Is(err, tc.err) || err != nil && !strings.Contains(err.Error(), tc.message) {
					t.Errorf("%s, %s: got %q, %v, want %q", tc.reason, what, got, err, tc.want)
				}
			}
		})
	}
}
