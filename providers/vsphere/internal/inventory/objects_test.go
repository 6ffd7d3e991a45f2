package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// held counts what all sessions hold in the vCenter.
func held(v *cloudsim.VCenter) (n cloudsim.Session) {
	for _, s := range v.Sessions() {
		n.Collectors += s.Collectors
		n.Filters += s.Filters
		n.Views += s.Views
	}

	return n
}

// What a call made whose response was lost is used, and does not stay beside
// another one. Collectors are the exception: nothing lists them.
func TestLostResponsesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	for _, op := range []string{"CreateContainerView", "CreateFilter"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, cloudsim.VCenterSpec{})
			v.Inject(op, simserver.First(1), simserver.DropResponse())
			i, stop := start(t, v, Config{})
			waitSynced(t, i)
			if got, want := held(v), (cloudsim.Session{Collectors: 1, Filters: 1, Views: 1}); got != want {
				t.Errorf("the vCenter holds %+v, want %+v", got, want)
			}
			want := map[string]int{
				"CreatePropertyCollector": 1, "CreateContainerView": 1, "CreateFilter": 1, "RetrievePropertiesEx": 1,
			}
			if diff := cmp.Diff(want, calls(v)); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
			stop()
			if got := held(v); got != (cloudsim.Session{}) {
				t.Errorf("the vCenter holds %+v after the end", got)
			}
		})
	}
}
