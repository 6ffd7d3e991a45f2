package nodes

import (
	"context"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/topology"
)

// zone is the zone and the region that tags on the VM, or on what is above it,
// say. Which tag counts is decided by package inventory. A tag that is no label
// value becomes one that no other tag becomes.
func (v vm) zone(ctx context.Context) (zone, region string, err error) {
	zone, region, err = v.vcenter.Inventory.Zones(ctx, v.VM)
	if err != nil {
		return "", "", instance.WithReason(instance.ReasonNoZone, err)
	}
	zone, _ = topology.CleanUnique(zone)
	region, _ = topology.CleanUnique(region)

	return zone, region, nil
}
