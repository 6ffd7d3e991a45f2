package aws

import (
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// The default quotas of targets. A network load balancer has its own in each zone, or one in all
// with cross-zone load balancing, and a target counts in each target group:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-limits.html.
const (
	networkTargets   = 500
	classicInstances = 1000
)

// targetLimit returns how many targets a load balancer can have, and in which zones.
func (o *observed) targetLimit(r *request.Request) targets.Limit {
	zones := sets.New(lists.Map(o.Facts.Subnets, func(s vpc.Subnet) string { return s.AvailabilityZone })...)
	if r.Kind == request.Classic {
		if o.Classic != nil {
			zones.Insert(o.Classic.Zones...)
		}

		return targets.Limit{Total: classicInstances, Zones: sets.List(zones)}
	}
	limit := targets.Limit{PerZone: max(networkTargets/len(r.Ports), 1)}
	if o.hasNetwork() {
		zones.Insert(o.Network.LoadBalancer.Zones...)
	}
	if r.Attributes.CrossZone != nil && *r.Attributes.CrossZone {
		limit = targets.Limit{Total: limit.PerZone}
	}
	limit.Zones = sets.List(zones)

	return limit
}

// registered returns the IDs of the instances that are targets now.
func (o *observed) registered() []string {
	var ids []string
	if o.Classic != nil {
		ids = append(ids, o.Classic.Instances...)
	}
	if o.Network != nil {
		for _, group := range o.Network.TargetGroups {
			for _, target := range group.Targets {
				ids = append(ids, target.ID)
			}
		}
	}

	return ids
}

// servingOf returns the instances that are targets after a sync: those that are registered, and of those
// that stay if they are, the ones that were targets before.
func servingOf(list request.Instances, before []string) []string {
	return append(lists.Filter(list.Kept, sets.New(before...).Has), list.Registered...)
}

// chooseFrom returns what chooses the Nodes that are targets, where some instances are already.
func (in input) chooseFrom(limit targets.Limit, registered []string) func([]string) sets.Set[string] {
	ids, serving := sets.New(registered...), sets.New[string]()
	for _, target := range in.request.Targets {
		if ids.Has(target.InstanceID) {
			serving.Insert(target.NodeName)
		}
	}

	return func(names []string) sets.Set[string] {
		return in.subset.Choose(names, serving.Has, limit)
	}
}
