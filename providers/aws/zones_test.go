package aws

import (
	"net/http"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const describeZones = "DescribeAvailabilityZones"

// TestZoneFailures: what may not be read is left out, the rest is tried again
// (AWS-TOPOLOGY-2).
func TestZoneFailures(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		when   simserver.When
		fault  simserver.Fault
		label  string
		err    bool
	}{
		"works":        {"AWS-TOPOLOGY-1: the ID of the zone", simserver.Nth(99), sim.Denied(), "usw2-az2", false},
		"denied":       {"no label, and the Node is initialized", simserver.Always(), sim.Denied(), "", false},
		"blip":         {"AWS-TOPOLOGY-2: tried again at once", simserver.First(1), sim.Error(http.StatusInternalServerError, "InternalError", "No."), "usw2-az2", false},
		"broken":       {"AWS-TOPOLOGY-2: the Node is tried again", simserver.Always(), sim.Error(http.StatusInternalServerError, "InternalError", "No."), "", true},
		"throttled":    {"AWS-TOPOLOGY-2: the Node is tried again", simserver.Always(), sim.Throttled(), "", true},
		"nothing read": {"AWS-TOPOLOGY-2: no response is no denial", simserver.Always(), simserver.Drop(), "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			ids := r.seed.AddNodes(1)
			r.Interceptor().Inject(describeZones, tc.when, tc.fault)
			c := r.connect(cloudTuning{})
			got, err := c.instances.InstanceMetadata(t.Context(), node(ids[0], kubetest.Tainted()))
			if (err != nil) != tc.err || err == nil && got.AdditionalLabels[nodes.LabelZoneID] != tc.label {
				t.Errorf("%s: got %v, %v", tc.reason, got, err)
			}
			if got, err := c.instances.InstanceMetadata(t.Context(), node(ids[0])); err != nil || len(got.NodeAddresses) == 0 {
				t.Errorf("%s: an initialized Node: %v, %v", tc.reason, got, err)
			}
		})
	}
}

// TestZonesOnce: zones are read once; a denial is not requested by each Node
// (AWS-TOPOLOGY-2).
func TestZonesOnce(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{"allowed": nil, "denied": sim.Denied()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			ids := r.seed.AddNodes(30)
			if fault != nil {
				r.Interceptor().Inject(describeZones, simserver.Always(), fault)
			}
			c := r.connect(cloudTuning{})
			calls := r.calls(func() {
				parallel(10, ids, func(id string) {
					if _, err := c.instances.InstanceMetadata(t.Context(), node(id, kubetest.Tainted())); err != nil {
						t.Error(err)
					}
				})
			})
			if calls[describeZones] != 1 {
				t.Errorf("AWS-TOPOLOGY-2: want zones to be read once, got %d calls", calls[describeZones])
			}
		})
	}
}
