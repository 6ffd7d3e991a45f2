package inventory

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
)

// Interfaces that the guest made by itself, of which a Node has one for each of
// its Pods, take no memory.
func TestInterfacesWithoutDeviceHaveNoAddresses(t *testing.T) {
	t.Parallel()
	cni := types.GuestNicInfo{Network: "cni", IpAddress: []string{"10.244.0.1"}, DeviceConfigId: noDevice}
	card := types.GuestNicInfo{Network: "VM Network", IpAddress: []string{"10.0.0.1"}, DeviceConfigId: 4000}
	want := []NIC{{Network: "VM Network", IPs: []string{"10.0.0.1"}, DeviceConfigID: 4000}, {DeviceConfigID: noDevice}}
	if diff := cmp.Diff(want, nics([]types.GuestNicInfo{cni, cni, card, cni})); diff != "" {
		t.Errorf("NICs (-want +got):\n%s", diff)
	}
}

// Each case is a list of "address state origin", - for what is not reported.
func TestShortLivedAddresses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		config []string
		plain  string // ipAddress
		ips    string
		short  string
	}{
		"privacy address":          {"it is replaced every day", []string{"2001:db8::a preferred random", "2001:db8::1 preferred linklayer"}, "2001:db8::a 2001:db8::1", "2001:db8::a 2001:db8::1", "2001:db8::a"},
		"deprecated":               {"it is about to end", []string{"2001:db8::d deprecated dhcp", "2001:db8::1 preferred dhcp"}, "", "2001:db8::d 2001:db8::1", "2001:db8::d"},
		"duplicate and invalid":    {"they cannot be reached", []string{"fd00::1 duplicate -", "fd00::2 invalid -", "fd00::3 inaccessible -", "fd00::4 preferred -"}, "", "fd00::1 fd00::2 fd00::3 fd00::4", "fd00::1 fd00::2 fd00::3"},
		"unknown and tentative":    {"Linux guests do not report more", []string{"fd00::1 unknown -", "fd00::2 tentative manual", "fd00::3 - -"}, "", "fd00::1 fd00::2 fd00::3", ""},
		"random alone":             {"Windows calls its lasting address random too", []string{"fe80::1 preferred linklayer", "2001:db8::a preferred random", "10.0.0.1 preferred dhcp"}, "", "fe80::1 2001:db8::a 10.0.0.1", ""},
		"random and deprecated":    {"the better one", []string{"2001:db8::d deprecated random", "2001:db8::a preferred random"}, "", "2001:db8::d 2001:db8::a", "2001:db8::d"},
		"deprecated alone":         {"better than none", []string{"2001:db8::d deprecated dhcp"}, "", "2001:db8::d", ""},
		"IPv4":                     {"has no such addresses", []string{"10.0.0.1 deprecated random", "10.0.0.2 preferred dhcp", "fd00::1 preferred -"}, "", "10.0.0.1 10.0.0.2 fd00::1", ""},
		"order of ipAddress first": {"users of the existing controller manager rely on it", []string{"10.0.0.1 preferred -", "10.0.0.2 preferred -"}, "10.0.0.2", "10.0.0.2 10.0.0.1", ""},
		"no ipConfig":              {"older tools", nil, "10.0.0.2 fd00::1", "10.0.0.2 fd00::1", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := types.GuestNicInfo{IpAddress: strings.Fields(tc.plain), DeviceConfigId: 4000}
			if tc.config != nil {
				info.IpConfig = &types.NetIpConfigInfo{}
			}
			for _, line := range tc.config {
				reported := strings.Fields(strings.ReplaceAll(line, " -", " none"))
				ip := types.NetIpConfigInfoIpAddress{IpAddress: reported[0], State: reported[1], Origin: reported[2]}
				info.IpConfig.IpAddress = append(info.IpConfig.IpAddress, ip)
			}
			got := nics([]types.GuestNicInfo{info})[0]
			want := [2]string{tc.ips, tc.short}
			if diff := cmp.Diff(want, [2]string{strings.Join(got.IPs, " "), strings.Join(got.ShortLived, " ")}); diff != "" {
				t.Errorf("%s: addresses and short-lived ones (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
