package openstack

import (
	"net/netip"
	"slices"
)

// ServerNetwork is a network that a server is in.
type ServerNetwork struct {
	// Name is the name of the network, which is made together with subnets for the
	// addresses when there is none: of a /24 for IPv4 and of a /64 for IPv6.
	Name string
	// IPs are the fixed addresses of the server's port in it; default one of each IP
	// version that the network has.
	IPs []string
	// FloatingIP is the floating IP of the first of them, if it has one. The network
	// that it is from is made, with the name public, when there is none.
	FloatingIP string
}

// address is an address of a server as Nova shows it.
type address struct {
	network  string // name
	ip       string
	version  int // 4 or 6
	mac      string
	floating bool
}

// computeHost is the host of all servers.
const computeHost = "compute-1"

// plug gives a new server a port in each network.
func (c *Cloud) plug(r *region, s *server, networks []ServerNetwork) {
	for _, n := range networks {
		in := c.networkFor(r, s.projectID, n.Name)
		p := &port{
			standard: c.newStandard("port", "", s.projectID), networkID: in.id, mac: c.newMAC(), status: "ACTIVE",
			vnicType: "normal", owner: "compute:" + s.zone, host: computeHost, automatic: true, insecure: in.noPortSecurity,
		}
		p.revision = 4 // as after the steps of Nova: create, bind, activate
		if !p.insecure {
			p.groups = []string{c.defaultGroup(r, s.projectID).id}
		}
		c.giveAddresses(r, p, n.IPs)
		r.neutron.ports.put(p.id, p)
		r.neutron.setDevice(p, s.id, p.owner)
		r.neutron.keep(p.id)
		if n.FloatingIP != "" {
			c.giveFloatingIP(r, p, netip.MustParseAddr(n.FloatingIP))
		}
	}
	s.addresses = r.addresses(s.id)
}

// networkFor returns the network with a name that a project can use. It makes one
// when there is none.
func (c *Cloud) networkFor(r *region, projectID, name string) *network {
	state := r.neutron
	for _, n := range state.networks.all() {
		if n.name == name && state.visibleNetwork(n.id, projectID, false) != nil {
			return n
		}
	}
	n := &network{standard: c.newStandard("network", name, projectID), mtu: 1450, kind: "vxlan", segment: 100 + state.networks.len()}
	state.networks.put(n.id, n)
	state.keep(n.id)

	return n
}

// giveAddresses gives a port of a test its addresses. It panics when one is taken.
func (c *Cloud) giveAddresses(r *region, p *port, ips []string) {
	var wanted []wantedIP
	if ips != nil {
		wanted = []wantedIP{}
	}
	for _, text := range ips {
		ip := netip.MustParseAddr(text)
		c.subnetFor(r, p.networkID, ip)
		wanted = append(wanted, wantedIP{ip: ip})
	}
	given, err := r.neutron.allocate(p, wanted)
	if err != nil {
		panic("openstack: addresses of a port: " + err.Error())
	}
	p.fixedIPs = given
}

// subnetFor makes a subnet for an address when the network has none.
func (c *Cloud) subnetFor(r *region, networkID string, ip netip.Addr) {
	state := r.neutron
	if slices.ContainsFunc(state.subnetsOf(networkID), func(n *subnet) bool { return n.cidr.Contains(ip) }) {
		return
	}
	bits := 24
	if ip.Is6() {
		bits = 64
	}
	cidr := netip.PrefixFrom(ip, bits).Masked()
	n := &subnet{standard: c.newStandard("subnet", "", state.networks.get(networkID).projectID), networkID: networkID, cidr: cidr}
	n.revision, n.gateway = 0, cidr.Addr().Next()
	n.pools = standardPools(cidr, n.gateway)
	state.subnets.put(n.id, n)
	state.keep(n.id)
}

// giveFloatingIP associates a floating IP with the first IPv4 address of a port of
// a test, whether or not there is a router between them.
func (c *Cloud) giveFloatingIP(r *region, p *port, ip netip.Addr) {
	state := r.neutron
	f := first(state.floatingIPs.where(func(f *floatingIP) bool { return f.address == ip }))
	if f == nil {
		f = &floatingIP{standard: c.newStandard("floating IP", "", p.projectID), networkID: c.externalFor(r, ip).id}
		f.revision = 0
		if err := c.holdAddress(r, f, "", ip); err != nil {
			panic("openstack: floating IP: " + err.Error())
		}
		state.floatingIPs.put(f.id, f)
	}
	for _, have := range p.fixedIPs {
		if have.ip.Is4() {
			f.portID, f.fixed, f.status = p.id, have.ip, "ACTIVE"
			if t := state.routerBetween(have.subnetID, f.networkID); t != nil {
				f.routerID = t.id
			}

			break
		}
	}
	state.keep(f.id)
}

// externalFor returns the external network that an address is in. It makes one when
// there is none.
func (c *Cloud) externalFor(r *region, ip netip.Addr) *network {
	state := r.neutron
	external := state.networks.where(func(n *network) bool { return n.external })
	for _, n := range external {
		if slices.ContainsFunc(state.subnetsOf(n.id), func(in *subnet) bool { return in.cidr.Contains(ip) }) {
			return n
		}
	}
	n := first(external)
	if n == nil {
		n = &network{
			standard: c.newStandard("network", "public", c.keystone.project(ProjectAdmin).id),
			mtu:      1500, kind: "flat", physical: "public", external: true, isDefault: true,
		}
		state.networks.put(n.id, n)
		state.keep(n.id)
	}
	c.subnetFor(r, n.id, ip)

	return n
}

// unplug removes the ports of a deleted server: those that Nova made go, and those
// that a user made become free (nova: network/neutron.py, deallocate_for_instance).
func (c *Cloud) unplug(r *region, s *server) {
	for _, p := range r.neutron.portsOf(s.id) {
		if p.automatic {
			c.removePort(r, p)
			delete(r.neutron.initial, p.id)

			continue
		}
		r.neutron.setDevice(p, "", "")
		p.status, p.host = "DOWN", ""
		p.touch(c.now())
		r.neutron.keepAgain(p.id)
	}
	s.addresses = nil
}

// addressesOf returns the addresses of a server as Nova has them in its cache.
func (c *Cloud) addressesOf(_ *region, s *server) []address { return slices.Clone(s.addresses) }

// portsChanged brings the addresses of a server up to date in Nova, which takes some
// time: see [Delays].AddressCache. Anything but the ID of a server is ignored.
func (c *Cloud) portsChanged(r *region, deviceID string) {
	if deviceID == "" || r.nova.servers.get(deviceID) == nil {
		return
	}
	name := r.name
	refresh := func(c *Cloud) {
		now := c.region(name)
		if s := now.nova.servers.get(deviceID); s != nil {
			s.addresses = now.addresses(deviceID)
		}
	}
	if c.delays.AddressCache <= 0 {
		refresh(c)

		return
	}
	c.after(c.delays.AddressCache, refresh)
}

// addresses returns the addresses of a server as they are now: of each port the
// fixed ones, each followed by its floating IPs. Subports of trunks are none of
// them.
func (r *region) addresses(serverID string) []address {
	state := r.neutron
	var all []address
	for _, p := range state.portsOf(serverID) {
		name := state.networks.get(p.networkID).name
		for _, have := range p.fixedIPs {
			all = append(all, newAddress(name, have.ip.String(), p.mac, false))
		}
		for _, f := range state.floatingIPs.where(func(f *floatingIP) bool { return f.portID == p.id }) {
			all = append(all, newAddress(name, f.address.String(), p.mac, true))
		}
	}

	return all
}

func newAddress(network, ip, mac string, floating bool) address {
	version := 4
	if netip.MustParseAddr(ip).Is6() {
		version = 6
	}

	return address{network: network, ip: ip, version: version, mac: mac, floating: floating}
}
