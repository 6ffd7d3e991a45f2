package inventory

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// arrive starts an inventory of which no page comes until the hold is released.
func arrive(t *testing.T, v *cloudsim.VCenter, cfg Config) (*Inventory, *simserver.Hold) {
	t.Helper()
	hold := simserver.NewHold()
	t.Cleanup(v.Inject("WaitForUpdatesEx", simserver.Always(), hold.Before).Remove)
	i, _ := start(t, v, cfg)

	return i, hold
}

// searched looks a VM up in the vCenter itself.
func searched(t *testing.T, i *Inventory, vm *cloudsim.VM) *VM {
	t.Helper()
	found, err := i.Confirm(t.Context(), byID(vm.UUID()))
	if len(found) != 1 || err != nil {
		t.Fatalf("Confirm = %s, %v, want %s", names(found), err, vm.Name())
	}

	return found[0]
}

// VS-FEED-9: before any page has come, a VM is found with all that is above it, as in
// the inventory. VMs on one host share what is above them.
func TestVMIsFoundBeforeTheInventoryIsRead(t *testing.T) {
	t.Parallel()
	v := simulate(t, chained())
	i, hold := arrive(t, v, Config{Datacenters: []string{"/emea/dc"}})
	for name, tc := range ways() {
		vm := searched(t, i, v.VM(name))
		if diff := cmp.Diff(tc.want, chainNames(i, vm)); diff != "" || !vm.InScope || vm.Datacenter == (Ref{}) {
			t.Errorf("%s: %+v, chains (-want +got):\n%s", tc.reason, vm, diff)
		}
	}
	v.Reset()
	searched(t, i, v.VM("pooled"))
	if diff := cmp.Diff(map[string]int{"FindAllByUuid": 1, "RetrieveProperties": 1}, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	ok(t, v.SetHidden("/emea/dc/vm/k8s/prod", true))
	hold.Release()
	waitSynced(t, i)
	want := ways()["pooled"].want[:2]
	want = append(want, "VM root ...") // the name of what is not known
	if diff := cmp.Diff(want, chainNames(i, one(t, i, byID(v.VM("pooled").UUID())))); diff != "" {
		t.Errorf("what the inventory does not report has left: chains (-want +got):\n%s", diff)
	}
}

// VS-FEED-9, VS-NODE-5: before the inventory is read, nothing is absent, and a VM in
// another datacenter is not found.
func TestNothingIsAbsentBeforeTheInventoryIsRead(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{
		{Name: "north", VMs: vms("web")}, {Name: "south", VMs: vms("db")},
	}})
	i, _ := arrive(t, v, Config{Datacenters: []string{"north"}})
	for _, id := range []string{uuid, v.VM("db").UUID()} {
		if found, err := i.Confirm(t.Context(), byID(id)); len(found) != 0 || !errors.Is(err, errNotSynced) {
			t.Errorf("Confirm(%s) = %s, %v, want not synced", id, names(found), err)
		}
	}
	searched(t, i, v.VM("web"))
}
