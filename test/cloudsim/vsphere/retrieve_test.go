package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// namesOf is a read of the names of all VMs of a vCenter.
func namesOf(v *VCenter, c *govmomi.Client, most int32) types.RetrievePropertiesEx {
	spec := types.PropertyFilterSpec{PropSet: []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}}}
	for _, vm := range v.VMs() {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: vm.Reference()})
	}

	return types.RetrievePropertiesEx{
		This:    c.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{spec},
		Options: types.RetrieveOptions{MaxObjects: most},
	}
}

func TestReadsHavePages(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		vms  int
		most int32
		want []int
	}{
		"one page":                         {vms: 100, want: []int{100}},
		"no maximum":                       {vms: 101, want: []int{100, 1}},
		"more than the vCenter returns":    {vms: 250, most: 1000, want: []int{100, 100, 50}},
		"fewer than the vCenter returns":   {vms: 50, most: 20, want: []int{20, 20, 10}},
		"as many as are there are no more": {vms: 20, most: 20, want: []int{20}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := start(t, Spec{VCenters: []VCenterSpec{{Name: "vc", Datacenters: []DatacenterSpec{{Name: "dc", VMs: Fleet("vm", tc.vms)}}}}}).VCenter("vc")
			c := login(t, v)
			req := namesOf(v, c, tc.most)
			res, err := methods.RetrievePropertiesEx(t.Context(), c, &req)
			if err != nil {
				t.Fatal(err)
			}
			got, token := []int{len(res.Returnval.Objects)}, res.Returnval.Token
			for token != "" {
				next, err := methods.ContinueRetrievePropertiesEx(t.Context(), c, &types.ContinueRetrievePropertiesEx{This: req.This, Token: token})
				if err != nil {
					t.Fatal(err)
				}
				got, token = append(got, len(next.Returnval.Objects)), next.Returnval.Token
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSecondPageNeedsTheRootFolder(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	if err := v.SetHidden("/", true); err != nil {
		t.Fatal(err)
	}
	c := login(t, v)
	req := namesOf(v, c, 1)
	first, err := methods.RetrievePropertiesEx(t.Context(), c, &req)
	if err != nil {
		t.Fatal(err)
	}
	_, err = methods.ContinueRetrievePropertiesEx(t.Context(), c, &types.ContinueRetrievePropertiesEx{This: req.This, Token: first.Returnval.Token})
	if !isFault(err, &types.NoPermission{}) {
		t.Errorf("the second page: %v, want NoPermission", err)
	}
}
