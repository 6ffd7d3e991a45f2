package vsphere

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	defaultGuest    = "ubuntu64Guest"
	defaultCPUs     = 2
	defaultMemoryMB = 4096
	firstNICKey     = 4000
	hardwareVersion = "vmx-19"
)

// machine is a VM in vcsim's registry. vcsim's methods work on it; those that a
// vCenter does better are in task.go.
type machine struct {
	simulator.VirtualMachine

	dc     *datacenter
	number int // in the order of creation
	folder *simulator.Folder
	host   *host
	pool   *pool
	guest  guest
	hidden *types.VirtualMachineConfigInfo // the configuration while it cannot be read

	faultTolerance int32  // role in a Fault Tolerance group, 0 outside of one
	reference      string // value of the next reference, empty for a new one
}

// guest is what the guest OS knows, and VMware Tools report while it runs.
type guest struct {
	tools    bool
	hostname string
	nics     []NIC
	// keepsHostname says that the host name is reported while the VM is off.
	keepsHostname bool
}

// addVM makes a VM and adds it to the inventory.
func (d *datacenter) addVM(spec VMSpec) (*machine, error) {
	h, in, err := d.place(spec)
	if err != nil {
		return nil, fmt.Errorf("place vm %q: %w", spec.Name, err)
	}
	folder, err := d.v.makeFolders(d.vmFolder(), spec.Folder)
	if err != nil {
		return nil, fmt.Errorf("place vm %q: %w", spec.Name, err)
	}
	m := &machine{dc: d, number: d.v.nextNumber(), folder: folder, host: h, pool: in}
	m.guest = guest{
		tools:    !spec.NoTools,
		hostname: cmp.Or(spec.Hostname, strings.ToLower(spec.Name)),
	}
	m.configure(spec)
	m.setNICs(spec.NICs)
	m.begin(spec.Power)
	d.v.tags.attach(m.Self, spec.Tags)
	return m, nil
}

// nextNumber counts the VMs, those that are gone included.
func (v *VCenter) nextNumber() int {
	v.numbered++
	return v.numbered
}

// begin brings a configured VM to life.
func (m *machine) begin(power Power) {
	m.Runtime.Host = &m.host.Self
	m.Runtime.ConnectionState = types.VirtualMachineConnectionStateConnected
	m.Datastore = []types.ManagedObjectReference{m.dc.datastore.Self}
	m.setPower(power)
	m.enter()
	m.dc.v.vms[m.Self] = m
}

// enter links the VM with its folder or vApp, its host and its pool.
func (m *machine) enter() {
	v := m.dc.v
	poolRef := m.pool.entity.Entity().Self
	m.ResourcePool = &poolRef
	if vapp, ok := m.pool.entity.(*simulator.VirtualApp); ok {
		v.put(nil, m, "VirtualMachine")
		m.ParentVApp = &vapp.Self // and no parent
	} else {
		v.putInFolder(m.folder.Self, m, "VirtualMachine")
	}
	m.Summary.Vm = &m.Self
	m.host.Vm = append(m.host.Vm, m.Self)
	*m.pool.vms = append(*m.pool.vms, m.Self)
	m.dc.datastore.Vm = append(m.dc.datastore.Vm, m.Self)
	v.feed.touch(true, m.host.Self, poolRef, m.Self)
}

func (m *machine) configure(spec VMSpec) {
	uuid := cmp.Or(strings.ToLower(spec.UUID), makeUUID("vm", m.dc.v.name, m.dc.name, spec.Folder, spec.Name))
	m.Name = spec.Name
	path := fmt.Sprintf("[%s] %s", datastoreName, spec.Name)
	m.Config = &types.VirtualMachineConfigInfo{
		Name:          spec.Name,
		GuestId:       cmp.Or(spec.Guest, defaultGuest),
		Uuid:          uuid,
		InstanceUuid:  makeUUID("instance", m.dc.v.name, m.dc.name, spec.Folder, spec.Name),
		Version:       hardwareVersion,
		Firmware:      string(types.GuestOsDescriptorFirmwareTypeBios),
		Modified:      time.Now(),
		Files:         types.VirtualMachineFileInfo{VmPathName: path + "/" + spec.Name + ".vmx", LogDirectory: path},
		Tools:         new(types.ToolsConfigInfo),
		BootOptions:   new(types.VirtualMachineBootOptions),
		ChangeVersion: "1",
		Hardware: types.VirtualHardware{
			NumCPU:   int32(cmp.Or(spec.CPUs, defaultCPUs)),
			MemoryMB: int32(cmp.Or(spec.MemoryMB, defaultMemoryMB)),
		},
	}
	m.Config.GuestFullName = m.Config.GuestId
	for _, key := range slices.Sorted(maps.Keys(spec.ExtraConfig)) {
		m.Config.ExtraConfig = append(m.Config.ExtraConfig, &types.OptionValue{Key: key, Value: spec.ExtraConfig[key]})
	}
	m.Layout = new(types.VirtualMachineFileLayout)
	m.LayoutEx = new(types.VirtualMachineFileLayoutEx)
	m.Storage = new(types.VirtualMachineStorageInfo)
	m.Summary.Storage = new(types.VirtualMachineStorageSummary)
	m.DataSets = make(map[string]*simulator.DataSet)
}

// setNICs gives the VM its adapters and the guest their addresses.
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
	card := &types.VirtualVmxnet3{}
	card.Key = *nic.DeviceConfigID
	card.MacAddress = nic.MAC
	card.AddressType = "assigned"
	card.DeviceInfo = &types.Description{Label: fmt.Sprintf("Network adapter %d", number), Summary: nic.Network}
	card.Backing = &types.VirtualEthernetCardNetworkBackingInfo{
		VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: nic.Network},
	}
	card.Connectable = &types.VirtualDeviceConnectInfo{StartConnected: true, Connected: true}
	return card
}

// mac derives an address of the range that VMware assigns by hand.
func (m *machine) mac(i int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %s %d", m.dc.v.name, m.dc.name, m.Name, i))
	return net.HardwareAddr{0x00, 0x50, 0x56, sum[0] & 0x3f, sum[1], sum[2]}.String()
}

// setPower changes the power state. A guest that is switched off reports
// nothing; a suspended one keeps what it reported last.
func (m *machine) setPower(power Power) {
	m.Runtime.BootTime = nil
	switch power {
	case Off:
		m.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff
	case Suspended:
		m.Runtime.PowerState = types.VirtualMachinePowerStateSuspended
	default:
		m.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
		m.Runtime.BootTime = new(time.Now())
	}
	m.report()
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

// summarize rebuilds the summary from the rest.
func (m *machine) summarize() {
	m.Summary.Runtime = m.Runtime
	m.Summary.OverallStatus = types.ManagedEntityStatusGreen
	m.Summary.Guest = &types.VirtualMachineGuestSummary{
		ToolsStatus: m.Guest.ToolsStatus, ToolsRunningStatus: m.Guest.ToolsRunningStatus,
		HostName: m.Guest.HostName, IpAddress: m.Guest.IpAddress,
	}
	m.Summary.Config = types.VirtualMachineConfigSummary{Name: m.Name}
	if m.Config == nil {
		return
	}
	m.Summary.Guest.GuestId = m.Config.GuestId
	m.Summary.Config = types.VirtualMachineConfigSummary{
		Name: m.Name, VmPathName: m.Config.Files.VmPathName, HwVersion: m.Config.Version,
		Uuid: m.Config.Uuid, InstanceUuid: m.Config.InstanceUuid,
		GuestId: m.Config.GuestId, GuestFullName: m.Config.GuestFullName,
		NumCpu: m.Config.Hardware.NumCPU, MemorySizeMB: m.Config.Hardware.MemoryMB,
		NumEthernetCards: int32(len(m.Config.Hardware.Device)),
		Template:         m.Config.Template,
	}
	m.Config.FtInfo = nil
	if m.faultTolerance > 0 {
		m.Config.FtInfo = &types.FaultToleranceConfigInfo{Role: m.faultTolerance, InstanceUuids: []string{m.Config.InstanceUuid}}
	}
	m.Summary.Config.FtInfo = m.Config.FtInfo
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

// clone adds a copy of the VM to the inventory, next to it.
func (m *machine) clone(name string) *machine {
	spec := VMSpec{Name: name, NoTools: !m.guest.tools}
	from := m.Config
	if from == nil {
		from = m.hidden
	}
	spec.UUID, spec.Guest = from.Uuid, from.GuestId
	spec.CPUs, spec.MemoryMB = int(from.Hardware.NumCPU), int(from.Hardware.MemoryMB)
	spec.ExtraConfig = make(map[string]string)
	for _, option := range from.ExtraConfig {
		value := option.GetOptionValue()
		spec.ExtraConfig[value.Key] = fmt.Sprint(value.Value)
	}
	made := &machine{dc: m.dc, number: m.dc.v.nextNumber(), folder: m.folder, host: m.host, pool: m.pool, guest: m.guest}
	made.configure(spec)
	made.setNICs(m.guest.nics)
	made.begin(powerOf(m.Runtime.PowerState))
	return made
}

func powerOf(state types.VirtualMachinePowerState) Power {
	switch state {
	case types.VirtualMachinePowerStatePoweredOff:
		return Off
	case types.VirtualMachinePowerStateSuspended:
		return Suspended
	default:
		return On
	}
}
