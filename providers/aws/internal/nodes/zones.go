package nodes

import (
	"context"
	"errors"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
)

// LabelZoneID is the label with the ID of the zone. Unlike its name, that is the
// same in all accounts.
const LabelZoneID = "topology.k8s.aws/zone-id"

// zoneLabels returns the labels of a zone, unless the Node has them. Without
// the permission to list zones there are none.
func zoneLabels(ctx context.Context, zones *vpc.Zones, node *v1.Node, name string) (map[string]string, error) {
	if _, labeled := node.Labels[LabelZoneID]; labeled {
		return map[string]string{}, nil
	}
	zone, err := zones.Get(ctx, name)
	switch {
	case errors.Is(err, apierr.ErrDenied):
		klog.FromContext(ctx).Error(err, "Node gets no label for its zone ID: allow ec2:DescribeAvailabilityZones", "node", klog.KObj(node), "label", LabelZoneID)

		return map[string]string{}, nil
	case errors.Is(err, vpc.ErrNoZone):
		return nil, instance.WithReason(instance.ReasonNoZone, err)
	case err != nil:
		return nil, err
	case zone.ID == "":
		return map[string]string{}, nil
	}

	return map[string]string{LabelZoneID: zone.ID}, nil
}
