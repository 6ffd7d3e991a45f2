package inventory

import (
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// Ref names a managed object of the vCenter.
type Ref = types.ManagedObjectReference

// VM is a virtual machine as the vCenter described it: what identifies it, where
// it is and whether it runs. The rest is in [Details]. It is never changed once
// returned.
type VM struct {
	Ref  Ref
	Name string
	// UUID is the BIOS UUID in lower case, as the vCenter writes it. Empty means
	// that the vCenter never reported it.
	UUID string
	// HostName and IPAddress are what the tools in the guest report.
	HostName  string
	IPAddress string

	// Power and Connection are empty when the vCenter does not report them.
	Power      types.VirtualMachinePowerState
	Connection types.VirtualMachineConnectionState

	// The objects that the VM is in or on. Each can be missing.
	Host       Ref
	Pool       Ref
	Parent     Ref
	ParentVApp Ref
	// Datacenter is missing when too much of what is above the VM cannot be
	// read.
	Datacenter Ref
	// InScope means that the VM is in a configured datacenter now.
	InScope bool

	// Observed is when the vCenter last reported about this VM. Whether the VM
	// can have changed since then is reported by [Inventory.Current].
	Observed time.Time
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

	return Ref{Type: intern(r.Type), Value: r.Value}
}
