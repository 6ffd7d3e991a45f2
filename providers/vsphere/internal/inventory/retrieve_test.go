package inventory

import (
	"context"
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

// No page of a read is left in the session: what a vCenter does not return at once is
// read by a call of its own.
func TestPagesAreNotLeft(t *testing.T) {
	t.Parallel()
	v, i := fleet(t, 5, Config{})
	v.SetReadPage(2)
	refs := lists.Map(v.VMs(), func(vm *cloudsim.VM) Ref { return vm.Reference() })
	v.Reset()
	contents, err := i.retrieve(t.Context(), refs, []string{"name"})
	if err != nil || len(contents) != len(refs) {
		t.Errorf("%d VMs are read, want %d: %v", len(contents), len(refs), err)
	}
	if n := v.UnreadPages(); n != 0 {
		t.Errorf("%d pages are left", n)
	}
	want := map[string]int{"RetrievePropertiesEx": 3, "CancelRetrievePropertiesEx": 2}
	if diff := cmp.Diff(want, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
