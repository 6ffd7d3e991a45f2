package classic

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
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

// TestStoppedInstance shows that an instance that does not run is not sent, and
// comes when it runs.
func TestStoppedInstance(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	stopped := b.nodes[1]
	b.SetState(stopped, sim.Stopped)
	b.states[stopped] = types.InstanceStateNameStopped
	env := b.ensure(web())
	if got := b.classic().Instances; len(got) != 2 || slices.Contains(got, stopped) || len(env.Warnings()) > 0 {
		t.Errorf("instances are %v, warnings %v", got, env.Warnings())
	}
	b.upToDate(web())
	b.SetState(stopped, sim.Running)
	delete(b.states, stopped)
	b.ensure(web())
	b.upToDate(web())
}

// TestRejectedInstancesWithoutNames has AWS reject instances without naming them.
func TestRejectedInstancesWithoutNames(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	b.nodes = append(b.nodes, b.Cluster.AddNodes(13)...)
	bad := b.nodes[5]
	b.Interceptor().Inject("elb.RegisterInstancesWithLoadBalancer", simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		requests := b.Requests("elb.RegisterInstancesWithLoadBalancer")
		for _, values := range requests[len(requests)-1].Form {
			if slices.Contains(values, bad) {
				sim.Error(http.StatusBadRequest, "InvalidInstance", "an instance is not valid")(w, r, apply)

				return
			}
		}
		apply.ServeHTTP(w, r)
	})
	env := b.ensure(web())
	want := slices.Sorted(slices.Values(slices.DeleteFunc(slices.Clone(b.nodes), func(id string) bool { return id == bad })))
	if diff := cmp.Diff(want, b.classic().Instances); diff != "" {
		t.Errorf("instances: -want +got:\n%s", diff)
	}
	if warnings := env.Warnings(); len(warnings) != 1 || !strings.Contains(warnings[0].Message, bad) {
		t.Errorf("warnings are %v", warnings)
	}
	if got := b.Interceptor().Count("elb.RegisterInstancesWithLoadBalancer"); got > 9 {
		t.Errorf("%d calls for 16 instances, want at most two for each halving", got)
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

func TestPlanNamesFewInstances(t *testing.T) {
	t.Parallel()
	ids := []string{"i-1", "i-2", "i-3", "i-4", "i-5", "i-6", "i-7"}
	for _, step := range []change.Step{registerInstances("web", ids, 0), deregisterInstances("web", ids, false)} {
		if !strings.HasSuffix(step.Text, "web: i-1 i-2 i-3 i-4 i-5 and 2 more") {
			t.Errorf("it is %q", step)
		}
	}
}
