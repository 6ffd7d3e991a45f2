package aws

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	describeTopology = "DescribeInstanceTopology"
	// mustHave is a type that matches the default pattern, mayHave one that
	// does not.
	mustHave, mayHave = "p5.48xlarge", "g6.xlarge"
)

// hurried is for clients that do not wait, and whose calls fail as long as a test
// wants: AWS allows one DescribeInstanceTopology per second.
var hurried = sim.Options{DisableThrottling: true}

// noneThrottled fails the test if calls were too many.
func (r *region) noneThrottled() {
	r.t.Helper()
	if got := r.ThrottledCalls(); len(got) > 0 {
		r.t.Errorf("calls were throttled: %v", got)
	}
}

// layers are the topology labels that a new Node gets.
func (r *region) layers(c *cloud, id string) ([]string, error) {
	m, err := c.instances.InstanceMetadata(r.t.Context(), node(id, kubetest.Tainted()))
	if err != nil {
		return nil, err
	}
	var layers []string
	for i := 1; m.AdditionalLabels[fmt.Sprintf("%s%d", nodes.LabelLayer, i)] != ""; i++ {
		layers = append(layers, m.AdditionalLabels[fmt.Sprintf("%s%d", nodes.LabelLayer, i)])
	}

	return layers, nil
}

// TestTopologyErrors covers what becomes of failures.
func TestTopologyErrors(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		// must is whether a Node whose type matches the pattern is initialized.
		must bool
		// again is when EC2 is queried again.
		again time.Duration
	}{
		"unsupported": {"AWS-TOPOLOGY-4: no labels, for 24 h", sim.Error(400, "UnsupportedOperation", "The functionality you requested is not available in this region."), true, 24 * time.Hour},
		"no action":   {"AWS-TOPOLOGY-4: a partition without it", sim.Error(400, "InvalidAction", "The action DescribeInstanceTopology is not valid for this web service."), true, 24 * time.Hour},
		"denied":      {"no labels, until the permission may have been added", sim.Denied(), true, 5 * time.Minute},
		"throttled":   {"AWS-TOPOLOGY-5: fails if the type matches, else goes on; AWS-TOPOLOGY-6: backs off", sim.Throttled(), false, 2 * time.Second},
		"other":       {"AWS-TOPOLOGY-5: fails if the type matches, else goes on; AWS-TOPOLOGY-6: backs off", sim.Error(http.StatusBadRequest, "InvalidParameterValue", "No."), false, 2 * time.Second},
		"credentials": {"only UnauthorizedOperation means a missing permission", sim.Error(http.StatusUnauthorized, "AuthFailure", "No."), false, 2 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, hurried)
			must := r.seed.AddNode(sim.InstanceSpec{Type: mustHave, NetworkNodes: []string{"a", "b"}})
			may := r.seed.AddNode(sim.InstanceSpec{Type: mayHave, NetworkNodes: []string{"a", "b"}})
			clock := clocktesting.NewFakeClock(time.Now())
			c := r.connect(cloudTuning{source: nodes.Tuning{TopologyClock: clock}})
			r.Interceptor().Inject(describeTopology, simserver.Always(), tc.fault)
			for range 3 {
				if layers, err := r.layers(c, must); (err == nil) != tc.must || layers != nil {
					t.Errorf("%s: a type that must have a topology: %v, %v", tc.reason, layers, err)
				}
				if layers, err := r.layers(c, may); err != nil || layers != nil {
					t.Errorf("%s: a type that may have a topology: %v, %v", tc.reason, layers, err)
				}
			}
			r.Interceptor().Clear()
			clock.Step(tc.again - time.Second)
			if calls := r.calls(func() { _, _ = r.layers(c, must) }); calls[describeTopology] != 0 {
				t.Errorf("%s: queried again too early", tc.reason)
			}
			clock.Step(2 * time.Second)
			if layers, err := r.layers(c, must); err != nil || !slices.Equal(layers, []string{"a", "b"}) {
				t.Errorf("%s: not queried again: %v, %v", tc.reason, layers, err)
			}
		})
	}
}

// TestTopologyCache: an empty result counts for 24 h, for the instance where the
// type matches the pattern, for the type otherwise.
func TestTopologyCache(t *testing.T) {
	t.Parallel()
	r := newRegion(t, awstest.Throttled())
	clock := clocktesting.NewFakeClock(time.Now())
	c := r.connect(cloudTuning{client: awstest.Paced(), source: nodes.Tuning{TopologyClock: clock}})
	query := func(reason string, want int, ids ...string) {
		t.Helper()
		calls := r.calls(func() {
			for _, id := range ids {
				if layers, err := r.layers(c, id); err != nil || layers != nil {
					t.Errorf("%s: %v, %v", reason, layers, err)
				}
			}
		})
		if calls[describeTopology] != want {
			t.Errorf("%s: want %d calls, got %d", reason, want, calls[describeTopology])
		}
	}
	add := func(kind string) string { return r.seed.AddNode(sim.InstanceSpec{Type: kind}) }
	first, second := add(mustHave), add(mustHave)
	query("AWS-TOPOLOGY-4: by instance", 1, first, first)
	query("another instance is read", 1, second)
	third, fourth := add("m5.large"), add("m5.large")
	query("by type", 1, third, third, fourth)
	clock.Step(24*time.Hour - time.Second)
	query("for 24 h", 0, first, second, third, fourth, add("m5.large"))
	clock.Step(2 * time.Second)
	query("for no more than 24 h", 2, third, first)
	r.noneThrottled()
}

// TestTopologyBatches: many instances cost few calls, of 100 each at most
// (AWS-TOPOLOGY-6).
func TestTopologyBatches(t *testing.T) {
	t.Parallel()
	r := newRegion(t, awstest.Throttled())
	c := r.connect(cloudTuning{client: awstest.Paced()})
	want := map[string][]string{}
	for i := range 250 {
		layers := []string{fmt.Sprintf("row-%d", i%5), fmt.Sprintf("rack-%d", i)}
		want[r.seed.AddNode(sim.InstanceSpec{Type: mustHave, NetworkNodes: layers})] = layers
	}
	if _, err := c.inventory.Get(t.Context(), slices.Collect(maps.Keys(want))); err != nil {
		t.Fatal(err)
	}
	calls := r.calls(func() {
		parallel(20, slices.Collect(maps.Keys(want)), func(id string) {
			if layers, err := r.layers(c, id); err != nil || !slices.Equal(layers, want[id]) {
				t.Errorf("%s: want %v, got %v, %v", id, want[id], layers, err)
			}
		})
	})
	if calls[describeTopology] > 4 {
		t.Errorf("AWS-TOPOLOGY-6: 250 instances cost %d calls", calls[describeTopology])
	}
	for _, request := range r.Requests(describeTopology) {
		if request.Form.Has("InstanceId.101") || request.Form.Has("MaxResults") || !request.Form.Has("InstanceId.1") {
			t.Errorf("AWS-TOPOLOGY-6: want 1 to 100 IDs, got %v", request.Form)
		}
	}
	r.noneThrottled()
}

// TestTopologyPattern: the pattern is the one of the cloud-config.
func TestTopologyPattern(t *testing.T) {
	t.Parallel()
	r := newRegion(t, hurried)
	r.Interceptor().Inject(describeTopology, simserver.Always(), sim.Throttled())
	c := r.connect(cloudTuning{}, `SupportedTopologyInstanceTypePattern = "^g6[.]"`)
	if _, err := r.layers(c, r.seed.AddNode(sim.InstanceSpec{Type: mayHave})); err == nil {
		t.Error("the type matches the pattern, but its topology is unknown")
	}
	if _, err := r.layers(c, r.seed.AddNode(sim.InstanceSpec{Type: mustHave})); err != nil {
		t.Errorf("the type does not match the pattern: %v", err)
	}
}
