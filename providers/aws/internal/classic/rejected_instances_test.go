package classic

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestRejectedInstanceFailsAlone shows AWS-LB-13.
func TestRejectedInstanceFailsAlone(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.nodes = append(b.nodes, b.Cluster.AddNodes(7)...)
	gone := slices.Sorted(slices.Values(b.nodes[1:8]))
	for _, id := range gone {
		b.Terminate(id) // after its state was read
	}
	env := b.ensure(web())
	want := slices.Sorted(slices.Values(append(slices.Clone(b.nodes[:1]), b.nodes[8:]...)))
	if diff := cmp.Diff(want, b.classic().Instances); diff != "" {
		t.Errorf("instances: -want +got:\n%s", diff)
	}
	warnings := env.Warnings()
	if len(warnings) != 1 || warnings[0].Reason != change.TargetRefused ||
		!strings.Contains(warnings[0].Message, gone[0]) || !strings.Contains(warnings[0].Message, " and 2 more") {
		t.Errorf("one warning names five of the rejected instances: %v", warnings)
	}
	if got := b.Interceptor().Count("elb.RegisterInstancesWithLoadBalancer"); got > len(gone)+1 {
		t.Errorf("%d calls, want at most one more for each rejected instance", got)
	}
}

func TestDeregisteringUnknownInstances(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.ensure(web())
	b.resolveGroups()
	b.Interceptor().Inject("elb.DeregisterInstancesFromLoadBalancer", simserver.First(1),
		sim.Error(http.StatusBadRequest, "InvalidInstance", fmt.Sprintf("Could not find EC2 instance %s.", b.nodes[0])))
	gone := b.nodes[0]
	b.nodes = b.nodes[2:]
	b.ensure(web())
	want := slices.Sorted(slices.Values([]string{gone, b.nodes[0]}))
	if diff := cmp.Diff(want, b.classic().Instances); diff != "" {
		t.Errorf("the other one goes: -want +got:\n%s", diff)
	}
}

func TestQuotaFillsUpToWhatFits(t *testing.T) {
	t.Parallel()
	for _, quota := range []int{1, 20, 31} {
		t.Run(strconv.Itoa(quota), func(t *testing.T) {
			t.Parallel()
			b := newFixture(t)
			b.nodes = append(b.nodes, b.Cluster.AddNodes(29)...)
			b.SetQuotas(sim.Quotas{ClassicInstances: quota})
			env := b.ensure(web())
			if got := len(b.classic().Instances); got != quota {
				t.Errorf("%d instances, want %d", got, quota)
			}
			warnings := env.Warnings()
			if len(warnings) != 1 || warnings[0].Reason != change.TargetQuotaExceeded ||
				!strings.Contains(warnings[0].Message, fmt.Sprintf(" %d instances", 32-quota)) {
				t.Errorf("one warning counts those that are left out: %v", warnings)
			}
			if got := b.Interceptor().Count("elb.RegisterInstancesWithLoadBalancer"); got > 7 {
				t.Errorf("%d calls for 32 instances, want at most 7", got)
			}
			b.SetQuotas(sim.Quotas{})
			b.resolveGroups()
			b.ensure(web())
			b.upToDate(web())
		})
	}
}
