package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
)

func internal(ip string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip} }

func external(ip string) v1.NodeAddress { return v1.NodeAddress{Type: v1.NodeExternalIP, Address: ip} }

func hostname(text string) v1.NodeAddress {
	return v1.NodeAddress{Type: v1.NodeHostName, Address: text}
}

func fixed(texts ...string) []inventory.Address {
	var list []inventory.Address
	for _, text := range texts {
		list = append(list, inventory.Address{IP: text, Type: "fixed"})
	}

	return list
}

func active(ips ...string) inventory.Port { return inventory.Port{Status: "ACTIVE", FixedIPs: ips} }

// blocks is an address-sort-order.
func blocks(t *testing.T, text string) address.Prefixes {
	t.Helper()
	order, err := address.ParsePrefixes(text)
	if err != nil {
		t.Fatal(err)
	}

	return order
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	floating := inventory.Address{IP: "203.0.113.7", Type: "floating"}
	dual := inventory.Server{AccessIPv4: "198.51.100.1", AccessIPv6: "2001:db8::1", Hostname: "node-1", Addresses: map[string][]inventory.Address{
		"private": {{IP: "10.0.0.5", Type: "fixed"}, {IP: "fd00::5", Type: "fixed"}, floating},
		"storage": fixed("192.168.0.5"),
	}}
	dualPorts := []inventory.Port{active("192.168.0.5"), active("10.0.0.5", "fd00::5")}
	cases := map[string]struct {
		reason string
		rules  AddressRules
		server inventory.Server
		ports  []inventory.Port
		want   []v1.NodeAddress
	}{
		"nothing": {reason: "a server that is being built has no address"},
		"ports": {
			reason: "fixed IPs of active ports in the order of the list",
			ports:  []inventory.Port{active("10.0.0.9", "fd00::9"), active("10.0.0.1")},
			want:   []v1.NodeAddress{internal("10.0.0.9"), internal("fd00::9"), internal("10.0.0.1")},
		},
		"ports that are not active": {
			reason: "are left out, whatever their status is",
			ports: []inventory.Port{
				{Status: "DOWN", FixedIPs: []string{"10.0.0.1"}},
				{Status: "BUILD", FixedIPs: []string{"10.0.0.2"}},
				{Status: "active", FixedIPs: []string{"10.0.0.3"}},
				{FixedIPs: []string{"10.0.0.4"}},
			},
		},
		"port that is down, reported by Nova": {
			reason: "its address comes later, from Nova",
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": fixed("10.0.0.1", "10.0.0.2")}},
			ports:  []inventory.Port{{Status: "DOWN", FixedIPs: []string{"10.0.0.1"}}, active("10.0.0.2")},
			want:   []v1.NodeAddress{internal("10.0.0.2"), internal("10.0.0.1")},
		},
		"access addresses": {
			reason: "external, IPv4 before IPv6",
			server: inventory.Server{AccessIPv6: "2001:db8::1", AccessIPv4: "198.51.100.1"},
			want:   []v1.NodeAddress{external("198.51.100.1"), external("2001:db8::1")},
		},
		"access address of a port": {
			reason: "an address can have two types",
			server: inventory.Server{AccessIPv4: "10.0.0.1"},
			ports:  []inventory.Port{active("10.0.0.1")},
			want:   []v1.NodeAddress{internal("10.0.0.1"), external("10.0.0.1")},
		},
		"hostname": {
			reason: "of the metadata, other keys do not count",
			server: inventory.Server{Hostname: "node-1.example.com"},
			want:   []v1.NodeAddress{hostname("node-1.example.com")},
		},
		"empty hostname": {
			reason: "none",
			server: inventory.Server{Hostname: ""},
		},
		"Nova": {
			reason: "networks by name, their addresses in the given order",
			server: inventory.Server{Addresses: map[string][]inventory.Address{"b": fixed("10.0.1.9", "10.0.1.1"), "a": fixed("10.0.0.1"), "B": fixed("10.0.2.1")}},
			want:   []v1.NodeAddress{internal("10.0.2.1"), internal("10.0.0.1"), internal("10.0.1.9"), internal("10.0.1.1")},
		},
		"floating IP": {
			reason: "external",
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": {{IP: "10.0.0.1", Type: "fixed"}, floating}}},
			want:   []v1.NodeAddress{internal("10.0.0.1"), external("203.0.113.7")},
		},
		"floating IP on another network": {
			reason: "external whatever the network is, its fixed IP is dropped",
			rules:  AddressRules{Internal: []string{"b"}},
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": {{IP: "10.0.0.1", Type: "fixed"}, floating}}},
			want:   []v1.NodeAddress{external("203.0.113.7")},
		},
		"type that is not known": {
			reason: "counts as fixed",
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": {{IP: "10.0.0.1"}}}},
			want:   []v1.NodeAddress{internal("10.0.0.1")},
		},
		"public network": {
			reason: "the address is external only, and goes to the end",
			rules:  AddressRules{Public: []string{"public"}},
			server: inventory.Server{Addresses: map[string][]inventory.Address{"public": fixed("192.0.2.1"), "private": fixed("10.0.0.1")}},
			ports:  []inventory.Port{active("192.0.2.1"), active("10.0.0.1")},
			want:   []v1.NodeAddress{internal("10.0.0.1"), external("192.0.2.1")},
		},
		"public network with the access address": {
			reason: "the address that was external already also goes to the end",
			rules:  AddressRules{Public: []string{"public"}},
			server: inventory.Server{AccessIPv4: "192.0.2.1", Hostname: "node-1", Addresses: map[string][]inventory.Address{"public": fixed("192.0.2.1")}},
			ports:  []inventory.Port{active("192.0.2.1")},
			want:   []v1.NodeAddress{hostname("node-1"), external("192.0.2.1")},
		},
		"several public networks": {
			reason: "each line of the file counts",
			rules:  AddressRules{Public: []string{"b", "a"}},
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": fixed("192.0.2.1"), "b": fixed("198.51.100.1"), "c": fixed("10.0.0.1")}},
			want:   []v1.NodeAddress{external("192.0.2.1"), external("198.51.100.1"), internal("10.0.0.1")},
		},
		"internal network": {
			reason: "addresses of other networks are removed although a port has them",
			rules:  AddressRules{Internal: []string{"private"}},
			server: inventory.Server{Addresses: map[string][]inventory.Address{"private": fixed("10.0.0.5"), "storage": fixed("192.168.0.5")}},
			ports:  []inventory.Port{active("192.168.0.5"), active("10.0.0.5")},
			want:   []v1.NodeAddress{internal("10.0.0.5")},
		},
		"another network with the access address": {
			reason: "it is removed, whatever its type is",
			rules:  AddressRules{Internal: []string{"private"}},
			server: inventory.Server{AccessIPv4: "192.168.0.5", Addresses: map[string][]inventory.Address{"storage": fixed("192.168.0.5")}},
			ports:  []inventory.Port{active("192.168.0.5")},
		},
		"port that Nova does not report yet": {
			reason: "there is no network to remove it for",
			rules:  AddressRules{Internal: []string{"private"}},
			ports:  []inventory.Port{active("192.168.0.5")},
			want:   []v1.NodeAddress{internal("192.168.0.5")},
		},
		"public and internal network": {
			reason: "public takes precedence",
			rules:  AddressRules{Public: []string{"a"}, Internal: []string{"a", "b"}},
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": fixed("192.0.2.1"), "b": fixed("10.0.0.1"), "c": fixed("10.9.0.1")}},
			want:   []v1.NodeAddress{external("192.0.2.1"), internal("10.0.0.1")},
		},
		"one address on two networks": {
			reason: "the networks are gone through by name: the last one decides",
			rules:  AddressRules{Internal: []string{"a"}},
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": fixed("10.0.0.1"), "b": fixed("10.0.0.1")}},
		},
		"subports": {
			reason: "after what Nova reports of the network, also of a port that is down",
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": fixed("10.0.0.1", "10.0.0.2")}},
			ports: []inventory.Port{
				{Status: "DOWN", FixedIPs: []string{"10.0.0.1"}, Subports: []inventory.Subport{{Network: "vlan", FixedIPs: []string{"10.1.0.9", "10.1.0.1"}}, {Network: "a", FixedIPs: []string{"10.0.0.8"}}}},
				{Status: "ACTIVE", FixedIPs: []string{"10.0.0.2"}, Subports: []inventory.Subport{{Network: "vlan", FixedIPs: []string{"10.1.0.3"}}}},
			},
			want: []v1.NodeAddress{
				internal("10.0.0.2"), internal("10.0.0.1"), internal("10.0.0.8"),
				internal("10.1.0.9"), internal("10.1.0.1"), internal("10.1.0.3"),
			},
		},
		"subports of a server without addresses": {
			reason: "are addresses, too",
			ports:  []inventory.Port{{Status: "BUILD", Subports: []inventory.Subport{{Network: "vlan", FixedIPs: []string{"10.1.0.1"}}}}},
			want:   []v1.NodeAddress{internal("10.1.0.1")},
		},
		"subports on a public network": {
			reason: "the lists of networks count",
			rules:  AddressRules{Public: []string{"vlan"}, Internal: []string{"a"}},
			server: inventory.Server{Addresses: map[string][]inventory.Address{"a": fixed("10.0.0.1")}},
			ports:  []inventory.Port{{Status: "ACTIVE", FixedIPs: []string{"10.0.0.1"}, Subports: []inventory.Subport{{Network: "vlan", FixedIPs: []string{"192.0.2.1"}}, {Network: "other", FixedIPs: []string{"10.9.0.1"}}}}},
			want:   []v1.NodeAddress{internal("10.0.0.1"), external("192.0.2.1")},
		},
		"without IPv6": {
			reason: "ports, access addresses, Nova and subports",
			rules:  AddressRules{IPv6Disabled: true},
			server: inventory.Server{AccessIPv4: "198.51.100.1", AccessIPv6: "2001:db8::1", Addresses: map[string][]inventory.Address{"a": {{IP: "fd00::5", Type: "fixed"}, {IP: "2001:db8::7", Type: "floating"}, {IP: "10.0.0.5", Type: "fixed"}}}},
			ports:  []inventory.Port{{Status: "ACTIVE", FixedIPs: []string{"fd00::5", "10.0.0.5"}, Subports: []inventory.Subport{{Network: "vlan", FixedIPs: []string{"fd00::6", "10.1.0.6"}}}}},
			want:   []v1.NodeAddress{internal("10.0.0.5"), external("198.51.100.1"), internal("10.1.0.6")},
		},
		"without IPv6, hostname": {
			reason: "a hostname is no address",
			rules:  AddressRules{IPv6Disabled: true},
			server: inventory.Server{Hostname: "fd00--5"},
			want:   []v1.NodeAddress{hostname("fd00--5")},
		},
		"once": {
			reason: "each type and address once, in its first place",
			server: inventory.Server{AccessIPv4: "203.0.113.7", Addresses: map[string][]inventory.Address{"a": {{IP: "10.0.0.1"}, floating, floating}}},
			ports:  []inventory.Port{active("10.0.0.1", "10.0.0.1"), active("10.0.0.1")},
			want:   []v1.NodeAddress{internal("10.0.0.1"), external("203.0.113.7")},
		},
		"spellings": {
			reason: "an IPv6 address has one text",
			server: inventory.Server{AccessIPv6: "2001:DB8:0::1", Addresses: map[string][]inventory.Address{"a": {{IP: "2001:db8::1", Type: "floating"}, {IP: "::ffff:10.0.0.1"}, {IP: "10.0.0.1"}}}},
			want:   []v1.NodeAddress{external("2001:db8::1"), internal("10.0.0.1")},
		},
		"no address": {
			reason: "the text is kept, as the existing controller manager does",
			rules:  AddressRules{Order: blocks(t, "10.0.0.0/8")},
			server: inventory.Server{AccessIPv4: "node.example.com"},
			ports:  []inventory.Port{active("10.0.0.1")},
			want:   []v1.NodeAddress{internal("10.0.0.1"), external("node.example.com")},
		},
		"order": {
			reason: "the first block first, ascending inside, the others behind in their order",
			rules:  AddressRules{Order: blocks(t, "192.168.0.0/16, 10.0.0.0/8")},
			server: inventory.Server{AccessIPv4: "198.51.100.9", AccessIPv6: "2001:db8::1", Hostname: "node-1"},
			ports:  []inventory.Port{active("172.16.0.1", "10.0.0.10", "10.0.0.9", "192.168.1.1", "fd00::1")},
			want: []v1.NodeAddress{
				internal("192.168.1.1"), internal("10.0.0.9"), internal("10.0.0.10"),
				internal("172.16.0.1"), internal("fd00::1"), external("198.51.100.9"), external("2001:db8::1"), hostname("node-1"),
			},
		},
		"order of types": {
			reason: "one address with two types keeps their order, types do not count",
			rules:  AddressRules{Order: blocks(t, "10.0.0.0/8")},
			server: inventory.Server{AccessIPv4: "10.0.0.1"},
			ports:  []inventory.Port{active("10.0.0.2", "10.0.0.1")},
			want:   []v1.NodeAddress{internal("10.0.0.1"), external("10.0.0.1"), internal("10.0.0.2")},
		},
		"order of overlapping blocks": {
			reason: "the first block that has the address counts",
			rules:  AddressRules{Order: blocks(t, "10.1.0.0/16 10.0.0.0/8")},
			ports:  []inventory.Port{active("10.0.0.1", "10.2.0.1", "10.1.0.1")},
			want:   []v1.NodeAddress{internal("10.1.0.1"), internal("10.0.0.1"), internal("10.2.0.1")},
		},
		"order of IPv6": {
			reason: "compared as 16 bytes, not as text",
			rules:  AddressRules{Order: blocks(t, "fd00::/8")},
			ports:  []inventory.Port{active("10.0.0.1", "fd00::10", "fd00::9", "fd00::a")},
			want:   []v1.NodeAddress{internal("fd00::9"), internal("fd00::a"), internal("fd00::10"), internal("10.0.0.1")},
		},
		"all, by default": {
			reason: "the whole order",
			server: dual,
			ports:  dualPorts,
			want: []v1.NodeAddress{
				internal("192.168.0.5"), internal("10.0.0.5"), internal("fd00::5"),
				external("198.51.100.1"), external("2001:db8::1"), hostname("node-1"), external("203.0.113.7"),
			},
		},
		"all, with each rule": {
			reason: "rules do not depend on each other",
			rules:  AddressRules{IPv6Disabled: true, Public: []string{"storage"}, Internal: []string{"private"}, Order: blocks(t, "203.0.113.0/24")},
			server: dual,
			ports:  dualPorts,
			want: []v1.NodeAddress{
				external("203.0.113.7"), internal("10.0.0.5"), external("198.51.100.1"), hostname("node-1"), external("192.168.0.5"),
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.rules.addresses(&tc.server, tc.ports), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// What is passed in stays as it is: it is shared by all Nodes.
func TestAddressesLeaveInput(t *testing.T) {
	t.Parallel()
	nova := make([]inventory.Address, 1, 8)
	nova[0] = inventory.Address{IP: "10.0.0.1", Type: "fixed"}
	server := inventory.Server{Addresses: map[string][]inventory.Address{"a": nova}}
	ports := []inventory.Port{{Status: "ACTIVE", Subports: []inventory.Subport{{Network: "a", FixedIPs: []string{"10.0.0.2"}}, {Network: "b", FixedIPs: []string{"10.1.0.1"}}}}}
	AddressRules{}.addresses(&server, ports)
	if diff := cmp.Diff([]inventory.Address{{IP: "10.0.0.1", Type: "fixed"}, {}}, nova[:2]); diff != "" || len(server.Addresses) != 1 {
		t.Errorf("the input has changed to %+v (-want +got):\n%s", server.Addresses, diff)
	}
}
