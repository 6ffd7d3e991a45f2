package openstack_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// site is a cloud with an external network, a private network with IPv4 and
// stateless IPv6 behind a router, and a client of the user ccm.
type site struct {
	*openstack.Cloud

	private, router, public string
	client                  *gophercloud.ServiceClient
}

// newSite makes a site. Stale reads are off, as its tests compare each response with
// what was written right before.
func newSite(t *testing.T, opts openstack.Options) *site {
	t.Helper()
	opts.StaleReads = new(openstack.StaleReads{})
	s := &site{Cloud: start(t, opts)}
	s.client = network(t, connect(t, s.Cloud, openstack.UserCCM), "")
	s.public = s.AddNetwork(openstack.NetworkSpec{Name: "public", External: true, Default: true})
	s.AddSubnet(openstack.SubnetSpec{Network: s.public, CIDR: "198.51.100.0/24", Pools: []string{"198.51.100.10-198.51.100.20"}})
	s.private = s.AddNetwork(openstack.NetworkSpec{Name: "private"})
	private4 := s.AddSubnet(openstack.SubnetSpec{Network: s.private, CIDR: "10.0.0.0/24"})
	private6 := s.AddSubnet(openstack.SubnetSpec{Network: s.private, CIDR: "fd00:1::/64", SLAAC: true})
	s.router = s.AddRouter(openstack.RouterSpec{Name: "router", External: s.public, Subnets: []string{private4, private6}})

	return s
}

// call sends a request that has to succeed, and returns the ID of what was made.
func (s *site) call(t *testing.T, method, path, body string) string {
	t.Helper()
	status, out := send(t, s.client, method, path, body)
	if status >= 300 {
		t.Errorf("%s %s: %d %v", method, path, status, out)
	}
	for _, made := range out {
		if made, ok := made.(map[string]any); ok {
			id, _ := made["id"].(string)

			return id
		}
	}

	return ""
}

func TestLeaksOfNeutron(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	node := s.AddPort(openstack.PortSpec{Network: s.private, Name: "node", IPs: []string{"10.0.0.5"}})
	gone := s.AddPort(openstack.PortSpec{Network: s.private, Name: "gone", IPs: []string{"10.0.0.6"}})
	s.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "g", Rules: []openstack.SecurityRule{{Protocol: "tcp", From: 22, To: 22, Prefix: "10.0.0.0/8"}}})
	fip := s.AddFloatingIP(openstack.FloatingIPSpec{Network: s.public, Address: "198.51.100.15", Port: node})
	if leaks := s.Leaks(); len(leaks) > 0 {
		t.Fatalf("what a test made is no leak: %v", leaks)
	}
	before := s.Snapshot()
	s.call(t, "POST", "floatingips", fmt.Sprintf(`{"floatingip":{"floating_network_id":%q,"description":"ours"}}`, s.public))
	lb := s.call(t, "POST", "security-groups", `{"security_group":{"name":"lb"}}`)
	s.call(t, "POST", "security-group-rules", fmt.Sprintf(`{"security_group_rule":{"security_group_id":%q,"direction":"ingress","protocol":"tcp","port_range_min":80,"port_range_max":80,"remote_ip_prefix":"10.0.0.0/8"}}`, lb))
	s.call(t, "PUT", "ports/"+node, fmt.Sprintf(`{"port":{"security_groups":[%q],"allowed_address_pairs":[{"ip_address":"10.200.0.0/24"}]}}`, lb))
	s.call(t, "PUT", "routers/"+s.router+"/add_extraroutes", `{"router":{"routes":[{"destination":"10.200.0.0/24","nexthop":"10.0.0.5"}]}}`)
	s.call(t, "PUT", "routers/"+s.router+"/tags/ours", "")
	s.call(t, "DELETE", "ports/"+gone, "")
	s.call(t, "DELETE", "floatingips/"+fip, "")
	want := []string{
		"address pair 10.200.0.0/24 of port node in network private",
		"floating IP 198.51.100.11",
		"lost floating IP 198.51.100.15",
		"lost port gone in network private",
		"lost security group default of port node in network private",
		"route 10.200.0.0/24 via 10.0.0.5 of router router",
		"rule ingress IPv4 tcp 80-80 from 10.0.0.0/8 of security group lb",
		"security group lb",
		"security group lb of port node in network private",
		"tag ours of router router",
	}
	check(t, "leaks", want, s.Leaks())
	if lines := strings.Join(s.Resources(), "\n"); !strings.Contains(lines, "floating IP 198.51.100.11, description ours") || strings.Contains(lines, lb) {
		t.Errorf("resources have settings and no IDs:\n%s", lines)
	}
	if !strings.Contains(s.Dump(), lb) {
		t.Error("the dump lacks an ID")
	}
	s.Restore(before)
	if leaks := s.Leaks(); len(leaks) > 0 {
		t.Errorf("left after the state is restored: %v", leaks)
	}
}

func TestNovaKnowsAddressesLater(t *testing.T) {
	t.Parallel()
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := testingclock.NewFakePassiveClock(begin)
	s := newSite(t, openstack.Options{Clock: clock}) // typical delays
	id := s.AddServer(openstack.ServerSpec{Name: "node-1", Networks: []openstack.ServerNetwork{{Name: "private", IPs: []string{"10.0.0.5"}}}})
	nova := compute(t, connect(t, s.Cloud, openstack.UserCCM), "")
	addresses := func(when string, want int) {
		t.Helper()
		server, err := servers.Get(t.Context(), nova, id).Extract()
		must(t, err)
		all, _ := server.Addresses["private"].([]any)
		check(t, "addresses "+when, want, len(all))
	}
	addresses("at first", 2)
	s.call(t, "POST", "floatingips", fmt.Sprintf(`{"floatingip":{"floating_network_id":%q,"port_id":%q}}`, s.public, s.ServerPorts(id)[0]))
	clock.SetTime(begin.Add(59 * time.Second))
	addresses("before the cache is renewed", 2)
	clock.SetTime(begin.Add(time.Minute))
	addresses("a minute later", 3)
	s.DeletePort(s.ServerPorts(id)[0])
	clock.SetTime(begin.Add(3 * time.Minute))
	addresses("without a port", 0)
}
