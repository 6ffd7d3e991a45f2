package vsphere

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// guest is the state of the guest OS, which VMware Tools report while it runs.
type guest struct {
	tools    bool
	hostname string
	nics     []NIC
	// keepsHostname means that the host name is reported while the VM is off.
	keepsHostname bool
}

// setNICs sets the VM's adapters and, in the guest, their addresses.
func (m *machine) setNICs(nics []NIC) {
	m.guest.nics = make([]NIC, len(nics))
	var devices []types.BaseVirtualDevice
	m.Network = nil
	for i, nic := range nics {
		nic.IPs = slices.Clone(nic.IPs)
		nic.MAC = cmp.Or(nic.MAC, m.mac(i))
		if nic.DeviceConfigID == nil {
			nic.DeviceConfigID = new(int32(firstNICKey + i))
		}
		if *nic.DeviceConfigID < 0 { // the guest's own, such as a bridge
			m.guest.nics[i] = nic

			continue
		}
		nic.Network = cmp.Or(nic.Network, defaultNetwork)
		m.guest.nics[i] = nic
		if ref := m.dc.network(nic.Network); !slices.Contains(m.Network, ref) {
			m.Network = append(m.Network, ref)
		}
		devices = append(devices, adapter(nic, len(devices)+1))
	}
	if m.Config != nil {
		m.Config.Hardware.Device = devices
	}
	m.report()
}

func adapter(nic NIC, number int) types.BaseVirtualDevice {
	adapter := &types.VirtualVmxnet3{}
	adapter.Key = *nic.DeviceConfigID
	adapter.MacAddress = nic.MAC
	adapter.AddressType = "assigned"
	adapter.DeviceInfo = &types.Description{Label: fmt.Sprintf("Network adapter %d", number), Summary: nic.Network}
	adapter.Backing = &types.VirtualEthernetCardNetworkBackingInfo{
		VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: nic.Network},
	}
	adapter.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, Connected: true}

	return adapter
}

// mac derives an address of the range that VMware assigns by hand.
func (m *machine) mac(i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d", m.dc.v.name, m.dc.name, m.Name, i))

	return net.HardwareAddr{0x00, 0x50, 0x56, sum[0] & 0x3f, sum[1], sum[2]}.String()
}

// report rebuilds what clients read about the guest, and the summary.
func (m *machine) report() {
	info := &types.GuestInfo{
		ToolsStatus:        types.VirtualMachineToolsStatusToolsNotRunning,
		ToolsRunningStatus: string(types.VirtualMachineToolsRunningStatusGuestToolsNotRunning),
		GuestState:         string(types.VirtualMachineGuestStateNotRunning),
	}
	if !m.guest.tools {
		info.ToolsStatus = types.VirtualMachineToolsStatusToolsNotInstalled
	}
	on := m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn
	if on && m.guest.tools {
		info.ToolsStatus = types.VirtualMachineToolsStatusToolsOk
		info.ToolsRunningStatus = string(types.VirtualMachineToolsRunningStatusGuestToolsRunning)
		info.GuestState = string(types.VirtualMachineGuestStateRunning)
	}
	if m.guest.tools && m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
		info.HostName = m.guest.hostname
		info.Net = guestNICs(m.guest.nics)
		info.IpAddress = firstIP(m.guest.nics)
	}
	if m.guest.tools && m.guest.keepsHostname {
		info.HostName = m.guest.hostname
	}
	m.Guest = info
	m.summarize()
}

// maxGuestNICs is how many interfaces VMware Tools report:
// https://github.com/vmware/open-vm-tools/blob/master/open-vm-tools/lib/guestRpc/nicinfo.x.
const maxGuestNICs = 16

func guestNICs(nics []NIC) []types.GuestNicInfo {
	var out []types.GuestNicInfo
	for _, nic := range nics[:min(len(nics), maxGuestNICs)] {
		info := types.GuestNicInfo{
			Network: nic.Network, IpAddress: slices.Clone(nic.IPs), MacAddress: nic.MAC,
			Connected: true, DeviceConfigId: *nic.DeviceConfigID,
		}
		if len(nic.IPs) > 0 {
			info.IpConfig = new(types.NetIpConfigInfo)
		}
		for _, ip := range nic.IPs {
			told := nic.IPStates[ip]
			info.IpConfig.IpAddress = append(info.IpConfig.IpAddress, types.NetIpConfigInfoIpAddress{
				IpAddress: ip, PrefixLength: prefixLength(ip), Origin: told.Origin,
				State: cmp.Or(told.State, string(types.NetIpConfigInfoIpAddressStatusPreferred)),
			})
		}
		out = append(out, info)
	}

	return out
}

func prefixLength(ip string) int32 {
	if strings.Contains(ip, ":") {
		return 64
	}

	return 24
}

// firstIP is the address that a vCenter shows as the VM's own: the first IPv4
// one, else the first.
func firstIP(nics []NIC) string {
	var any string
	for _, nic := range nics {
		if *nic.DeviceConfigID < 0 {
			continue
		}
		for _, ip := range nic.IPs {
			if !strings.Contains(ip, ":") {
				return ip
			}
			any = cmp.Or(any, ip)
		}
	}

	return any
}
