package openstack_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// TestStaleReads reads after each tenth write, which is the one that shows the
// state before it.
func TestStaleReads(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		reads  *openstack.StaleReads
		stale  []int // the writes after which the first read is stale
	}{
		"default": {"each tenth write", nil, []int{10, 20}},
		"often":   {"", &openstack.StaleReads{Every: 7, Reads: 1}, []int{7, 14, 21}},
		"never":   {"", &openstack.StaleReads{}, nil}, // that is what is tested
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := start(t, openstack.Options{StaleReads: tc.reads})
			id := cloud.AddServer(openstack.ServerSpec{Name: "node"})
			client := nova(t, cloud, openstack.UserCCM, "")
			var stale []int
			for i := 1; i <= 21; i++ {
				want := "node-" + strings.Repeat("x", i)
				if _, err := servers.Update(t.Context(), client, id, servers.UpdateOpts{Name: want}).Extract(); err != nil {
					t.Fatal(err)
				}
				for read := range 2 {
					server, err := servers.Get(t.Context(), client, id).Extract()
					must(t, err)
					if server.Name == want {
						continue
					}
					stale = append(stale, i)
					if read > 0 {
						t.Errorf("%s: the second read after write %d is stale, too", tc.reason, i)
					}
				}
			}
			if diff := cmp.Diff(tc.stale, stale); diff != "" {
				t.Errorf("%s: stale reads after writes (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
