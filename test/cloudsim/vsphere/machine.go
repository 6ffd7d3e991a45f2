package vsphere

import (
	"cmp"
	"fmt"
	"maps"
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
