package inventory

import (
	"net/netip"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// NIC is what the tools in the guest report of one network interface.
type NIC struct {
	Network string
	// IPs are the addresses in the order of the guest.
	IPs []string
	// ShortLived are those of IPs that the guest is about to release: temporary
	// IPv6 addresses, which most guests replace every day, and such that are
	// deprecated or of no use already. The interface has another IPv6 address then.
	ShortLived []string
	// DeviceConfigID is the key of the virtual device, or -1 if there is none
	// behind the interface.
	DeviceConfigID int32
}

// noDevice is the device of interfaces that the guest made by itself.
const noDevice = -1

// nics lists network interfaces. Those without a virtual device, of which a Node
// has one for each of its Pods, are represented by one without addresses: no
// address of theirs is ever used.
func nics(infos []types.GuestNicInfo) []NIC {
	out := make([]NIC, 0, len(infos))
	virtual := false
	for _, info := range infos {
		if info.DeviceConfigId != noDevice {
			out = append(out, nicOf(info))
		}
		virtual = virtual || info.DeviceConfigId == noDevice
	}
	if virtual {
		out = append(out, NIC{DeviceConfigID: noDevice})
	}

	return out
}

// nicOf is an interface with its addresses and what the guest reports of them. They
// are in ipConfig, and without their state in ipAddress, which is deprecated but
// has the order that users of the existing controller manager rely on:
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/GuestNicInfo
func nicOf(info types.GuestNicInfo) NIC {
	nic := NIC{Network: info.Network, IPs: slices.Clone(info.IpAddress), DeviceConfigID: info.DeviceConfigId}
	if info.IpConfig == nil {
		return nic
	}
	byLifetime := map[lifetime][]string{}
	for _, ip := range info.IpConfig.IpAddress {
		if !slices.Contains(nic.IPs, ip.IpAddress) {
			nic.IPs = append(nic.IPs, ip.IpAddress)
		}
		if addr, err := netip.ParseAddr(ip.IpAddress); err == nil && addr.Is6() && addr.IsGlobalUnicast() {
			kind := lifetimeOf(ip)
			byLifetime[kind] = append(byLifetime[kind], ip.IpAddress)
		}
	}
	switch {
	case len(byLifetime[lasting]) > 0:
		nic.ShortLived = slices.Concat(byLifetime[temporary], byLifetime[ending])
	case len(byLifetime[temporary]) > 0:
		nic.ShortLived = byLifetime[ending]
	}

	return nic
}

// lifetime is how long a guest is going to keep an IPv6 address.
type lifetime int

const (
	lasting   lifetime = iota
	temporary          // a privacy address, of random origin
	ending             // no longer to be used, or of no use
)

// endingStates are those of addresses that must not be used for anything new.
var endingStates = []types.NetIpConfigInfoIpAddressStatus{
	types.NetIpConfigInfoIpAddressStatusDeprecated,
	types.NetIpConfigInfoIpAddressStatusInvalid,
	types.NetIpConfigInfoIpAddressStatusInaccessible,
	types.NetIpConfigInfoIpAddressStatusDuplicate,
}

// lifetimeOf decides by state and origin, both of which can be missing:
// https://developer.broadcom.com/xapis/vsphere-automation-api/latest/vcenter/data-structures/Vm_Guest_Networking_Interfaces_IpAddressOrigin
func lifetimeOf(ip types.NetIpConfigInfoIpAddress) lifetime {
	switch {
	case slices.Contains(endingStates, types.NetIpConfigInfoIpAddressStatus(ip.State)):
		return ending
	case types.NetIpConfigInfoIpAddressOrigin(ip.Origin) == types.NetIpConfigInfoIpAddressOriginRandom:
		return temporary
	default:
		return lasting
	}
}
