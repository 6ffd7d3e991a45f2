package inventory

import (
	"context"
	"testing"

	"github.com/vmware/govmomi/vim25"
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
