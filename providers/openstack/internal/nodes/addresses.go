package nodes

import (
	"bytes"
	"cmp"
	"maps"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
)

// portActive is the status of a port that passes traffic (neutron-lib:
// constants.py PORT_STATUS_ACTIVE).
const portActive = "ACTIVE"

// AddressRules define which addresses of a server become addresses of its Node.
type AddressRules struct {
	// IPv6Disabled leaves out all IPv6 addresses.
	IPv6Disabled bool
	// Public are the networks whose addresses are external. Internal are those whose
	// addresses are internal: all others, if it is empty.
	Public, Internal []string
	// Order are the blocks whose addresses come first.
	Order address.Prefixes
}

// addresses returns the addresses of a Node, each type and address once. The order is
// part of the result: the first internal address is the one that load balancers and
// routes use.
//
//  1. fixed IPs of active ports                    internal
//  2. access addresses                             external
//  3. metadata hostname                            hostname
//  4. what Nova reports, networks by name, then subports
//     a floating IP                              external
//     on a public network                        external, and nothing else
//     on an internal network                     internal
//     on another network                         not an address of the Node
//
// If there is an order, addresses in the first block of it come first.
func (r AddressRules) addresses(server *inventory.Server, ports []inventory.Port) []v1.NodeAddress {
	list := &addressList{ipv6Disabled: r.IPv6Disabled}
	for _, port := range ports {
		if port.Status != portActive {
			continue
		}
		for _, ip := range port.FixedIPs {
			list.add(v1.NodeInternalIP, ip)
		}
	}
	list.add(v1.NodeExternalIP, server.AccessIPv4)
	list.add(v1.NodeExternalIP, server.AccessIPv6)
	list.addHostname(server.Hostname)
	networks := withSubports(server, ports)
	for _, network := range slices.Sorted(maps.Keys(networks)) {
		for _, a := range networks[network] {
			r.addNetwork(list, network, a)
		}
	}
	r.sort(list.items)

	return list.items
}

// addNetwork adds or removes an address on a network.
func (r AddressRules) addNetwork(list *addressList, network string, a inventory.Address) {
	switch {
	case a.IsFloating():
		list.add(v1.NodeExternalIP, a.IP)
	case slices.Contains(r.Public, network):
		list.remove(a.IP)
		list.add(v1.NodeExternalIP, a.IP)
	case len(r.Internal) == 0 || slices.Contains(r.Internal, network):
		list.add(v1.NodeInternalIP, a.IP)
	default:
		list.remove(a.IP)
	}
}

// withSubports returns the addresses that Nova reports and those of subports, which it
// does not report.
func withSubports(server *inventory.Server, ports []inventory.Port) map[string][]inventory.Address {
	networks := make(map[string][]inventory.Address, len(server.Addresses))
	for network, addresses := range server.Addresses {
		networks[network] = slices.Clone(addresses)
	}
	for _, port := range ports {
		for _, sub := range port.Subports {
			for _, ip := range sub.FixedIPs {
				networks[sub.Network] = append(networks[sub.Network], inventory.Address{IP: ip})
			}
		}
	}

	return networks
}

// sort brings the addresses in a block of the order to the front: those in the first
// block first, in ascending order inside of each block.
func (r AddressRules) sort(items []v1.NodeAddress) {
	if len(r.Order) == 0 {
		return
	}
	slices.SortStableFunc(items, func(a, b v1.NodeAddress) int {
		x, y := parseIP(a.Address), parseIP(b.Address)
		rank := r.rank(x)
		if by := cmp.Compare(rank, r.rank(y)); by != 0 || rank == len(r.Order) {
			return by
		}
		left, right := x.As16(), y.As16()

		return bytes.Compare(left[:], right[:])
	})
}

// rank is the index of the first block that has the address, or their number.
func (r AddressRules) rank(ip netip.Addr) int {
	if !ip.IsValid() {
		return len(r.Order)
	}

	return r.Order.Rank(ip)
}

// addressList is the list while it is built.
type addressList struct {
	ipv6Disabled bool
	items        []v1.NodeAddress
}

// add appends an IP address, unless the list has it or it is not wanted. A text that is
// no IP address is kept as it is, and counts as IPv6.
func (l *addressList) add(kind v1.NodeAddressType, text string) {
	if text == "" || l.ipv6Disabled && !parseIP(text).Is4() {
		return
	}
	l.append(v1.NodeAddress{Type: kind, Address: canonical(text)})
}

func (l *addressList) addHostname(name string) {
	if name != "" {
		l.append(v1.NodeAddress{Type: v1.NodeHostName, Address: name})
	}
}

func (l *addressList) append(a v1.NodeAddress) {
	if !slices.Contains(l.items, a) {
		l.items = append(l.items, a)
	}
}

// remove removes an address, whatever its type is.
func (l *addressList) remove(text string) {
	if l.ipv6Disabled && !parseIP(text).Is4() {
		return
	}
	l.items = slices.DeleteFunc(l.items, func(a v1.NodeAddress) bool { return a.Address == canonical(text) })
}

// parseIP returns the zero Addr for a text that is no IP address.
func parseIP(text string) netip.Addr {
	ip, err := address.Parse(text)
	if err != nil {
		return netip.Addr{}
	}

	return ip
}

// canonical is the one way of writing an IP address.
func canonical(text string) string {
	if ip := parseIP(text); ip.IsValid() {
		return ip.String()
	}

	return text
}
