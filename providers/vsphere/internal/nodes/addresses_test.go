package nodes

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// vm1 is a guest with these interfaces, each "network: address address". A
// network that starts with ! has no virtual device behind it.
func vm1(interfaces ...string) guest {
	g := guest{id: "vm-1", hostName: "node-1"}
	for i, text := range interfaces {
		network, addresses, _ := strings.Cut(text, ": ")
		n := nic{Addresses: strings.Fields(addresses), DeviceConfigID: 4000 + int32(i)}
		n.Network, _ = strings.CutPrefix(network, "!")
		if n.Network != network {
			n.DeviceConfigID = -1
		}
		g.nics = append(g.nics, n)
	}

	return g
}

func (g guest) withStatic(addrs ...string) guest {
	g.static = ips(addrs...)

	return g
}

func (g guest) withNodeIP(addrs ...string) guest {
	g.nodeIPs = ips(addrs...)

	return g
}

func ips(texts ...string) []netip.Addr {
	var addrs []netip.Addr
	for _, text := range texts {
		addrs = append(addrs, netip.MustParseAddr(text))
	}

	return addrs
}

var (
	only4  = []address.Family{address.IPv4}
	only6  = []address.Family{address.IPv6}
	both46 = []address.Family{address.IPv4, address.IPv6}
	both64 = []address.Family{address.IPv6, address.IPv4}
)

// written puts addresses on one line, with the first letter of their type.
func written(addresses []v1.NodeAddress) string {
	var words []string
	for _, a := range addresses {
		words = append(words, string(a.Type[0])+":"+a.Address)
	}

	return strings.Join(words, " ")
}

func prefixes(texts ...string) config.CIDRs {
	var list config.CIDRs
	for _, text := range texts {
		list = append(list, netip.MustParsePrefix(text))
	}

	return list
}

// TestNodeAddresses goes through VS-ADDR-1, VS-ADDR-2, VS-ADDR-3, VS-ADDR-4,
// VS-ADDR-5, VS-ADDR-6, VS-ADDR-7 and VS-ADDR-8; each case is named by its
// number.
func TestNodeAddresses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		guest    guest
		nodes    Networks
		families []address.Family
		want     string
		err      string
	}{
		"1 host name first":        {"as the guest reports it", guest{id: "vm-1", hostName: "Node-1.example.com", nics: vm1("a: 10.0.0.1").nics}, Networks{}, only4, "H:Node-1.example.com I:10.0.0.1 E:10.0.0.1", ""},
		"1 no host name":           {"the guest must report it", guest{id: "vm-1", nics: vm1("a: 10.0.0.1").nics}, Networks{}, only4, "", "VM vm-1: VM Guest hostname is empty"},
		"2 no interface":           {"the guest must report it", vm1(), Networks{}, only4, "", "VM vm-1: VM GuestNicInfo is empty"},
		"2 order":                  {"guest.net in order", vm1("b: 10.0.0.2 10.0.0.3", "a: 10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.2 E:10.0.0.2", ""},
		"2 not a vNIC":             {"deviceConfigId -1 is dropped", vm1("!docker: 172.17.0.1", "a: 10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"2 no vNIC at all":         {"nothing remains", vm1("!docker: 172.17.0.1"), Networks{}, only4, "", "unable to find suitable IP address for node vm-1: its guest reports none that others can reach"},
		"2 device 0":               {"only -1 is none", guest{id: "vm-1", hostName: "node-1", nics: []nic{{Network: "a", Addresses: []string{"10.0.0.1"}}}}, Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"2 neither network":        {"both names configured, no interface has either", vm1("c: 10.0.0.1"), Networks{InternalVMNetworkName: "a", ExternalVMNetworkName: "b"}, only4, "", `unable to find suitable IP address for node vm-1: no interface is on network "a" or "b"`},
		"2 neither but on no vNIC": {"dropped interfaces do not count", vm1("!a: 10.0.0.2", "c: 10.0.0.1"), Networks{InternalVMNetworkName: "a", ExternalVMNetworkName: "b"}, only4, "", `no interface is on network "a" or "b"`},
		"2 one name, not there":    {"one name alone is no error", vm1("c: 10.0.0.1"), Networks{InternalVMNetworkName: "a"}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"2 network without case":   {"case-insensitive", vm1("Net A: 10.0.0.1"), Networks{InternalVMNetworkName: "NET a", ExternalVMNetworkName: "b"}, only4, "H:node-1 I:10.0.0.1", ""},
		"2 network without IP":     {"the interface is there: no error here; then neither side matches", vm1("a: ", "c: 10.0.0.1"), Networks{InternalVMNetworkName: "a", ExternalVMNetworkName: "b"}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"3 unusable":               {"unparsable, unspecified, loopback, link-local are dropped", vm1("a: x 0.0.0.0 127.0.0.1 169.254.1.1 224.0.0.1 10.0.0.1/24 10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"3 unusable IPv6":          {"fe80::/10 and the like", vm1("a: :: ::1 fe80::1 febf::1 ff02::1 fe80::1%eth0 FD00:0::0001"), Networks{}, only6, "H:node-1 I:fd00::1 E:fd00::1", ""},
		"3 none left":              {"an error", vm1("a: 127.0.0.1", "b: fe80::1"), Networks{}, only4, "", "unable to find suitable IP address for node vm-1: its guest reports none that others can reach"},
		"3 no IP":                  {"an error", vm1("a: "), Networks{}, only4, "", "unable to find suitable IP address for node vm-1"},
		"4 static first":           {"listed IPs present on a NIC come first in listed order", vm1("a: 10.0.0.9 10.0.0.1", "b: 10.0.0.2").withStatic("10.0.0.2", "10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.2 E:10.0.0.2", ""},
		"4 static order":           {"in listed order", vm1("a: 10.0.0.9 10.0.0.1", "b: 10.0.0.2").withStatic("10.0.0.1", "10.0.0.2"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"4 static on no NIC":       {"only IPs on a NIC count", vm1("a: 10.0.0.1").withStatic("10.0.0.7"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"4 stable":                 {"what is not listed stays in order", vm1("a: 10.0.0.9 10.0.0.1 10.0.0.2").withStatic("192.0.2.1"), Networks{}, only4, "H:node-1 I:10.0.0.9 E:10.0.0.9", ""},
		"4 before subnets":         {"the order counts inside a subnet", vm1("a: 10.0.0.9 10.0.0.1").withStatic("10.0.0.1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8")}, only4, "H:node-1 I:10.0.0.1", ""},
		"5 excluded internally":    {"not the internal address, but the external one", vm1("a: 10.0.0.1 10.1.0.1"), Networks{ExcludeInternalNetworkSubnetCIDR: prefixes("10.0.0.0/16")}, only4, "H:node-1 I:10.1.0.1 E:10.0.0.1", ""},
		"5 excluded externally":    {"the other way round", vm1("a: 10.0.0.1 10.1.0.1"), Networks{ExcludeExternalNetworkSubnetCIDR: prefixes("192.0.2.0/24", "10.0.0.0/16")}, only4, "H:node-1 I:10.0.0.1 E:10.1.0.1", ""},
		"5 excluded from subnet":   {"exclusion comes before subnets", vm1("a: 10.0.0.1 10.1.0.1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8"), ExcludeInternalNetworkSubnetCIDR: prefixes("10.0.0.0/16")}, only4, "H:node-1 I:10.1.0.1", ""},
		"5 excluded from network":  {"exclusion comes before networks", vm1("a: 10.0.0.1 10.1.0.1"), Networks{ExternalVMNetworkName: "a", ExcludeExternalNetworkSubnetCIDR: prefixes("10.0.0.0/16")}, only4, "H:node-1 E:10.1.0.1", ""},
		"5 all excluded":           {"one type is enough", vm1("a: 10.0.0.1"), Networks{ExcludeExternalNetworkSubnetCIDR: prefixes("10.0.0.0/8")}, only4, "H:node-1 I:10.0.0.1", ""},
		"5 subnets":                {"each side by its own", vm1("a: 10.0.0.1 192.0.2.1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8"), ExternalNetworkSubnetCIDR: prefixes("192.0.2.0/24")}, only4, "H:node-1 I:10.0.0.1 E:192.0.2.1", ""},
		"5 first subnet":           {"the first CIDR in config order that contains a candidate → its first candidate", vm1("a: 192.0.2.1 10.1.0.1 10.1.0.2"), Networks{InternalNetworkSubnetCIDR: prefixes("172.16.0.0/12", "10.0.0.0/8", "192.0.2.0/24")}, only4, "H:node-1 I:10.1.0.1", ""},
		"5 before network":         {"a subnet wins over a network", vm1("a: 10.0.0.1", "b: 10.1.0.1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.1.0.0/16"), InternalVMNetworkName: "a"}, only4, "H:node-1 I:10.1.0.1", ""},
		"5 network":                {"else the first candidate on that network, case-insensitive", vm1("a: 10.0.0.1", "b: 10.1.0.1 10.1.0.2", "c: 10.2.0.1"), Networks{InternalNetworkSubnetCIDR: prefixes("172.16.0.0/12"), InternalVMNetworkName: "B", ExternalVMNetworkName: "C"}, only4, "H:node-1 I:10.1.0.1 E:10.2.0.1", ""},
		"6 neither side":           {"both sides still empty → the first of each", vm1("a: 10.0.0.1 10.0.0.2"), Networks{InternalNetworkSubnetCIDR: prefixes("172.16.0.0/12"), ExternalNetworkSubnetCIDR: prefixes("172.16.0.0/12")}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"6 internal only":          {"exactly one side matched: only that type", vm1("a: 10.0.0.1 192.0.2.1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8"), ExternalNetworkSubnetCIDR: prefixes("172.16.0.0/12")}, only4, "H:node-1 I:10.0.0.1", ""},
		"6 external only":          {"exactly one side matched: only that type", vm1("a: 10.0.0.1", "b: 192.0.2.1"), Networks{ExternalVMNetworkName: "b"}, only4, "H:node-1 E:192.0.2.1", ""},
		"7 no address of family":   {"an error for the whole node", vm1("a: 10.0.0.1"), Networks{}, only6, "", "unable to find suitable IP address for node vm-1 with IP family ipv6"},
		"7 one family of two":      {"an error for the whole node", vm1("a: 10.0.0.1"), Networks{}, both46, "", "unable to find suitable IP address for node vm-1 with IP family ipv6"},
		"7 everything excluded":    {"a family yielding neither", vm1("a: 10.0.0.1"), Networks{ExcludeInternalNetworkSubnetCIDR: prefixes("10.0.0.0/8"), ExcludeExternalNetworkSubnetCIDR: prefixes("0.0.0.0/0")}, only4, "", "unable to find suitable IP address for node vm-1 with IP family ipv4"},
		"7 other family ignored":   {"ipv4 alone", vm1("a: fd00::1 10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"7 same family twice":      {"exact duplicates dropped", vm1("a: 10.0.0.1"), Networks{}, []address.Family{address.IPv4, address.IPv4}, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"7 mapped address":         {"an IPv4-mapped IPv6 address", vm1("a: ::ffff:10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},

		"dual stack ipv4,ipv6":                {"[Hostname, Int4, Ext4, Int6, Ext6]", vm1("a: fd00::1 10.0.0.1"), Networks{}, both46, "H:node-1 I:10.0.0.1 E:10.0.0.1 I:fd00::1 E:fd00::1", ""},
		"dual stack ipv6,ipv4":                {"v6 first", vm1("a: 10.0.0.1 fd00::1"), Networks{}, both64, "H:node-1 I:fd00::1 E:fd00::1 I:10.0.0.1 E:10.0.0.1", ""},
		"dual stack, each on its own":         {"families select independently: by default for one, by subnet for the other", vm1("a: 10.0.0.1 192.0.2.1 fd00::1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8")}, both46, "H:node-1 I:10.0.0.1 I:fd00::1 E:fd00::1", ""},
		"dual stack, subnets of both":         {"a CIDR of the other family does not count", vm1("a: 10.0.0.1 192.0.2.1 fd00::1 2001:db8::1"), Networks{InternalNetworkSubnetCIDR: prefixes("fd00::/8", "10.0.0.0/8"), ExternalNetworkSubnetCIDR: prefixes("192.0.2.0/24", "2001:db8::/32")}, both46, "H:node-1 I:10.0.0.1 E:192.0.2.1 I:fd00::1 E:2001:db8::1", ""},
		"provided-node-ip":                    {"becomes both under default selection, the VIP is listed first", vm1("a: 10.0.0.100 10.0.0.1").withNodeIP("10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"provided-node-ip before static":      {"it is the user's word about this very node", vm1("a: 10.0.0.100 10.0.0.1").withStatic("10.0.0.100").withNodeIP("10.0.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"provided-node-ip over subnet":        {"becomes the InternalIP; the external side stays as it matched", vm1("a: 10.0.0.100 10.0.0.1 192.0.2.1").withNodeIP("10.0.0.1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8"), ExternalNetworkSubnetCIDR: prefixes("192.0.2.0/24")}, only4, "H:node-1 I:10.0.0.1 E:192.0.2.1", ""},
		"provided-node-ip, no external":       {"internal matched alone: no external is added", vm1("a: 10.0.0.100 10.0.0.1").withNodeIP("10.0.0.1"), Networks{InternalNetworkSubnetCIDR: prefixes("10.0.0.0/8")}, only4, "H:node-1 I:10.0.0.1", ""},
		"provided-node-ip, external only":     {"it is the InternalIP all the same: the node could not be initialized without it", vm1("a: 10.0.0.1", "b: 192.0.2.1").withNodeIP("10.0.0.1"), Networks{ExternalVMNetworkName: "b"}, only4, "H:node-1 I:10.0.0.1 E:192.0.2.1", ""},
		"provided-node-ip on no NIC":          {"not eligible", vm1("a: 10.0.0.1").withNodeIP("10.0.0.7"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"provided-node-ip excluded":           {"the Node must not be initialized with an address that is excluded", vm1("a: 10.0.0.2 10.0.0.1").withNodeIP("10.0.0.1"), Networks{ExcludeInternalNetworkSubnetCIDR: prefixes("10.0.0.1/32")}, only4, "", "the kubelet uses an address that exclude-internal-network-subnet-cidr excludes, correct its --node-ip or the cloud-config: 10.0.0.1"},
		"provided-node-ip excluded, external": {"it was selected as the external address", vm1("a: 10.0.0.2 10.0.0.1").withNodeIP("10.0.0.1"), Networks{ExcludeInternalNetworkSubnetCIDR: prefixes("10.0.0.1/32"), ExternalNetworkSubnetCIDR: prefixes("10.0.0.1/32")}, only4, "H:node-1 E:10.0.0.1", ""},
		"provided-node-ip excluded twice":     {"as above", vm1("a: 10.0.0.2 10.0.0.1").withNodeIP("10.0.0.1"), Networks{ExcludeInternalNetworkSubnetCIDR: prefixes("10.0.0.1/32"), ExcludeExternalNetworkSubnetCIDR: prefixes("10.0.0.1/32")}, only4, "", "excludes"},
		"provided-node-ip not reachable":      {"not a candidate", vm1("a: 169.254.0.1 10.0.0.1").withNodeIP("169.254.0.1"), Networks{}, only4, "H:node-1 I:10.0.0.1 E:10.0.0.1", ""},
		"provided-node-ip pair":               {"one of each family", vm1("a: 10.0.0.100 10.0.0.1 fd00::100 fd00::1").withNodeIP("fd00::1", "10.0.0.1"), Networks{}, both46, "H:node-1 I:10.0.0.1 E:10.0.0.1 I:fd00::1 E:fd00::1", ""},
		"provided-node-ip of one family":      {"the other is selected as ever", vm1("a: 10.0.0.100 10.0.0.1 fd00::100 fd00::1").withNodeIP("10.0.0.1"), Networks{}, both46, "H:node-1 I:10.0.0.1 E:10.0.0.1 I:fd00::100 E:fd00::100", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := nodeAddresses(tc.guest, AddressRules{Networks: tc.nodes, Families: tc.families})
			if written(got) != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, written(got))
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("%s: want error %q, got %v", tc.reason, tc.err, err)
			}
			if err != nil && instance.ReasonOf(err) != instance.ReasonNoAddress {
				t.Errorf("%s: want the reason NoAddress, got %q", tc.reason, instance.ReasonOf(err))
			}
		})
	}
}

// TestNodeAddressesProperties (VS-ADDR-5, VS-ADDR-6, VS-ADDR-7): at most one
// address of each type and family, never one that is excluded or that the guest
// does not report, what the kubelet is configured with if it may be, and the
// same each time without changing the input.
func TestNodeAddressesProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g, rules := drawGuest(t), drawRules(t)
		nicsBefore, staticBefore := written2(g.nics), slices.Clone(g.static)
		got, err := nodeAddresses(g, rules)
		again, againErr := nodeAddresses(g, rules)
		if written(got) != written(again) || (err == nil) != (againErr == nil) {
			t.Fatalf("not deterministic: %s, then %s", written(got), written(again))
		}
		if written2(g.nics) != nicsBefore || !slices.Equal(staticBefore, g.static) {
			t.Fatal("the input changed")
		}
		if err != nil {
			if got != nil {
				t.Fatalf("addresses together with an error: %s, %v", written(got), err)
			}

			return
		}
		if got[0].Type != v1.NodeHostName || got[0].Address != g.hostName {
			t.Fatalf("the host name is not first: %s", written(got))
		}
		checkChosen(t, g, rules, got[1:])
	})
}

func checkChosen(t *rapid.T, g guest, rules AddressRules, chosen []v1.NodeAddress) {
	type key struct {
		kind   v1.NodeAddressType
		family address.Family
	}
	found := map[key]netip.Addr{}
	last := 0
	for _, a := range chosen {
		addr := netip.MustParseAddr(a.Address)
		k := key{a.Type, address.FamilyOf(addr)}
		if _, twice := found[k]; twice {
			t.Fatalf("two of %v: %s", k, written(chosen))
		}
		found[k] = addr
		place := slices.Index(rules.Families, k.family)
		if place < last {
			t.Fatalf("families are out of order: %s", written(chosen))
		}
		last = place
		excluded := rules.Networks.ExcludeInternalNetworkSubnetCIDR
		if a.Type == v1.NodeExternalIP {
			excluded = rules.Networks.ExcludeExternalNetworkSubnetCIDR
		}
		if address.Prefixes(excluded).Contain(addr) {
			t.Fatalf("%s is excluded as %s", addr, a.Type)
		}
		if !reported(g, addr) || !address.Usable(addr) {
			t.Fatalf("%s is not an address that others can reach on a vNIC", addr)
		}
	}
	for _, family := range rules.Families {
		internal, external := found[key{v1.NodeInternalIP, family}], found[key{v1.NodeExternalIP, family}]
		if !internal.IsValid() && !external.IsValid() {
			t.Fatalf("no %s address: %s", family, written(chosen))
		}
		for _, wanted := range g.nodeIPs {
			if reported(g, wanted) && address.Usable(wanted) && address.FamilyOf(wanted) == family && len(g.nodeIPs) == 1 &&
				address.Prefixes(rules.Networks.ExcludeInternalNetworkSubnetCIDR).Contain(wanted) && external != wanted {
				t.Fatalf("the kubelet uses %s, which is excluded, got %s", wanted, written(chosen))
			}
			eligible := reported(g, wanted) && address.Usable(wanted) && !address.Prefixes(rules.Networks.ExcludeInternalNetworkSubnetCIDR).Contain(wanted)
			if eligible && address.FamilyOf(wanted) == family && internal != wanted {
				t.Fatalf("the kubelet is configured with %s, got %s", wanted, written(chosen))
			}
		}
	}
}

// reported reports whether the guest has an address on a virtual NIC.
func reported(g guest, addr netip.Addr) bool {
	return slices.ContainsFunc(g.nics, func(n nic) bool {
		return n.DeviceConfigID != -1 && slices.ContainsFunc(n.Addresses, func(text string) bool {
			got, err := netip.ParseAddr(text)

			return err == nil && got == addr
		})
	})
}

func written2(nics []nic) string {
	var words []string
	for _, n := range nics {
		words = append(words, n.Network+"="+strings.Join(n.Addresses, ","))
	}

	return strings.Join(words, " ")
}

// A privacy address of the guest changes every day, and a Node's must not. Only
// one that the kubelet is configured with counts.
func TestShortLivedAddressesMakeNoNodeAddress(t *testing.T) {
	t.Parallel()
	g := vm1("a: 2001:db8::a 2001:db8::1", "b: fd00::a fd00::1")
	g.nics[0].ShortLived, g.nics[1].ShortLived = []string{"2001:db8::a"}, []string{"fd00::a"}
	cases := map[string]struct {
		guest guest
		nodes Networks
		want  string
	}{
		"first candidate":     {g, Networks{}, "H:node-1 I:2001:db8::1 E:2001:db8::1"},
		"of a subnet":         {g, Networks{InternalNetworkSubnetCIDR: prefixes("fd00::/16")}, "H:node-1 I:fd00::1"},
		"of a network":        {g, Networks{ExternalVMNetworkName: "b"}, "H:node-1 E:fd00::1"},
		"wanted by a kubelet": {g.withNodeIP("fd00::a"), Networks{}, "H:node-1 I:fd00::a E:fd00::a"},
	}
	for name, tc := range cases {
		addresses, err := nodeAddresses(tc.guest, AddressRules{Networks: tc.nodes, Families: only6})
		if got := written(addresses); got != tc.want || err != nil {
			t.Errorf("%s: %q, %v, want %q", name, got, err, tc.want)
		}
	}
}

// A few addresses, networks and subnets, so that they often match.
var (
	someAddresses = []string{"10.0.0.1", "10.0.0.2", "10.1.0.1", "192.0.2.1", "169.254.0.1", "127.0.0.1", "fd00::1", "fd00::2", "fd01::1", "2001:db8::1", "fe80::1", "junk"}
	someNetworks  = []string{"", "a", "b", "B", "c"}
	someSubnets   = []string{"10.0.0.0/16", "10.0.0.1/32", "10.0.0.0/8", "0.0.0.0/0", "192.0.2.0/24", "fd00::/16", "fd00::/8", "::/0", "2001:db8::/32"}
)

func drawGuest(t *rapid.T) guest {
	good := rapid.SampledFrom([]string{"10.0.0.1", "10.0.0.2", "10.1.0.1", "169.254.0.1", "fd00::1", "fd00::2"})
	g := guest{id: "vm-1", hostName: "node-1"}
	for range rapid.IntRange(1, 3).Draw(t, "nics") {
		g.nics = append(g.nics, nic{
			Network:        rapid.SampledFrom(someNetworks).Draw(t, "network"),
			Addresses:      rapid.SliceOfN(rapid.SampledFrom(someAddresses), 0, 4).Draw(t, "addresses"),
			DeviceConfigID: rapid.SampledFrom([]int32{4000, 0, -1}).Draw(t, "device"),
		})
	}
	g.static = ips(rapid.SliceOfN(good, 0, 3).Draw(t, "static")...)
	g.nodeIPs = rapid.SampledFrom([][]netip.Addr{nil, ips("10.0.0.2"), ips("fd00::2"), ips("10.1.0.1", "fd00::1"), ips("169.254.0.1")}).Draw(t, "node IPs")

	return g
}

func drawRules(t *rapid.T) AddressRules {
	cidrs := func(name string) config.CIDRs {
		return prefixes(rapid.SliceOfN(rapid.SampledFrom(someSubnets), 0, 2).Draw(t, name)...)
	}

	return AddressRules{
		Networks: Networks{
			InternalNetworkSubnetCIDR: cidrs("internal"), ExternalNetworkSubnetCIDR: cidrs("external"),
			InternalVMNetworkName:            rapid.SampledFrom(someNetworks).Draw(t, "internal network"),
			ExternalVMNetworkName:            rapid.SampledFrom(someNetworks).Draw(t, "external network"),
			ExcludeInternalNetworkSubnetCIDR: cidrs("not internal"), ExcludeExternalNetworkSubnetCIDR: cidrs("not external"),
		},
		Families: rapid.SampledFrom([][]address.Family{only4, only6, both46, both64}).Draw(t, "families"),
	}
}
