package inventory

import (
	"net/netip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var compareAddrs = cmpopts.EquateComparable(netip.Addr{})

// TestToInstance covers what is kept of an instance.
func TestToInstance(t *testing.T) {
	t.Parallel()
	attached := func(device, card int32) *types.InstanceNetworkInterfaceAttachment {
		return &types.InstanceNetworkInterfaceAttachment{DeviceIndex: &device, NetworkCardIndex: &card}
	}
	cases := map[string]struct {
		reason string
		in     types.Instance
		want   Instance
	}{
		"nothing": {
			"AWS-API-1: whatever is missing is empty",
			types.Instance{},
			Instance{Tags: map[string]string{}},
		},
		"empty parts": {
			"AWS-API-1: parts without anything in them",
			types.Instance{
				State: &types.InstanceState{}, Placement: &types.Placement{}, Tags: []types.Tag{{}}, SecurityGroups: []types.GroupIdentifier{{}},
				NetworkInterfaces: []types.InstanceNetworkInterface{{
					Attachment: &types.InstanceNetworkInterfaceAttachment{}, PrivateIpAddresses: []types.InstancePrivateIpAddress{{}},
					Ipv6Addresses: []types.InstanceIpv6Address{{}},
				}},
			},
			Instance{Tags: map[string]string{}, Interfaces: []Interface{{SourceDestCheck: true}}},
		},
		"tags": {
			"the tags of the cluster",
			types.Instance{Tags: []types.Tag{
				{Key: aws.String("Name"), Value: aws.String("node")},
				{Key: aws.String("KubernetesCluster"), Value: aws.String("a")},
				{Key: aws.String("kubernetes.io/cluster/b")},
			}},
			Instance{Tags: map[string]string{"KubernetesCluster": "a", "kubernetes.io/cluster/b": ""}},
		},
		"interfaces": {
			"AWS-ADDR-4: by device index, then network card, unattached last",
			types.Instance{NetworkInterfaces: []types.InstanceNetworkInterface{
				{NetworkInterfaceId: aws.String("eni-none")},
				{NetworkInterfaceId: aws.String("eni-11"), Attachment: attached(1, 1)},
				{NetworkInterfaceId: aws.String("eni-10"), Attachment: attached(1, 0), SourceDestCheck: aws.Bool(false)},
				{NetworkInterfaceId: aws.String("eni-01"), Attachment: attached(0, 1)},
				{NetworkInterfaceId: aws.String("eni-00"), Attachment: attached(0, 0)},
			}},
			Instance{Tags: map[string]string{}, Interfaces: []Interface{
				{ID: "eni-00", Attached: true, SourceDestCheck: true},
				{ID: "eni-01", Attached: true, NetworkCard: 1, SourceDestCheck: true},
				{ID: "eni-10", Attached: true, Device: 1},
				{ID: "eni-11", Attached: true, Device: 1, NetworkCard: 1, SourceDestCheck: true},
				{ID: "eni-none", SourceDestCheck: true},
			}},
		},
		"addresses": {
			"in the order of EC2; what is none is kept as none",
			types.Instance{NetworkInterfaces: []types.InstanceNetworkInterface{
				{
					PrivateIpAddress:   aws.String("10.0.0.1"),
					PrivateIpAddresses: []types.InstancePrivateIpAddress{{PrivateIpAddress: aws.String("10.0.0.1")}, {PrivateIpAddress: aws.String("10.0.0.x")}},
					Ipv6Addresses:      []types.InstanceIpv6Address{{Ipv6Address: aws.String("2001:DB8::2")}, {Ipv6Address: aws.String("2001:db8::1")}},
				},
				{PrivateIpAddress: aws.String("10.0.0.9")},
			}},
			Instance{Tags: map[string]string{}, Interfaces: []Interface{
				{
					SourceDestCheck: true, IPv4: []netip.Addr{netip.MustParseAddr("10.0.0.1"), {}},
					IPv6: []netip.Addr{netip.MustParseAddr("2001:db8::2"), netip.MustParseAddr("2001:db8::1")},
				},
				{SourceDestCheck: true, IPv4: []netip.Addr{netip.MustParseAddr("10.0.0.9")}},
			}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(&tc.want, toInstance(&tc.in), compareAddrs); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestInterfaceOrder: however EC2 lists interfaces, the result is the same
// (AWS-ADDR-4).
func TestInterfaceOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := make([]types.InstanceNetworkInterface, rapid.IntRange(0, 6).Draw(t, "interfaces"))
		for i := range all {
			all[i].NetworkInterfaceId = aws.String(string(rune('a' + i)))
			if rapid.Bool().Draw(t, "attached") {
				all[i].Attachment = &types.InstanceNetworkInterfaceAttachment{
					DeviceIndex: aws.Int32(rapid.Int32Range(0, 2).Draw(t, "device")), NetworkCardIndex: aws.Int32(rapid.Int32Range(0, 2).Draw(t, "card")),
				}
			}
		}
		want := toInstance(&types.Instance{NetworkInterfaces: all})
		got := toInstance(&types.Instance{NetworkInterfaces: rapid.Permutation(all).Draw(t, "order")})
		if diff := cmp.Diff(want, got, compareAddrs); diff != "" {
			t.Fatalf("another order (-want +got):\n%s", diff)
		}
	})
}

func TestPrimary(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		in     Instance
		want   string
	}{
		"first":         {"AWS-ROUTE-6: device 0 of card 0", Instance{Interfaces: []Interface{{ID: "eni-0", Attached: true}, {ID: "eni-1", Attached: true, Device: 1}}}, "eni-0"},
		"none":          {"AWS-API-1: no interface is known", Instance{}, ""},
		"not attached":  {"AWS-API-1: EC2 returns no attachment", Instance{Interfaces: []Interface{{ID: "eni-0"}}}, ""},
		"second device": {"AWS-API-1: the primary is missing", Instance{Interfaces: []Interface{{ID: "eni-1", Attached: true, Device: 1}}}, ""},
		"without ID":    {"AWS-API-1: its ID is not known", Instance{Interfaces: []Interface{{Attached: true}}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := tc.in.Primary()
			if ok != (tc.want != "") || ok && got.ID != tc.want {
				t.Errorf("%s: got %q, %t", tc.reason, got.ID, ok)
			}
		})
	}
}
