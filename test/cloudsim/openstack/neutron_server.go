package openstack

import (
	"net/netip"
	"slices"
)

// ServerNetwork is a network that a server is in.
type ServerNetwork struct {
	// Name is the name of the network.
	Name string
	// IPs are the fixed addresses of the server's port in it.
	IPs []string
	// FloatingIP is the floating IP of the first of them, if it has one.
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

// plug gives a new server its ports. Without Neutron it only has addresses.
func (c *Cloud) plug(_ *region, s *server, networks []ServerNetwork) {
	for _, n := range networks {
		mac := "fa:16:3e:" + macTail(c.ids.Hex("mac", 6))
		for _, ip := range n.IPs {
			s.addresses = append(s.addresses, newAddress(n.Name, ip, mac, false))
		}
		if n.FloatingIP != "" {
			s.addresses = append(s.addresses, newAddress(n.Name, n.FloatingIP, mac, true))
		}
	}
}

// unplug removes the ports of a deleted server.
func (c *Cloud) unplug(_ *region, s *server) { s.addresses = nil }

// addressesOf returns the addresses of a server as Nova has them in its cache.
func (c *Cloud) addressesOf(_ *region, s *server) []address { return slices.Clone(s.addresses) }

func newAddress(network, ip, mac string, floating bool) address {
	version := 4
	if netip.MustParseAddr(ip).Is6() {
		version = 6
	}

	return address{network: network, ip: ip, version: version, mac: mac, floating: floating}
}

func macTail(hex string) string { return hex[:2] + ":" + hex[2:4] + ":" + hex[4:6] }
