package openstack

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// vipSite is a cloud with a network for virtual IP addresses.
func vipSite(t *testing.T) (*Cloud, vipSpec) {
	t.Helper()
	cloud, err := Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	network := cloud.AddNetwork(NetworkSpec{Name: "private"})
	subnet := cloud.AddSubnet(SubnetSpec{Network: network, CIDR: "10.0.0.0/29"})
	cloud.AddSubnet(SubnetSpec{Network: network, CIDR: "fd00:1::/64", SLAAC: true})

	return cloud, vipSpec{lb: "lb", project: cloud.ProjectID(ProjectCCM), network: network, subnet: subnet}
}

func TestVIPPort(t *testing.T) {
	t.Parallel()
	cloud, spec := vipSite(t)
	cloud.inspect(func() {
		r := cloud.region("")
		p, err := cloud.createVIP(r, spec)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{p.name, p.deviceID, p.owner, p.status, p.projectID, p.fixedIPs[0].ip.String()}
		if diff := cmp.Diff([]string{"octavia-lb-lb", "lb-lb", "Octavia", "DOWN", spec.project, "10.0.0.2"}, got); diff != "" {
			t.Errorf("the port (-want +got):\n%s", diff)
		}
		if len(p.fixedIPs) != 2 || !p.fixedIPs[1].ip.Is6() {
			t.Errorf("addresses are %v, want one of the stateless subnet too", p.fixedIPs)
		}
		cloud.ensureVIPGroup(r, p, spec.lb, []vipRule{{protocol: "tcp", port: 80, cidr: "10.0.0.0/8"}})
		cloud.ensureVIPGroup(r, p, spec.lb, []vipRule{{protocol: "tcp", port: 443}})
		g := cloud.vipGroup(r, spec.lb)
		if g.name != "lb-lb" || !slices.Equal(p.groups, []string{g.id}) || len(r.neutron.rulesOf(g.id)) != 3 {
			t.Errorf("the group is %+v with %d rules, want the latest rule beside the two that let everything out", g, len(r.neutron.rulesOf(g.id)))
		}
		beside, err := cloud.createAmphoraPort(r, p, spec.lb)
		if err != nil || beside.fixedIPs[0].ip.String() != "10.0.0.3" || beside.pairs[0].ip != "10.0.0.2" {
			t.Errorf("%+v, %v, want a port with the next address and a pair for the virtual one", beside, err)
		}
		cloud.removeVIPGroup(r, spec.lb)
		cloud.removeAmphoraPorts(r, spec.lb)
		cloud.releaseVIP(r, p.id)
		if r.neutron.ports.len() > 0 || len(p.groups) > 0 || cloud.vipGroup(r, spec.lb) != nil || len(r.neutron.leases) > 0 {
			t.Error("something of the load balancer is left")
		}
		cloud.releaseVIP(r, p.id) // a user has deleted it
	})
}

func TestVIPPortOfUser(t *testing.T) {
	t.Parallel()
	cloud, spec := vipSite(t)
	id := cloud.AddPort(PortSpec{Network: spec.network, Name: "mine"})
	cloud.inspect(func() {
		r := cloud.region("")
		cloud.takeVIP(r, r.neutron.ports.get(id), spec.lb)
		if p := r.neutron.ports.get(id); p.owner != "Octavia" || p.deviceID != "lb-lb" || p.name != "mine" {
			t.Errorf("the port is %+v", p)
		}
		cloud.releaseVIP(r, id)
		if p := r.neutron.ports.get(id); p == nil || p.owner != "" || p.deviceID != "" {
			t.Errorf("the port is %+v, want it to stay and to be free", p)
		}
	})
}

func TestVIPErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(c *Cloud, spec *vipSpec)
		want   string
	}{
		"network": {"", func(_ *Cloud, s *vipSpec) { s.network = "x" }, "NetworkNotFound"},
		"subnet":  {"", func(_ *Cloud, s *vipSpec) { s.subnet = "x" }, "SubnetNotFound"},
		"taken":   {"an address in use", func(_ *Cloud, s *vipSpec) { s.ip = netip.MustParseAddr("10.0.0.3") }, "IpAddressAlreadyAllocated"},
		"outside": {"an address of another subnet", func(_ *Cloud, s *vipSpec) { s.ip = netip.MustParseAddr("10.1.0.3") }, "InvalidIpForSubnet"},
		"exhausted": {"no address is free", func(c *Cloud, s *vipSpec) {
			c.AddPort(PortSpec{Network: s.network, IPs: []string{"10.0.0.2", "10.0.0.4", "10.0.0.5", "10.0.0.6"}})
		}, "IpAddressGenerationFailure"},
		"quota": {"", func(c *Cloud, _ *vipSpec) { c.SetQuotas(ProjectCCM, Quotas{Ports: 1}) }, "OverQuota"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, spec := vipSite(t)
			cloud.AddPort(PortSpec{Network: spec.network, IPs: []string{"10.0.0.3"}})
			tc.change(cloud, &spec)
			cloud.inspect(func() {
				before := cloud.region("").neutron.ports.len()
				_, err := cloud.createVIP(cloud.region(""), spec)
				if err == nil || asAPIError(err).kind != tc.want {
					t.Errorf("%s: %v, want %s", tc.reason, err, tc.want)
				}
				if cloud.region("").neutron.ports.len() != before {
					t.Error("a port is left")
				}
			})
		})
	}
}

func TestVisibleToProject(t *testing.T) {
	t.Parallel()
	cloud, spec := vipSite(t)
	other := cloud.ProjectID(ProjectOther)
	external := cloud.AddNetwork(NetworkSpec{Name: "public", External: true})
	hidden := cloud.AddSubnet(SubnetSpec{Network: external, CIDR: "198.51.100.0/24"})
	port := cloud.AddPort(PortSpec{Network: spec.network})
	cloud.inspect(func() {
		s := cloud.region("").neutron
		got := []bool{
			s.visibleNetwork(spec.network, spec.project, false) != nil, s.visibleNetwork(spec.network, other, false) != nil,
			s.visibleNetwork(external, other, false) != nil, s.visibleSubnet(hidden, spec.project, false) != nil,
			s.visibleSubnet(hidden, spec.project, true) != nil, s.visibleSubnet(spec.subnet, other, false) != nil,
			s.visiblePort(port, spec.project, false) != nil, s.visiblePort(port, other, false) != nil,
		}
		want := []bool{true, false, true, false, true, false, true, false}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		if n := s.available(s.subnets.get(spec.subnet), 10); n != 4 {
			t.Errorf("%d addresses are free, want 4", n)
		}
	})
}
