package vsphere

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi"
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
