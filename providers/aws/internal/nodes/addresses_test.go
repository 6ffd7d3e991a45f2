package nodes

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
)

func addrs(texts ...string) []netip.Addr {
	list := make([]netip.Addr, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParseAddr(text)
	}

	return list
}

// TestNodeAddresses covers AWS-ADDR-1, AWS-ADDR-2 and AWS-ADDR-3.
func TestNodeAddresses(t *testing.T) {
	t.Parallel()
	const used = types.NetworkInterfaceStatusInUse
	v4, v6 := []address.Family{address.IPv4}, []address.Family{address.IPv6}
	full := inventory.Instance{
		ID: "i-1", PrivateDNSName: "ip-10-0-0-1.ec2.internal", PublicDNSName: "ec2-1.example", PublicIP: "203.0.113.1",
		Interfaces: []inventory.Interface{
			{ID: "eni-0", Status: used, IPv4: addrs("10.0.0.1", "10.0.0.2"), IPv6: addrs("2001:db8::1", "2001:db8::2")},
			{ID: "eni-1", Status: types.NetworkInterfaceStatusDetaching, IPv4: addrs("10.0.0.3"), IPv6: addrs("2001:db8::3")},
			{ID: "eni-2", Status: used, IPv4: addrs("10.0.0.4")},
			{ID: "eni-3", Status: used, IPv4: addrs("10.0.0.5"), IPv6: addrs("2001:db8::5")},
		},
	}
	names := []string{"InternalDNS ip-10-0-0-1.ec2.internal", "Hostname ip-10-0-0-1.ec2.internal", "ExternalDNS ec2-1.example"}
	list4 := append([]string{"InternalIP 10.0.0.1", "InternalIP 10.0.0.2", "InternalIP 10.0.0.4", "InternalIP 10.0.0.5", "ExternalIP 203.0.113.1"}, names...)
	list6 := []string{"InternalIP 2001:db8::1", "InternalIP 2001:db8::5"}
	cases := map[string]struct {
		reason   string
		in       inventory.Instance
		families []address.Family
		want     []string
		err      string
	}{
		"ipv4":             {"all addresses in use, public, names", full, v4, list4, ""},
		"ipv6":             {"the first of each interface, no names", full, v6, list6, ""},
		"ipv4, ipv6":       {"in the order of the families", full, append(v4, v6...), append(append([]string{}, list4...), list6...), ""},
		"ipv6, ipv4":       {"AWS-ADDR-4: the same lists the other way round", full, append(v6, v4...), append(append([]string{}, list6...), list4...), ""},
		"nothing":          {"AWS-API-1: empty ones are left out", inventory.Instance{ID: "i-1"}, append(v4, v6...), nil, ""},
		"bad private":      {"an error", inventory.Instance{ID: "i-1", Interfaces: []inventory.Interface{{ID: "eni-0", Status: used, IPv4: make([]netip.Addr, 1)}}}, v4, nil, "eni-0"},
		"bad public":       {"an error", inventory.Instance{ID: "i-1", PublicIP: "203.0.113"}, v4, nil, "public address"},
		"bad ipv6":         {"an error", inventory.Instance{ID: "i-1", Interfaces: []inventory.Interface{{ID: "eni-0", Status: used, IPv6: make([]netip.Addr, 1)}}}, v6, nil, "eni-0"},
		"bad other":        {"only the configured families count", inventory.Instance{ID: "i-1", PublicIP: "203.0.113"}, v6, nil, ""},
		"bad but not used": {"only interfaces in use count", inventory.Instance{ID: "i-1", Interfaces: []inventory.Interface{{ID: "eni-0", IPv4: make([]netip.Addr, 1)}}}, v4, nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := nodeAddresses(&tc.in, tc.families)
			if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("%s: want error %q, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, texts(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// texts writes addresses as "type address".
func texts(addresses []v1.NodeAddress) []string {
	var list []string
	for _, a := range addresses {
		list = append(list, fmt.Sprintf("%s %s", a.Type, a.Address))
	}

	return list
}
