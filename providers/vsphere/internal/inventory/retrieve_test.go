package inventory

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// References with the GUID of the vCenter are those of the same VMs without it: a
// vCenter mixes both (https://github.com/vmware/govmomi/issues/3417).
func TestSearchResultsWithServerGUID(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 1, Config{})
	known := one(t, i, byID(v.VMs()[0].UUID()))
	found, err := i.search(t.Context(), func(context.Context, *vim25.Client) ([]Ref, error) {
		return []Ref{{Type: known.Ref.Type, Value: known.Ref.Value, ServerGUID: "guid"}}, nil
	}, Query{})
	if err != nil || len(found) != 1 || found[0].Ref != known.Ref {
		t.Errorf("search returns %v, %v", found, err)
	}
}

// One call reads more VMs than the 100 that RetrievePropertiesEx returns, and nothing is left
// in the session.
func TestManyVMsAreReadByOneCall(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 101, Config{})
	refs := lists.Map(v.VMs(), func(vm *cloudsim.VM) Ref { return vm.Reference() })
	v.Reset()
	contents, err := i.retrieve(t.Context(), refs, []string{"name"})
	if err != nil || len(contents) != len(refs) {
		t.Errorf("%d VMs are read, want %d: %v", len(contents), len(refs), err)
	}
	if n := v.UnreadPages(); n != 0 {
		t.Errorf("%d pages are left", n)
	}
	if diff := cmp.Diff(map[string]int{"RetrieveProperties": 1}, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// A VM that the vCenter leaves out of a response is an error, and no other one is.
func TestVMThatIsNotReturned(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 3, Config{})
	vms := v.VMs()
	known := one(t, i, byID(vms[0].UUID()))
	ok(t, v.SetHidden("/dc/vm/"+vms[0].Name(), true))
	refs := lists.Map(vms, func(vm *cloudsim.VM) Ref { return vm.Reference() })
	got, err := i.readDetails(t.Context(), refs)
	ok(t, err)
	for n, r := range refs {
		if missing := errors.Is(got[r].Err, errNotReturned); missing != (n == 0) || (got[r].Value == nil) != missing {
			t.Errorf("details of VM %d: %+v", n, got[r])
		}
	}
	if vms, err := i.read(t.Context(), []Ref{known.Ref}); !errors.Is(err, errNotReturned) {
		t.Errorf("read returns %v, %v", vms, err)
	}
}
