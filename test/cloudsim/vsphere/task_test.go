package vsphere

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/task"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// TestClientsMayChangeVMs covers what people do by hand in a demo.
func TestClientsMayChangeVMs(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	vm := object.NewVirtualMachine(c.Client, v.VM("node").Reference())
	ctx := t.Context()
	run := func(made *object.Task, err error) error {
		if err != nil {
			return err
		}

		return made.Wait(ctx)
	}
	host := v.dcs[0].hosts[0].Self
	steps := []struct {
		name string
		do   func() error
		want func(mo.VirtualMachine) bool
	}{
		{"power off", func() error { return run(vm.PowerOff(ctx)) }, func(m mo.VirtualMachine) bool { return len(m.Guest.Net) == 0 }},
		{"power on", func() error { return run(vm.PowerOn(ctx)) }, func(m mo.VirtualMachine) bool { return len(m.Guest.Net) == 3 }},
		{"suspend", func() error { return run(vm.Suspend(ctx)) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "suspended" }},
		{"resume", func() error { return run(vm.PowerOn(ctx)) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "poweredOn" }},
		{"reset", func() error { return run(vm.Reset(ctx)) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "poweredOn" }},
		{"rename", func() error { return run(vm.Rename(ctx, "other")) }, func(m mo.VirtualMachine) bool { return m.Name == "other" }},
		{
			"migrate",
			func() error {
				return run(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &host}, types.VirtualMachineMovePriorityDefaultPriority))
			},
			func(m mo.VirtualMachine) bool { return *m.Runtime.Host == host },
		},
		{
			"set metadata",
			func() error {
				return run(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{
					&types.OptionValue{Key: "guestinfo.metadata", Value: "bmV3"},
				}}))
			},
			func(m mo.VirtualMachine) bool {
				return slices.ContainsFunc(m.Config.ExtraConfig, func(o types.BaseOptionValue) bool { return o.GetOptionValue().Value == "bmV3" })
			},
		},
		{"shut down", func() error { return vm.ShutdownGuest(ctx) }, func(m mo.VirtualMachine) bool { return m.Runtime.PowerState == "poweredOff" }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatalf("%s: %v", step.name, err)
		}
		if got := retrieve(t, c, vm.Reference(), "name", "guest", "runtime", "config"); !step.want(got) {
			t.Errorf("after %s: %+v", step.name, got.Runtime)
		}
	}
	folder := object.NewFolder(c.Client, v.dcs[0].dc.VmFolder)
	made, err := vm.Clone(ctx, folder, "clone", types.VirtualMachineCloneSpec{})
	if err := run(made, err); err != nil || v.VM("clone").UUID() == v.VM("other").UUID() {
		t.Errorf("clone: %v", err)
	}
	if err := run(vm.Destroy(ctx)); err != nil || v.find("other") != nil {
		t.Errorf("destroy: %v", err)
	}
}

func TestClientsAreRefused(t *testing.T) {
	t.Parallel()
	v := start(t, large()).VCenter("vc")
	c := login(t, v)
	ctx := t.Context()
	vm := object.NewVirtualMachine(c.Client, v.VM("node").Reference())
	run := func(made *object.Task, err error) error {
		if err != nil {
			return err
		}
		err = made.Wait(ctx)
		if _, ok := err.(task.Error); err != nil && !ok { //nolint:errorlint // the task's own error
			t.Errorf("task: %v", err)
		}

		return err
	}
	cases := map[string]struct {
		reason string
		err    error
		want   types.BaseMethodFault
	}{
		"PowerOnTwice": {"it is on", run(vm.PowerOn(ctx)), &types.InvalidPowerState{}},
		"DestroyOn":    {"it is on", run(vm.Destroy(ctx)), &types.InvalidPowerState{}},
		"UnregisterOn": {"it is on", vm.Unregister(ctx), &types.InvalidPowerState{}},
		"ShutdownWithoutTools": {
			"VMware Tools do not run in the guest",
			object.NewVirtualMachine(c.Client, v.VM("no-tools").Reference()).ShutdownGuest(ctx), &types.ToolsUnavailable{},
		},
		"MigrateNowhere": {
			"no such host",
			run(vm.Relocate(ctx, types.VirtualMachineRelocateSpec{Host: &types.ManagedObjectReference{Type: "HostSystem", Value: "host-none"}}, "")),
			&types.InvalidArgument{},
		},
		"CloneTwice": {
			"the name is taken",
			run(vm.Clone(ctx, object.NewFolder(c.Client, v.dcs[0].dc.VmFolder), "node", types.VirtualMachineCloneSpec{})), &types.DuplicateName{},
		},
		"CreateVM": {
			"there is no datastore behind it",
			func() error {
				_, err := object.NewFolder(c.Client, v.dcs[0].dc.VmFolder).CreateVM(ctx, types.VirtualMachineConfigSpec{Name: "x"},
					object.NewResourcePool(c.Client, v.dcs[0].pools["cluster"].entity.Entity().Self), nil)

				return err
			}(), &types.NotSupported{},
		},
	}
	for name, tc := range cases {
		if !isFault(tc.err, tc.want) {
			t.Errorf("%s, %s: %v, want %T", name, tc.reason, tc.err, tc.want)
		}
	}
}
