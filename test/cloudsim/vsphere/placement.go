package vsphere

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
)

// Migrate moves the VM to another host of its datacenter, and to that host's
// root pool if the present pool is not one of that host.
func (vm *VM) Migrate(host string) error {
	return vm.change(func(m *machine) error {
		for _, h := range m.dc.hosts {
			if h.Name == host {
				m.migrate(h)

				return nil
			}
		}

		return fmt.Errorf("no host %q in datacenter %q", host, m.dc.name)
	})
}

// MoveTo moves the VM to another folder of its datacenter, making the folder if
// need be. It cannot move a VM out of a vApp.
func (vm *VM) MoveTo(folder string) error {
	return vm.change(func(m *machine) error {
		if m.ParentVApp != nil {
			return fmt.Errorf("it is in a vApp")
		}
		target, err := vm.v.makeFolders(m.dc.vmFolder(), folder)
		if err != nil {
			return err
		}
		m.move(target)

		return nil
	})
}

// migrate moves the VM to another host.
func (m *machine) migrate(to *host) {
	v := m.dc.v
	v.feed.touch(true, m.host.Self, to.Self)
	simulator.RemoveReference(&m.host.Vm, m.Self)
	to.Vm = append(to.Vm, m.Self)
	m.host = to
	m.Runtime.Host = &to.Self
	if !slices.Contains(*m.pool.compute, to.Self) {
		m.enterPool(to.root)
	}
	m.summarize()
}

// enterPool moves the VM between pools; it never leaves a vApp for another one.
func (m *machine) enterPool(to *pool) {
	ref := to.entity.Entity().Self
	m.dc.v.feed.touch(true, *m.ResourcePool, ref)
	simulator.RemoveReference(m.pool.vms, m.Self)
	*to.vms = append(*to.vms, m.Self)
	m.pool = to
	m.ResourcePool = &ref
}

// move moves the VM to another folder.
func (m *machine) move(to *simulator.Folder) {
	m.dc.v.feed.touch(true, m.folder.Self, to.Self, m.Self)
	simulator.RemoveReference(&m.folder.ChildEntity, m.Self)
	to.ChildEntity = append(to.ChildEntity, m.Self)
	m.folder = to
	m.Parent = &to.Self
}

// leave removes the VM from the inventory.
func (m *machine) leave() {
	v := m.dc.v
	delete(v.vms, m.Self)
	v.tags.detachAll(m.Self)
	simulator.RemoveReference(&m.folder.ChildEntity, m.Self)
	simulator.RemoveReference(&m.host.Vm, m.Self)
	simulator.RemoveReference(m.pool.vms, m.Self)
	simulator.RemoveReference(&m.dc.datastore.Vm, m.Self)
	v.feed.touch(true, m.folder.Self, m.host.Self, *m.ResourcePool)
	v.registry.Remove(v.context, m.Self)
}
