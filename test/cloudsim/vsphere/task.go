package vsphere

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// The methods below take the place of vcsim's, which need files on a datastore
// and leave the guest's networks as they are. Their tasks run while the call
// that started them holds VCenter.mu.

func (m *machine) run(ctx *simulator.Context, name string, work func() types.BaseMethodFault) types.ManagedObjectReference {
	return simulator.CreateTask(m, name, func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		return nil, work()
	}).Run(ctx)
}

func (m *machine) runPower(ctx *simulator.Context, name string, power Power, from ...types.VirtualMachinePowerState) types.ManagedObjectReference {
	return m.run(ctx, name, func() types.BaseMethodFault {
		if !slices.Contains(from, m.Runtime.PowerState) {
			return &types.InvalidPowerState{ExistingState: m.Runtime.PowerState, RequestedState: from[0]}
		}
		m.setPower(power)
		m.dc.v.feed.touch(false, m.Self)

		return nil
	})
}

// PowerOnVMTask implements PowerOnVM_Task.
func (m *machine) PowerOnVMTask(ctx *simulator.Context, _ *types.PowerOnVM_Task) soap.HasFault {
	task := m.runPower(ctx, "powerOn", On, types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStateSuspended)

	return &methods.PowerOnVM_TaskBody{Res: &types.PowerOnVM_TaskResponse{Returnval: task}}
}

// PowerOffVMTask implements PowerOffVM_Task.
func (m *machine) PowerOffVMTask(ctx *simulator.Context, _ *types.PowerOffVM_Task) soap.HasFault {
	task := m.runPower(ctx, "powerOff", Off, types.VirtualMachinePowerStatePoweredOn, types.VirtualMachinePowerStateSuspended)

	return &methods.PowerOffVM_TaskBody{Res: &types.PowerOffVM_TaskResponse{Returnval: task}}
}

// SuspendVMTask implements SuspendVM_Task.
func (m *machine) SuspendVMTask(ctx *simulator.Context, _ *types.SuspendVM_Task) soap.HasFault {
	task := m.runPower(ctx, "suspend", Suspended, types.VirtualMachinePowerStatePoweredOn)

	return &methods.SuspendVM_TaskBody{Res: &types.SuspendVM_TaskResponse{Returnval: task}}
}

// ResetVMTask implements ResetVM_Task.
func (m *machine) ResetVMTask(ctx *simulator.Context, _ *types.ResetVM_Task) soap.HasFault {
	task := m.runPower(ctx, "reset", On, types.VirtualMachinePowerStatePoweredOn)

	return &methods.ResetVM_TaskBody{Res: &types.ResetVM_TaskResponse{Returnval: task}}
}

// ShutdownGuest implements the method of that name.
func (m *machine) ShutdownGuest(*simulator.Context, *types.ShutdownGuest) soap.HasFault {
	if m.Guest.ToolsRunningStatus != string(types.VirtualMachineToolsRunningStatusGuestToolsRunning) {
		return &methods.ShutdownGuestBody{Fault_: simulator.Fault("", new(types.ToolsUnavailable))}
	}
	m.setPower(Off)
	m.dc.v.feed.touch(false, m.Self)

	return &methods.ShutdownGuestBody{Res: new(types.ShutdownGuestResponse)}
}

// DestroyTask implements Destroy_Task.
func (m *machine) DestroyTask(ctx *simulator.Context, _ *types.Destroy_Task) soap.HasFault {
	task := m.run(ctx, "destroy", func() types.BaseMethodFault {
		if fault := m.mustBeOff(); fault != nil {
			return fault
		}
		m.leave()

		return nil
	})

	return &methods.Destroy_TaskBody{Res: &types.Destroy_TaskResponse{Returnval: task}}
}

// UnregisterVM implements the method of that name.
func (m *machine) UnregisterVM(*simulator.Context, *types.UnregisterVM) soap.HasFault {
	if fault := m.mustBeOff(); fault != nil {
		return &methods.UnregisterVMBody{Fault_: simulator.Fault("", fault)}
	}
	m.leave()

	return &methods.UnregisterVMBody{Res: new(types.UnregisterVMResponse)}
}

func (m *machine) mustBeOff() types.BaseMethodFault {
	if m.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOff {
		return nil
	}

	return &types.InvalidPowerState{
		ExistingState:  m.Runtime.PowerState,
		RequestedState: types.VirtualMachinePowerStatePoweredOff,
	}
}

// RenameTask implements Rename_Task.
func (m *machine) RenameTask(ctx *simulator.Context, req *types.Rename_Task) soap.HasFault {
	task := m.run(ctx, "rename", func() types.BaseMethodFault {
		m.Name, m.Config.Name = req.NewName, req.NewName
		m.summarize()
		m.dc.v.feed.touch(false, m.Self)

		return nil
	})

	return &methods.Rename_TaskBody{Res: &types.Rename_TaskResponse{Returnval: task}}
}

// CloneVMTask implements CloneVM_Task, next to the original and with a UUID of
// its own.
func (m *machine) CloneVMTask(ctx *simulator.Context, req *types.CloneVM_Task) soap.HasFault {
	task := simulator.CreateTask(m, "cloneVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if other := ctx.Map.FindByName(req.Name, m.folder.ChildEntity); other != nil {
			return nil, &types.DuplicateName{Name: req.Name, Object: other.Reference()}
		}
		made := m.clone(req.Name)
		made.Config.Uuid = makeUUID("clone", m.Config.Uuid, req.Name)
		made.summarize()

		return made.Self, nil
	})

	return &methods.CloneVM_TaskBody{Res: &types.CloneVM_TaskResponse{Returnval: task.Run(ctx)}}
}

// RelocateVMTask implements RelocateVM_Task within a datacenter: to another
// host, pool or folder.
func (m *machine) RelocateVMTask(ctx *simulator.Context, req *types.RelocateVM_Task) soap.HasFault {
	task := m.run(ctx, "relocateVm", func() types.BaseMethodFault { return m.relocate(req.Spec) })

	return &methods.RelocateVM_TaskBody{Res: &types.RelocateVM_TaskResponse{Returnval: task}}
}

func (m *machine) relocate(spec types.VirtualMachineRelocateSpec) types.BaseMethodFault {
	var toHost *host
	var toPool *pool
	for _, h := range m.dc.hosts {
		if spec.Host != nil && h.Self == *spec.Host {
			toHost = h
		}
	}
	for _, p := range m.dc.pools {
		if spec.Pool != nil && p.entity.Entity().Self == *spec.Pool {
			toPool = p
		}
	}
	if spec.Host != nil && toHost == nil || spec.Pool != nil && toPool == nil {
		return &types.InvalidArgument{InvalidProperty: "spec"}
	}
	if toHost != nil {
		m.migrate(toHost)
	}
	if toPool != nil {
		m.enterPool(toPool)
	}
	if spec.Folder != nil && m.ParentVApp == nil {
		folder, ok := m.dc.v.registry.Get(*spec.Folder).(*simulator.Folder)
		if !ok {
			return &types.InvalidArgument{InvalidProperty: "spec.folder"}
		}
		m.move(folder)
	}
	m.dc.v.feed.touch(false, m.Self)

	return nil
}
