package openstack_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// novaAddresses returns the addresses of a server in Nova, by network and type.
func novaAddresses(t *testing.T, s *site, id string) []string {
	t.Helper()
	server, err := servers.Get(t.Context(), compute(t, connect(t, s.cloud, openstack.UserCCM), ""), id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, entries := range server.Addresses {
		for _, entry := range entries.([]any) {
			a := entry.(map[string]any)
			all = append(all, name+" "+a["OS-EXT-IPS:type"].(string)+" "+a["addr"].(string))
		}
	}

	return all
}

func TestServerPorts(t *testing.T) {
	t.Parallel()
	s := newSite(t, openstack.Options{})
	id := s.cloud.AddServer(openstack.ServerSpec{Name: "node-1", Networks: []openstack.ServerNetwork{
		{Name: "private", IPs: []string{"10.0.0.5"}, FloatingIP: "198.51.100.15"},
	}})
	pages, err := ports.List(s.ccm(t), ports.ListOpts{DeviceID: id}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all, err := ports.ExtractPorts(pages)
	if err != nil || len(all) != 1 {
		t.Fatalf("%+v, %v, want a port", all, err)
	}
	p := all[0]
	if p.Status != "ACTIVE" || p.DeviceOwner != "compute:nova" || len(p.FixedIPs) != 2 || p.FixedIPs[0].IPAddress != "10.0.0.5" || len(p.SecurityGroups) != 1 {
		t.Errorf("the port is %+v, want it ACTIVE with its address and that of the stateless subnet", p)
	}
	want := []string{"private fixed 10.0.0.5", "private fixed " + p.FixedIPs[1].IPAddress, "private floating 198.51.100.15"}
	if diff := cmp.Diff(want, novaAddresses(t, s, id)); diff != "" {
		t.Errorf("addresses in Nova (-want +got):\n%s", diff)
	}
	own := s.cloud.AddPort(openstack.PortSpec{Network: s.vars["shared"], Project: openstack.ProjectCCM, Server: id})
	s.cloud.DeleteServer(id)
	if _, ok := s.cloud.Port(p.ID); ok {
		t.Error("the port that Nova made is there after its server")
	}
	if kept, ok := s.cloud.Port(own); !ok || kept.Device != "" || kept.DeviceOwner != "" || kept.Status != "DOWN" {
		t.Errorf("the port that a user made is %+v, want it free", kept)
	}
	if leaks := s.cloud.Leaks(); len(leaks) > 0 {
		// The floating IP of the test is not associated any more.
		want := []string{"lost association with port 10.0.0.5 at 10.0.0.5 of floating IP 198.51.100.15"}
		if diff := cmp.Diff(want, leaks); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	}
}

func TestServerInUnknownNetworks(t *testing.T) {
	t.Parallel()
	cloud := start(t, openstack.Options{})
	id := cloud.AddServer(openstack.ServerSpec{Name: "node-1", Networks: []openstack.ServerNetwork{
		{Name: "lan", IPs: []string{"192.168.1.5", "fd00:5::5"}, FloatingIP: "203.0.113.9"}, {Name: "empty"},
	}})
	s := &site{cloud: cloud}
	want := []string{"lan fixed 192.168.1.5", "lan floating 203.0.113.9", "lan fixed fd00:5::5"}
	got := novaAddresses(t, s, id)
	if len(got) != len(want) || len(cloud.ServerPorts(id)) != 2 {
		t.Errorf("addresses are %v, want %v, in two ports", got, want)
	}
	if leaks := cloud.Leaks(); len(leaks) > 0 {
		t.Errorf("left: %v", leaks)
	}
}

func TestNovaKnowsAddressesLater(t *testing.T) {
	t.Parallel()
	begin := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := testingclock.NewFakePassiveClock(begin)
	s := newSite(t, openstack.Options{Clock: clock}) // typical delays
	id := s.cloud.AddServer(openstack.ServerSpec{Name: "node-1", Networks: []openstack.ServerNetwork{{Name: "private", IPs: []string{"10.0.0.5"}}}})
	before := novaAddresses(t, s, id)
	if _, err := floatingips.Create(t.Context(), s.ccm(t), floatingips.CreateOpts{
		FloatingNetworkID: s.vars["public"], PortID: s.cloud.ServerPorts(id)[0],
	}).Extract(); err != nil {
		t.Fatal(err)
	}
	clock.SetTime(begin.Add(59 * time.Second))
	if diff := cmp.Diff(before, novaAddresses(t, s, id)); diff != "" {
		t.Errorf("before the cache is renewed (-want +got):\n%s", diff)
	}
	clock.SetTime(begin.Add(time.Minute))
	if got := novaAddresses(t, s, id); len(got) != len(before)+1 {
		t.Errorf("a minute later the addresses are %v, want the floating IP among them", got)
	}
	s.cloud.DeletePort(s.cloud.ServerPorts(id)[0])
	clock.SetTime(begin.Add(3 * time.Minute))
	if got := novaAddresses(t, s, id); len(got) > 0 {
		t.Errorf("without a port the addresses are %v", got)
	}
}
