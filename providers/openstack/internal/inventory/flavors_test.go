package inventory_test

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestInstanceType (OS-NODE-9): the name of the flavor, or its ID where the name is no label
// value or the flavor is gone.
func TestInstanceType(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason  string
		options openstack.Options
		flavor  string
		deleted bool
		want    string // empty is the ID
		calls   map[string]int
	}{
		"Name":    {"the server has it", openstack.Options{}, "m1.small", false, "m1.small", nil},
		"Deleted": {"the server has a copy", openstack.Options{}, "m1.gone", true, "m1.gone", nil},
		"NoLabel": {"a colon is not allowed, the ID is read once for all", openstack.Options{}, "SCS-2V:8:20", false, "", map[string]int{opGet: 1}},
		"Blanks":  {"blanks are not allowed", openstack.Options{}, "Small HD 4GB", false, "", map[string]int{opGet: 1}},
		"Old":     {"the flavor is read once for all", openstack.Options{Microversion: "2.46"}, "m1.small", false, "m1.small", map[string]int{opFlavor: 1}},
		"OldGone": {"its ID is known", openstack.Options{Microversion: "2.46"}, "m1.gone", true, "", map[string]int{opFlavor: 1}},
		"OldNoLabel": {"its ID is known", openstack.Options{Microversion: "2.1"}, "SCS-2V:8:20", false, "", map[string]int{
			opFlavor: 1,
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, tc.options)
			id := f.AddFlavor(openstack.FlavorSpec{Name: tc.flavor})
			if tc.want == "" {
				tc.want = id
			}
			var servers []string
			for range 3 {
				servers = append(servers, f.AddServer(openstack.ServerSpec{Name: "node", Flavor: tc.flavor}))
			}
			if tc.deleted {
				f.DeleteFlavor(tc.flavor)
			}
			for _, server := range servers {
				got, err := f.InstanceType(bounded(t), f.mustFind(t, server))
				if got != tc.want || err != nil {
					t.Errorf("%s: %q, %v; want %q", tc.reason, got, err, tc.want)
				}
			}
			for _, op := range []string{opGet, opFlavor} {
				if f.calls(op) != tc.calls[op] {
					t.Errorf("%s: %d calls of %s, want %d", tc.reason, f.calls(op), op, tc.calls[op])
				}
			}
		})
	}
}
