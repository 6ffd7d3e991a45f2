package nodes

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
)

// TestUnknownZone: a zone that AWS does not list is an error that the user gets
// of.
func TestUnknownZone(t *testing.T) {
	t.Parallel()
	r := awstest.Start(t, sim.Options{})
	s := sourceIn(t, r, Config{}, awstest.Impatient())
	_, err := zoneLabels(t.Context(), s.zones, kubetest.Node("n"), "mars-1a")
	if err == nil || instance.ReasonOf(err) != instance.ReasonNoZone {
		t.Errorf("want an error with the reason %s, got %v", instance.ReasonNoZone, err)
	}
	if _, err := zoneLabels(t.Context(), s.zones, kubetest.Node("n"), "mars-1a"); err == nil || r.Interceptor().Count("DescribeAvailabilityZones") != 1 {
		t.Errorf("want zones not to be read again at once, got %v, %d calls", err, r.Interceptor().Count("DescribeAvailabilityZones"))
	}
	if labels, err := zoneLabels(t.Context(), s.zones, kubetest.Node("n"), "us-west-2a"); err != nil || labels[LabelZoneID] != "usw2-az2" {
		t.Errorf("another zone: got %v, %v", labels, err)
	}
}
