package vsphere

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// found returns what a client sees of the VMs with a UUID.
func found(t *testing.T, c *govmomi.Client, uuid string) []mo.VirtualMachine {
	t.Helper()
	res, err := methods.FindAllByUuid(t.Context(), c, &types.FindAllByUuid{
		This: *c.ServiceContent.SearchIndex, Uuid: uuid, VmSearch: true, InstanceUuid: new(false),
	})
	if err != nil {
		t.Fatal(err)
	}
	var vms []mo.VirtualMachine
	if len(res.Returnval) > 0 {
		err = property.DefaultCollector(c.Client).Retrieve(t.Context(), res.Returnval,
			[]string{"name", "parent", "summary", "guest", "runtime"}, &vms)
	}
	if err != nil {
		t.Fatal(err)
	}

	return vms
}

// A VM that left the inventory comes back with its UUID and another reference,
// whatever took it away.
func TestVMsReturnUnderAnotherReference(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		leave  func(v *VCenter, vm *VM) (back func() error, err error)
	}{
		"Registered": {"only a VM that is off can be unregistered", func(_ *VCenter, vm *VM) (func() error, error) {
			if vm.Unregister() == nil {
				return nil, errors.New("a running VM was unregistered")
			}

			return vm.Register, errors.Join(vm.PowerOff(), vm.Unregister())
		}},
		"HostAdded": {"a host takes its VMs with it", func(v *VCenter, _ *VM) (func() error, error) {
			add, err := v.RemoveHost("host-1")

			return func() error {
				add()

				return nil
			}, err
		}},
		"Restored": {"a backup is older than the VM", func(v *VCenter, vm *VM) (func() error, error) {
			return vm.Register, v.Restore(vm)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := start(t, small()).VCenter("vc")
			vm := v.VM("one")
			before := vm.Reference()
			back, err := tc.leave(v, vm)
			if err != nil {
				t.Fatal(err)
			}
			c := login(t, v)
			w := startWatch(t, c)
			w.pageIn(t)
			if vms := found(t, c, vm.UUID()); len(vms) != 0 {
				t.Fatalf("%s: %d VMs are left", tc.reason, len(vms))
			}
			if err := back(); err != nil {
				t.Fatal(err)
			}
			vms := found(t, c, vm.UUID())
			if len(vms) != 1 || vms[0].Self == before || vms[0].Self != vm.Reference() || vms[0].Name != "one" || vms[0].Parent == nil {
				t.Fatalf("%s: found %+v, want the VM under another reference than %v", tc.reason, vms, before)
			}
			entered := false
			for _, u := range w.pageIn(t) {
				entered = entered || u.Obj == vm.Reference() && u.Kind == types.ObjectUpdateKindEnter
			}
			if !entered {
				t.Errorf("%s: the change feed does not report it", tc.reason)
			}
		})
	}
}

// A VM that moves to another vCenter keeps its UUID.
func TestMigrateToAnotherVCenter(t *testing.T) {
	t.Parallel()
	spec := small()
	spec.VCenters = append(spec.VCenters, VCenterSpec{Name: "other", Datacenters: []DatacenterSpec{{Name: "dc"}}})
	cloud := start(t, spec)
	uuid := cloud.VM("one").UUID()
	moved, err := cloud.VM("one").MigrateTo(cloud.VCenter("other"), "dc")
	if err != nil {
		t.Fatal(err)
	}
	if vms := found(t, login(t, cloud.VCenter("vc")), uuid); len(vms) != 0 {
		t.Errorf("%d VMs are left behind", len(vms))
	}
	vms := found(t, login(t, cloud.VCenter("other")), uuid)
	if len(vms) != 1 || vms[0].Self != moved.Reference() || vms[0].Guest.HostName != "one" || len(vms[0].Guest.Net) != 1 {
		t.Errorf("found %+v, want the VM with its guest", vms)
	}
}

// An address that leads to another vCenter is detected by about.instanceUuid.
func TestInstanceUUIDChanges(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	before := login(t, v)
	v.SetInstanceUUID("11111111-2222-4333-8444-555555555555")
	if _, err := methods.GetCurrentTime(t.Context(), before); !isFault(err, &types.NotAuthenticated{}) {
		t.Errorf("error of the session before: %v, want NotAuthenticated", err)
	}
	if got := login(t, v).ServiceContent.About.InstanceUuid; got != "11111111-2222-4333-8444-555555555555" {
		t.Errorf("about.instanceUuid is %s", got)
	}
}

// A reference can become that of another VM.
func TestReferenceIsReused(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	ref := v.VM("one").Reference()
	if _, err := v.AddVMAs(ref, "dc", VMSpec{Name: "other"}); err == nil {
		t.Error("two VMs have one reference")
	}
	if err := v.VM("one").Destroy(); err != nil {
		t.Fatal(err)
	}
	other, err := v.AddVMAs(ref, "dc", VMSpec{Name: "other"})
	if err != nil || other.Reference() != ref {
		t.Fatalf("reference is %v, %v, want %v", other.Reference(), err, ref)
	}
	if name, err := object.NewVirtualMachine(login(t, v).Client, ref).ObjectName(t.Context()); name != "other" || err != nil {
		t.Errorf("%v is %q, %v", ref, name, err)
	}
}

// The VMs of a Fault Tolerance pair have one UUID, and a role each.
func TestFaultTolerance(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	secondary, err := v.VM("one").AddSecondary()
	if err != nil {
		t.Fatal(err)
	}
	c := login(t, v)
	roles := func() map[types.ManagedObjectReference]int32 {
		roles := map[types.ManagedObjectReference]int32{}
		for _, vm := range found(t, c, secondary.UUID()) {
			roles[vm.Self] = vm.Summary.Config.FtInfo.GetFaultToleranceConfigInfo().Role
		}

		return roles
	}
	primary := v.VM("one")
	if got := roles(); len(got) != 2 || got[primary.Reference()] != 1 || got[secondary.Reference()] != 2 {
		t.Errorf("roles are %v", got)
	}
	if err := primary.FailOver(secondary); err != nil {
		t.Fatal(err)
	}
	if got := roles(); got[primary.Reference()] != 2 || got[secondary.Reference()] != 1 {
		t.Errorf("roles after the failover are %v", got)
	}
}

// A template is a VM that is off.
func TestTemplate(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	vm := v.VM("one")
	if vm.SetTemplate(true) == nil {
		t.Error("a running VM became a template")
	}
	if err := errors.Join(vm.PowerOff(), vm.KeepHostname(), vm.SetTemplate(true)); err != nil {
		t.Fatal(err)
	}
	got := found(t, login(t, v), vm.UUID())[0]
	if !got.Summary.Config.Template || got.Guest.HostName != "one" || len(got.Guest.Net) != 0 {
		t.Errorf("template %t, host name %q, %d networks, want a template that keeps its host name",
			got.Summary.Config.Template, got.Guest.HostName, len(got.Guest.Net))
	}
}
