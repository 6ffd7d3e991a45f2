package vsphere

import (
	"fmt"
	"net/netip"
)

// fleetBase is the network that Fleet numbers its VMs in.
var fleetBase = netip.AddrFrom4([4]byte{10, 32, 0, 0})

// Fleet returns n powered-on VMs named prefix-0001, prefix-0002 and so on, each
// with one NIC and one IPv4 address of 10.32.0.0/11. The same arguments return
// the same VMs.
func Fleet(prefix string, n int) []VMSpec {
	vms := make([]VMSpec, 0, n)
	ip := fleetBase
	for i := range n {
		ip = ip.Next()
		vms = append(vms, VMSpec{
			Name: fmt.Sprintf("%s-%04d", prefix, i+1),
			NICs: []NIC{{IPs: []string{ip.String()}}},
		})
	}

	return vms
}
