package classic

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// moved returns the subnets after steps, each of which AWS must accept.
func moved(t *rapid.T, subnets []string, steps change.Plan) []string {
	have := slices.Clone(subnets)
	for _, step := range steps {
		_, text, _ := strings.Cut(step.Text, " subnets ")
		switch ids := strings.Fields(text); step.Kind {
		case "AttachLoadBalancerToSubnets":
			have = append(have, ids...)
		case "DetachLoadBalancerFromSubnets":
			have = lists.Without(have, ids)
		}
		zones := map[byte]bool{}
		for _, id := range have {
			zones[id[0]] = true
		}
		if len(have) == 0 || len(zones) != len(have) {
			t.Fatalf("AWS rejects %s: it would be in %v", step, have)
		}
	}

	return have
}

// TestMove (AWS-CLB-4) draws subnets before and after: every step is one that AWS
// does, and at the end the load balancer is where it is to be, or all of it would
// have to move within its zones.
func TestMove(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string, least int) map[string]Subnet {
			subnets := map[string]Subnet{}
			for _, zone := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), least, 3, rapid.ID).Draw(t, label) {
				subnets[zone] = Subnet{ID: zone + rapid.SampledFrom([]string{"1", "2"}).Draw(t, label), Zone: zone}
			}

			return subnets
		}
		before, after := draw("before", 1), draw("after", 0)
		lb := &LoadBalancer{Subnets: subnetIDs(slices.Collect(maps.Values(before))), Zones: slices.Collect(maps.Keys(before))}
		model := &Model{Subnets: slices.Collect(maps.Values(after))}
		steps, possible := model.move(lb)

		have := moved(t, lb.Subnets, steps)
		if left := lists.Without(lb.Subnets, moved(t, lb.Subnets, steps.Additions())); len(left) > 0 {
			t.Fatalf("the additions of %s leave %v", steps, left)
		}
		want := subnetIDs(model.Subnets)
		if len(want) == 0 || !possible {
			want = lb.Subnets
		}
		if diff := cmp.Diff(want, have, cmpopts.SortSlices(func(a, b string) bool { return a < b }), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("after %s: -want +got:\n%s", steps, diff)
		}
		if possible {
			return
		}
		for zone, subnet := range after {
			if before[zone].ID == "" || before[zone] == subnet {
				t.Fatalf("%v can become %v", before, after)
			}
		}
	})
}
