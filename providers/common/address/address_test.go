package address_test

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

// byText compares addresses and prefixes by what they look like.
var byText = cmp.Options{
	cmp.Transformer("addr", netip.Addr.String),
	cmp.Transformer("prefix", netip.Prefix.String),
}

func addrs(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}

	return all
}

// self is the address function of a list of plain addresses.
func self(addr netip.Addr) netip.Addr { return addr }

func TestParse(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason        string
		text          string
		want          string // "" is an error
		wantInterface string
	}{
		"IPv4":         {"as it is", "192.0.2.7", "192.0.2.7", "192.0.2.7"},
		"IPv6":         {"canonical text", "2001:DB8:0::0001", "2001:db8::1", "2001:db8::1"},
		"Mapped":       {"an IPv4 address in disguise", "::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"},
		"Blanks":       {"blanks around", " 192.0.2.7\n", "192.0.2.7", "192.0.2.7"},
		"Prefix":       {"a prefix only where it is expected", "192.0.2.7/24", "", "192.0.2.7"},
		"PrefixIPv6":   {"of either family", "2001:db8::1/64", "", "2001:db8::1"},
		"BadPrefix":    {"too long a prefix", "192.0.2.7/33", "", ""},
		"NoPrefix":     {"a slash alone", "192.0.2.7/", "", ""},
		"Zone":         {"a zone is local to its machine", "fe80::1%eth0", "", ""},
		"LeadingZeros": {"could be octal", "192.0.2.07", "", ""},
		"Name":         {"not an address", "node-1", "", ""},
		"Empty":        {"nothing", "", "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(name string, parse func(string) (netip.Addr, error), want string) {
				got, err := parse(tc.text)
				if (err != nil) != (want == "") || err == nil && got.String() != want {
					t.Errorf("%s: %s(%q) = %v, %v, want %q", tc.reason, name, tc.text, got, err, want)
				}
			}
			check("Parse", address.Parse, tc.want)
			check("ParseInterface", address.ParseInterface, tc.wantInterface)
		})
	}
}

// FW-ADDR-1: addresses that others cannot reach.
func TestUsable(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		addr   netip.Addr
		want   bool
	}{
		"IPv4":                {"an address", netip.MustParseAddr("192.0.2.7"), true},
		"Private":             {"a private address", netip.MustParseAddr("10.0.0.1"), true},
		"IPv6":                {"an address", netip.MustParseAddr("2001:db8::1"), true},
		"UniqueLocal":         {"reachable in its site", netip.MustParseAddr("fd00::1"), true},
		"None":                {"no address", netip.Addr{}, false},
		"Unspecified":         {"0.0.0.0", netip.IPv4Unspecified(), false},
		"UnspecifiedIPv6":     {"::", netip.IPv6Unspecified(), false},
		"Loopback":            {"127/8", netip.MustParseAddr("127.0.0.53"), false},
		"LoopbackIPv6":        {"::1", netip.MustParseAddr("::1"), false},
		"LinkLocal":           {"169.254/16", netip.MustParseAddr("169.254.1.1"), false},
		"LinkLocalIPv6":       {"fe80::/10", netip.MustParseAddr("fe80::1"), false},
		"Multicast":           {"link-local multicast", netip.MustParseAddr("224.0.0.1"), false},
		"MulticastIPv6":       {"link-local multicast", netip.MustParseAddr("ff02::1"), false},
		"MappedLoopback":      {"a mapped address is treated as IPv4", netip.MustParseAddr("::ffff:127.0.0.1"), false},
		"MappedOfTheInternet": {"a mapped address is treated as IPv4", netip.MustParseAddr("::ffff:192.0.2.7"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := address.Usable(tc.addr); got != tc.want {
				t.Errorf("%s: Usable(%v) = %t", tc.reason, tc.addr, got)
			}
		})
	}
}

func TestDeduplicate(t *testing.T) {
	t.Parallel()

	in := []v1.NodeAddress{
		address.Node(v1.NodeInternalIP, netip.MustParseAddr("::ffff:10.0.0.1")),
		{Type: v1.NodeExternalIP, Address: "10.0.0.1"},
		{Type: v1.NodeInternalIP, Address: "10.0.0.2"},
		{Type: v1.NodeInternalIP, Address: "10.0.0.1"},
		{Type: v1.NodeExternalIP, Address: "10.0.0.1"},
	}
	before := append([]v1.NodeAddress(nil), in...)
	want := []v1.NodeAddress{
		{Type: v1.NodeInternalIP, Address: "10.0.0.1"},
		{Type: v1.NodeExternalIP, Address: "10.0.0.1"},
		{Type: v1.NodeInternalIP, Address: "10.0.0.2"},
	}
	if diff := cmp.Diff(want, address.Deduplicate(in)); diff != "" {
		t.Errorf("FW-ADDR-2: unique per type and address, in order: %s", diff)
	}
	if diff := cmp.Diff(before, in); diff != "" {
		t.Errorf("what is passed in must not change: %s", diff)
	}
}

func TestProvidedNodeIPs(t *testing.T) {
	t.Parallel()

	const key = "alpha.kubernetes.io/provided-node-ip"
	cases := map[string]struct {
		reason      string
		annotations map[string]string
		want        []netip.Addr
		wantErr     string
	}{
		"None":      {"the kubelet had no --node-ip", nil, nil, ""},
		"One":       {"one address", map[string]string{key: "192.0.2.7"}, addrs("192.0.2.7"), ""},
		"Pair":      {"one of each family, in order", map[string]string{key: "2001:db8::1,192.0.2.7"}, addrs("2001:db8::1", "192.0.2.7"), ""},
		"Mapped":    {"canonical", map[string]string{key: "::ffff:192.0.2.7"}, addrs("192.0.2.7"), ""},
		"SamePair":  {"the framework rejects two of one family", map[string]string{key: "192.0.2.7,192.0.2.8"}, nil, `parse annotation ` + key + `="192.0.2.7,192.0.2.8": must contain either a single IP or a dual-stack pair of IPs`},
		"Malformed": {"not an address", map[string]string{key: "eth0"}, nil, `parse annotation ` + key + `="eth0": could not parse "eth0"`},
		"Empty":     {"the framework rejects it too", map[string]string{key: ""}, nil, `parse annotation ` + key + `="": could not parse ""`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := address.ProvidedNodeIPs(&v1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}})
			if diff := cmp.Diff(tc.want, got, byText); diff != "" {
				t.Errorf("%s: %s", tc.reason, diff)
			}
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || err.Error() != tc.wantErr) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.wantErr)
			}
		})
	}
}
