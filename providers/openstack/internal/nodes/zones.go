package nodes

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/topology"

// zoneLabel returns the label value of an availability zone. Empty is no label.
func zoneLabel(availabilityZone string) string {
	value, _ := topology.Clean(availabilityZone)

	return value
}

// RegionLabel returns the label value of the region of the cloud-config. A region that
// is a valid label value is not changed. Empty is no label.
func RegionLabel(region string) string {
	value, _ := topology.Clean(region)

	return value
}
