package vsphere

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vmware/govmomi/vim25/types"
)

// VM is a handle to a virtual machine. Its methods change the machine the way
// an administrator, the guest or a broken host would; clients that wait for
// changes receive them at once. They fail when the VM was destroyed.
type VM struct {
	v *VCenter
	m *machine
}

func (v *VCenter) find(name string) *VM {
	v.mu.Lock()
	defer v.mu.Unlock()
	var found *machine
	for _, m := range v.vms {
		if m.Name == name && (found == nil || m.number < found.number) {
			found = m
		}
	}
	if found == nil {
		return nil
	}

	return &VM{v, found}
}

// VM returns the first VM of that name. It panics when there is none.
func (v *VCenter) VM(name string) *VM {
	if vm := v.find(name); vm != nil {
		return vm
	}
	panic(fmt.Sprintf("simulated vcenter %q has no vm %q", v.name, name))
}

// VMs returns all VMs in the order of their creation.
func (v *VCenter) VMs() []*VM {
	v.mu.Lock()
	defer v.mu.Unlock()
	machines := slices.SortedFunc(maps.Values(v.vms), func(a, b *machine) int { return a.number - b.number })
	vms := make([]*VM, 0, len(machines))
	for _, m := range machines {
		vms = append(vms, &VM{v, m})
	}

	return vms
}

// AddVM creates a VM while the cloud runs.
func (v *VCenter) AddVM(datacenter string, spec VMSpec) (*VM, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d := v.datacenter(datacenter)
	if d == nil {
		return nil, fmt.Errorf("add vm %q: no datacenter %q", spec.Name, datacenter)
	}
	m, err := d.addVM(spec)
	if err != nil {
		return nil, err
	}

	return &VM{v, m}, nil
}

// change runs f while nothing else happens, and wakes the clients.
func (vm *VM) change(f func(m *machine) error) error {
	vm.v.mu.Lock()
	defer vm.v.mu.Unlock()
	if vm.v.vms[vm.m.Self] != vm.m {
		return fmt.Errorf("change vm %q: it was destroyed", vm.m.Name)
	}
	if err := f(vm.m); err != nil {
		return fmt.Errorf("change vm %q: %w", vm.m.Name, err)
	}
	vm.v.feed.touch(false, vm.m.Self)

	return nil
}

// VCenter returns the vCenter of the VM.
func (vm *VM) VCenter() *VCenter { return vm.v }

// Reference returns the managed object reference.
func (vm *VM) Reference() types.ManagedObjectReference { return vm.m.Self }

// Name returns the name in the inventory.
func (vm *VM) Name() string {
	vm.v.mu.Lock()
	defer vm.v.mu.Unlock()

	return vm.m.Name
}

// UUID returns the BIOS UUID, readable or not, in lower case.
func (vm *VM) UUID() string {
	vm.v.mu.Lock()
	defer vm.v.mu.Unlock()
	if vm.m.hidden != nil {
		return vm.m.hidden.Uuid
	}

	return vm.m.Config.Uuid
}

// PowerOn starts the VM; its guest reports again.
func (vm *VM) PowerOn() error { return vm.power(On) }

// PowerOff stops the VM; its guest no longer reports a name or networks.
func (vm *VM) PowerOff() error { return vm.power(Off) }

// Suspend suspends the VM; what its guest reported stays.
func (vm *VM) Suspend() error { return vm.power(Suspended) }

func (vm *VM) power(power Power) error {
	return vm.change(func(m *machine) error {
		m.setPower(power)

		return nil
	})
}

// SetHostname changes the name that the guest reports.
func (vm *VM) SetHostname(hostname string) error {
	return vm.change(func(m *machine) error {
		m.guest.hostname = hostname
		m.report()

		return nil
	})
}

// SetNICs replaces the network adapters and the addresses that the guest
// reports. Addresses are not checked, as a guest's are not.
func (vm *VM) SetNICs(nics ...NIC) error {
	return vm.change(func(m *machine) error {
		m.setNICs(nics)

		return nil
	})
}

// SetTools starts or removes VMware Tools, without which the guest reports
// nothing.
func (vm *VM) SetTools(running bool) error {
	return vm.change(func(m *machine) error {
		m.guest.tools = running
		m.report()

		return nil
	})
}

// SetExtraConfig sets keys such as guestinfo.metadata; an empty value removes
// the key.
func (vm *VM) SetExtraConfig(values map[string]string) error {
	return vm.change(func(m *machine) error {
		if m.Config == nil {
			return fmt.Errorf("its configuration cannot be read")
		}
		kept := slices.DeleteFunc(slices.Clone(m.Config.ExtraConfig), func(option types.BaseOptionValue) bool {
			_, ok := values[option.GetOptionValue().Key]

			return ok
		})
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if values[key] != "" {
				kept = append(kept, &types.OptionValue{Key: key, Value: values[key]})
			}
		}
		m.Config.ExtraConfig = kept

		return nil
	})
}

// SetConnectionState changes runtime.connectionState alone. A disconnected VM
// looks like that; see HideConfig for an inaccessible one.
func (vm *VM) SetConnectionState(state types.VirtualMachineConnectionState) error {
	return vm.change(func(m *machine) error {
		m.Runtime.ConnectionState = state
		m.summarize()

		return nil
	})
}

// HideConfig makes the configuration unreadable, or readable again: config is
// unset and summary.config.uuid empty, and searches by UUID miss the VM, as with
// a VM whose files are inaccessible.
func (vm *VM) HideConfig(hide bool) error {
	return vm.change(func(m *machine) error {
		switch {
		case hide && m.hidden == nil:
			m.hidden, m.Config = m.Config, nil
		case !hide && m.hidden != nil:
			m.Config, m.hidden = m.hidden, nil
		}
		m.summarize()

		return nil
	})
}

// Clone copies the VM, its UUID and its guest included, as a restored backup
// does.
func (vm *VM) Clone(name string) (*VM, error) {
	var made *machine
	err := vm.change(func(m *machine) error {
		made = m.clone(name)

		return nil
	})
	if err != nil {
		return nil, err
	}

	return &VM{vm.v, made}, nil
}

// Destroy removes the VM, whatever its power state.
func (vm *VM) Destroy() error {
	return vm.change(func(m *machine) error {
		m.leave()

		return nil
	})
}
