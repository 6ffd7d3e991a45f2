package inventory

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Ref names a managed object of the vCenter.
type Ref = types.ManagedObjectReference

// VM is a virtual machine as the vCenter described it. It is never changed once
// handed out.
type VM struct {
	Ref  Ref
	Name string
	// UUID is the BIOS UUID in lower case, as the vCenter writes it. Empty means
	// that the vCenter never told it to us.
	UUID string
	// HostName and IPAddress are what the tools in the guest report.
	HostName  string
	IPAddress string
	NICs      []NIC

	GuestID  string
	NumCPU   int32
	MemoryMB int32

	// Power is empty when the vCenter does not know it.
	Power      types.VirtualMachinePowerState
	Connection types.VirtualMachineConnectionState

	// Metadata is guestinfo.metadata as it was written, MetadataEncoding says
	// how it is encoded. Either is empty if it is longer than 64 KiB.
	Metadata         string
	MetadataEncoding string

	// The places of the VM in the tree. Each can be missing.
	Host       Ref
	Pool       Ref
	Parent     Ref
	ParentVApp Ref
	// Datacenter is missing when too much of what is above the VM cannot be
	// read.
	Datacenter Ref

	// Observed is when the vCenter last reported about this VM. Whether the VM
	// can have changed since then is for [Inventory.Current] to say.
	Observed time.Time
}

// NIC is what the tools in the guest report of one network interface.
type NIC struct {
	Network string
	IPs     []string
	// DeviceConfigID is the key of the virtual device, or -1 if there is none
	// behind the interface.
	DeviceConfigID int32
}

// vmProperties lists what we ask about a VM, and where the answer goes. A nil
// value means that the property is not set.
var vmProperties = map[string]func(vm *VM, val any){
	"name":                         func(vm *VM, val any) { vm.Name = as[string](val) },
	"parent":                       func(vm *VM, val any) { vm.Parent = ref(val) },
	"parentVApp":                   func(vm *VM, val any) { vm.ParentVApp = ref(val) },
	"resourcePool":                 func(vm *VM, val any) { vm.Pool = ref(val) },
	"runtime.host":                 func(vm *VM, val any) { vm.Host = ref(val) },
	"runtime.powerState":           func(vm *VM, val any) { vm.Power = as[types.VirtualMachinePowerState](val) },
	"runtime.connectionState":      func(vm *VM, val any) { vm.Connection = as[types.VirtualMachineConnectionState](val) },
	"summary.config.uuid":          func(vm *VM, val any) { vm.UUID = strings.ToLower(strings.TrimSpace(as[string](val))) },
	"summary.config.guestId":       func(vm *VM, val any) { vm.GuestID = as[string](val) },
	"summary.config.numCpu":        func(vm *VM, val any) { vm.NumCPU = as[int32](val) },
	"summary.config.memorySizeMB":  func(vm *VM, val any) { vm.MemoryMB = as[int32](val) },
	"guest.hostName":               func(vm *VM, val any) { vm.HostName = as[string](val) },
	"guest.ipAddress":              func(vm *VM, val any) { vm.IPAddress = as[string](val) },
	"guest.net":                    func(vm *VM, val any) { vm.NICs = nics(as[types.ArrayOfGuestNicInfo](val).GuestNicInfo) },
	extraConfig(metadataKey):       func(vm *VM, val any) { vm.Metadata = bounded(option(val)) },
	extraConfig(metadataEncodedAs): func(vm *VM, val any) { vm.MetadataEncoding = bounded(option(val)) },
}

const (
	metadataKey       = "guestinfo.metadata"
	metadataEncodedAs = "guestinfo.metadata.encoding"
	// maxMetadata is the longest value that is kept, in bytes: whoever may
	// configure a VM decides how long it is.
	maxMetadata = 64 << 10
)

// bounded is a text that is short enough to be kept.
func bounded(text string) string {
	if len(text) > maxMetadata {
		return ""
	}

	return text
}

// extraConfig is the path of one element of an array that is keyed by name.
func extraConfig(key string) string { return `config.extraConfig["` + key + `"]` }

// vmPaths are the property paths of a VM, in a fixed order.
func vmPaths() []string { return slices.Sorted(maps.Keys(vmProperties)) }

// set takes over one property. Paths we did not ask for are left alone.
func (vm *VM) set(path string, val any) {
	if assign, ok := vmProperties[path]; ok {
		assign(vm, val)
	}
}

// as is val if it has the type T, else the zero value: unset properties come as
// nil.
func as[T any](val any) T {
	v, _ := val.(T)

	return v
}

// ref drops the server from a reference: it is not always filled in, and there
// is only one server here.
func ref(val any) Ref {
	r := as[Ref](val)

	return Ref{Type: r.Type, Value: r.Value}
}

// option is the text of a keyed ExtraConfig element.
func option(val any) string { return as[string](as[types.OptionValue](val).Value) }

func nics(infos []types.GuestNicInfo) []NIC {
	out := make([]NIC, 0, len(infos))
	for _, info := range infos {
		out = append(out, NIC{Network: info.Network, IPs: info.IpAddress, DeviceConfigID: info.DeviceConfigId})
	}

	return out
}
