package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-ADDR-3: a Node with IPv6 alone keeps its InternalIP when the guest replaces
// its privacy address.
func TestPrivacyAddressNeverBecomesTheInternalIP(t *testing.T) {
	t.Parallel()
	nics := func(temporary string) sim.NIC {
		return sim.NIC{
			IPs: []string{"fe80::1", temporary, "2001:db8::5"},
			IPStates: map[string]sim.IPState{
				temporary:     {State: "preferred", Origin: "random"},
				"2001:db8::5": {State: "preferred", Origin: "linklayer"},
			},
		}
	}
	b := newFixture(t, "[Global]\nip-family = ipv6\n", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{nics("2001:db8::a1")}}))
	for _, temporary := range []string{"2001:db8::a1", "2001:db8::a2"} {
		if err := b.fleet.VM("node-1").SetNICs(nics(temporary)); err != nil {
			t.Fatal(err)
		}
		metadata := b.describe(kubetest.Node("node-1", kubetest.ProviderID(id(b.fleet.VM("node-1"))), old))
		want := []v1.NodeAddress{
			{Type: v1.NodeHostName, Address: "node-1"},
			{Type: v1.NodeInternalIP, Address: "2001:db8::5"},
			{Type: v1.NodeExternalIP, Address: "2001:db8::5"},
		}
		if diff := cmp.Diff(want, metadata.NodeAddresses); diff != "" {
			t.Errorf("with %s: addresses (-want +got):\n%s", temporary, diff)
		}
	}
}
