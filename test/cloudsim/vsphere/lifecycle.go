package vsphere

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Unregister removes the VM from the inventory and keeps its files. A VM that
// runs is refused.
// https://developer.broadcom.com/xapis/vsphere-automation-api/latest/api/vcenter/vm/vm__action=unregister/post
func (vm *VM) Unregister() error {
	return vm.change(func(m *machine) error {
		if m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
			return errors.New("it is running")
		}
		m.leave()

		return nil
	})
}

// Register adds a VM that was unregistered to the inventory, where it was before.
// It has its UUID, and another managed object reference.
// https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-automation-sdk-programming-guide/GUID-EC8700A0-1980-43F6-A624-6E2EDB8A12AB.html
func (vm *VM) Register() error {
	vm.v.mu.Lock()
	defer vm.v.mu.Unlock()
	if vm.v.vms[vm.m.Self] == vm.m {
		return fmt.Errorf("register vm %q: it is registered", vm.m.Name)
	}
	vm.m.register()

	return nil
}

// register adds a VM to the inventory under a new reference.
func (m *machine) register() {
	m.Parent, m.ParentVApp = nil, nil
	m.enter()
	m.dc.v.vms[m.Self] = m
}

// MigrateTo moves the VM to another vCenter. It keeps its UUIDs and gets another
// managed object reference. Between the two changes neither vCenter has it. The
// handle that is returned replaces this one.
// http://pubs.vmware.com/vsphere-60/topic/com.vmware.vsphere.vcenterhost.doc/GUID-59C7D7FF-D17E-45BC-9145-06B2993880A2.html
func (vm *VM) MigrateTo(to *VCenter, datacenter string) (*VM, error) {
	if err := vm.change(func(m *machine) error {
		m.leave()

		return nil
	}); err != nil {
		return nil, err
	}

	return vm.Arrive(to, datacenter)
}

// Arrive is the second half of MigrateTo, for a VM that was removed from its
// vCenter.
func (vm *VM) Arrive(to *VCenter, datacenter string) (*VM, error) {
	to.mu.Lock()
	defer to.mu.Unlock()
	m, d := vm.m, to.datacenter(datacenter)
	if d == nil {
		return nil, fmt.Errorf("migrate vm %q: no datacenter %q", m.Name, datacenter)
	}
	h, in, err := d.place(VMSpec{})
	if err != nil {
		return nil, fmt.Errorf("migrate vm %q: %w", m.Name, err)
	}
	m.dc, m.host, m.pool, m.folder, m.number = d, h, in, d.vmFolder(), to.nextNumber()
	m.Runtime.Host = &h.Self
	m.Datastore = []types.ManagedObjectReference{d.datastore.Self}
	m.setNICs(m.guest.nics)
	m.register()

	return &VM{to, m}, nil
}

// datacenter returns the datacenter of that name, or nil.
func (v *VCenter) datacenter(name string) *datacenter {
	for _, d := range v.dcs {
		if d.name == name {
			return d
		}
	}

	return nil
}

// RemoveHost removes a host of a cluster, with its VMs, from the inventory. They
// keep running. The function that is returned adds the host again: it and its VMs
// get other managed object references.
// https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-vcenter-esxi-management/GUID-AB831898-B62D-4FE2-B519-9D0A5A82D698.html
func (v *VCenter) RemoveHost(name string) (add func(), err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	h := v.host(name)
	if h == nil {
		return nil, fmt.Errorf("remove host %q: no such host in a cluster", name)
	}
	var with []*machine
	for _, m := range v.vms {
		if m.host == h {
			with = append(with, m)
		}
	}
	slices.SortFunc(with, func(a, b *machine) int { return a.number - b.number })
	for _, m := range with {
		m.leave()
	}
	cluster := v.registry.Get(*h.Parent).(mo.Entity)
	simulator.RemoveReference(h.root.compute, h.Self)
	v.feed.touch(true, *h.Parent)
	v.registry.Remove(v.context, h.Self)

	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		ref := v.put(cluster, h.HostSystem, "HostSystem")
		*h.root.compute = append(*h.root.compute, ref)
		h.Summary.Host = &ref
		v.feed.touch(true, ref, cluster.Entity().Self)
		for _, m := range with {
			m.register()
		}
	}, nil
}

// host returns the host of that name that is in a cluster, or nil.
func (v *VCenter) host(name string) *host {
	for _, d := range v.dcs {
		for _, h := range d.hosts {
			if h.Name == name && h.Parent.Type == "ClusterComputeResource" {
				return h
			}
		}
	}

	return nil
}

// Restore makes the vCenter one that was restored from a backup: all sessions have
// ended, and it does not have the VMs that were made after the backup. They keep
// running; Register adds them again.
// https://docs.vmware.com/en/VMware-vSphere/8.0/vsphere-vcenter-installation/GUID-AFF34FA6-B7CF-4AE0-9C12-C674F160682C.html
func (v *VCenter) Restore(without ...*VM) error {
	v.TerminateSessions()
	var problems []error
	for _, vm := range without {
		problems = append(problems, vm.change(func(m *machine) error {
			m.leave()

			return nil
		}))
	}

	return errors.Join(problems...)
}

// SetInstanceUUID makes the vCenter another one than before, as when its address leads to
// another vCenter: it has another about.instanceUuid, and no session of the first.
// https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/vim.AboutInfo.html
func (v *VCenter) SetInstanceUUID(uuid string) {
	v.TerminateSessions()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.registry.Get(serviceInstance).(*simulator.ServiceInstance).Content.About.InstanceUuid = uuid
}

// AddVMAs creates a VM under a managed object reference that a VM had which is
// gone: a vCenter that was restored from a backup counts on from there.
func (v *VCenter) AddVMAs(ref types.ManagedObjectReference, datacenter string, spec VMSpec) (*VM, error) {
	v.mu.Lock()
	taken := v.vms[ref] != nil
	v.mu.Unlock()
	if taken {
		return nil, fmt.Errorf("add vm %q: %s is another VM", spec.Name, ref.Value)
	}
	vm, err := v.AddVM(datacenter, spec)
	if err != nil {
		return nil, err
	}

	return vm, vm.change(func(m *machine) error {
		m.leave()
		m.reference = ref.Value
		m.register()

		return nil
	})
}

// AddSecondary makes the VM the primary of a Fault Tolerance pair and adds the
// secondary: a VM of the same name, UUID and power state whose guest reports
// nothing.
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/FaultToleranceConfigInfo
func (vm *VM) AddSecondary() (*VM, error) {
	made, err := vm.Clone(vm.Name())
	if err != nil {
		return nil, err
	}

	return made, errors.Join(vm.setRole(1), made.setRole(2), made.SetTools(false))
}

// FailOver makes the secondary of a Fault Tolerance pair the primary, and the
// primary the secondary.
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/FaultToleranceConfigInfo
func (vm *VM) FailOver(secondary *VM) error {
	return errors.Join(vm.setRole(2), vm.SetTools(false), secondary.setRole(1), secondary.SetTools(true))
}

func (vm *VM) setRole(role int32) error {
	return vm.change(func(m *machine) error {
		m.faultTolerance = role
		m.summarize()

		return nil
	})
}

// SetTemplate marks the VM as a template, or as a virtual machine again. One that
// runs is refused.
// https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/vim.VirtualMachine.html
func (vm *VM) SetTemplate(template bool) error {
	return vm.change(func(m *machine) error {
		if m.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
			return errors.New("it is running")
		}
		m.Config.Template = template
		m.summarize()

		return nil
	})
}

// KeepHostname makes the vCenter report the host name of the guest also while the VM
// is off, which is not excluded by "Hostname of the guest operating system, if known".
// https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/vim.vm.GuestInfo.html
func (vm *VM) KeepHostname() error {
	return vm.change(func(m *machine) error {
		m.guest.keepsHostname = true
		m.report()

		return nil
	})
}
