package request

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestForDelete(t *testing.T) {
	t.Parallel()
	id := testID("a")
	cases := map[string]struct {
		reason, changes string
		want            Existing
	}{
		"new":          {"has its names only", "hostname=", Existing{}},
		"existing":     {"is found by its ID", "load-balancer-id=" + id + "; load-balancer-address=203.0.113.9; keep-floatingip=true", Existing{LoadBalancerID: id, Published: "203.0.113.9", KeepFloatingIP: true}},
		"no ID":        {"is found by its name", "load-balancer-id=../x", Existing{}},
		"invalid":      {"is deleted all the same", "class=x; connection-limit=-5; spec.ports=; floating-subnet=[; load-balancer-id=" + id, Existing{LoadBalancerID: id}},
		"unclear keep": {"has no effect", "keep-floatingip=True", Existing{}},
		"no keep":      {"is the default", "keep-floatingip=false", Existing{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCase()
			c.apply(tc.changes)
			tc.want.Names = NewNames("kube", c.service)
			if diff := cmp.Diff(tc.want, ForDelete(c.service, "kube"), byText); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
