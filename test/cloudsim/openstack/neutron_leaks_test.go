package openstack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

func TestLeaksOfNeutron(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port(t, "node", "10.0.0.5")
	s.port(t, "gone", "10.0.0.6")
	s.vars["g"] = s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "g", Rules: []openstack.SecurityRule{{Protocol: "tcp", From: 22, To: 22, Prefix: "10.0.0.0/8"}}})
	s.vars["fip"] = s.cloud.AddFloatingIP(openstack.FloatingIPSpec{Network: s.vars["public"], Address: "198.51.100.15", Port: s.vars["node"]})
	s.cloud.SetPortStatus(s.vars["node"], "ACTIVE")
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Fatalf("what a test made is no leak: %v", leaks)
	}
	before := s.cloud.Snapshot()
	s.run(t,
		step{method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"$public$","description":"ours"}}`, status: 201},
		step{method: "POST", path: "security-groups", body: `{"security_group":{"name":"lb"}}`, status: 201, save: "lb"},
		step{method: "POST", path: "security-group-rules", body: `{"security_group_rule":{"security_group_id":"$lb$","direction":"ingress","protocol":"tcp","port_range_min":80,"port_range_max":80,"remote_ip_prefix":"10.0.0.0/8"}}`, status: 201},
		step{method: "PUT", path: "ports/$node$", body: `{"port":{"security_groups":["$lb$"],"allowed_address_pairs":[{"ip_address":"10.200.0.0/24"}]}}`, status: 200},
		step{method: "PUT", path: "routers/$router$/add_extraroutes", body: `{"router":{"routes":[{"destination":"10.200.0.0/24","nexthop":"10.0.0.5"}]}}`, status: 200},
		step{method: "PUT", path: "routers/$router$/tags/ours", status: 201},
		step{method: "DELETE", path: "ports/$gone$", status: 204},
		step{method: "DELETE", path: "floatingips/$fip$", status: 204},
	)
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
	if diff := cmp.Diff(want, s.cloud.Leaks()); diff != "" {
		t.Errorf("leaks (-want +got):\n%s", diff)
	}
	if lines := strings.Join(s.cloud.Resources(), "\n"); !strings.Contains(lines, "floating IP 198.51.100.11, description ours") || strings.Contains(lines, s.vars["lb"]) {
		t.Errorf("resources have settings and no IDs:\n%s", lines)
	}
	if !strings.Contains(s.cloud.Dump(), s.vars["lb"]) {
		t.Error("the dump lacks an ID")
	}
	s.cloud.Restore(before)
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left after the state is restored: %v", leaks)
	}
	s.run(t, step{method: "GET", path: "ports/$gone$", status: 200}, step{method: "GET", path: "security-groups/$lb$", status: 404, kind: "SecurityGroupNotFound"})
}

func TestChangesOfTestsAreNoLeaks(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.port(t, "node", "10.0.0.5")
	group := s.cloud.AddSecurityGroup(openstack.SecurityGroupSpec{Name: "g"})
	router := s.cloud.AddRouter(openstack.RouterSpec{Name: "r", Routes: [][2]string{{"10.200.0.0/24", "10.0.0.5"}}})
	fip := s.cloud.AddFloatingIP(openstack.FloatingIPSpec{Network: s.vars["public"]})
	s.cloud.SetPortGroups(s.vars["node"], group)
	s.cloud.DeleteSecurityGroup(group)
	s.cloud.DeleteRouterRoutes(router)
	s.cloud.DeleteFloatingIP(fip)
	s.cloud.DeletePort(s.vars["node"])
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("leaks: %v", leaks)
	}
}

func TestStaleReadsOfNeutron(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	s.cloud.SetStaleReads(openstack.StaleReads{Every: 1, Reads: 1})
	s.run(t,
		step{method: "POST", path: "ports", body: `{"port":{"network_id":"$private$","name":"p"}}`, status: 201, save: "p"},
		step{method: "GET", path: "ports/$p$", status: 404, kind: "PortNotFound"},
		step{method: "GET", path: "ports/$p$", status: 200},
		step{method: "POST", path: "floatingips", body: `{"floatingip":{"floating_network_id":"$public$","port_id":"$p$"}}`, status: 201},
		step{method: "PUT", path: "ports/$p$", body: `{"port":{"name":"q"}}`, status: 200},
	)
	if name := s.call(t, openstack.UserCCM, "GET", "ports/$p$", "").object()["name"]; name != "p" {
		t.Errorf("right after the change the name is %v, want the old one", name)
	}
	if name := s.call(t, openstack.UserCCM, "GET", "ports/$p$", "").object()["name"]; name != "q" {
		t.Errorf("then the name is %v, want the new one", name)
	}
}
