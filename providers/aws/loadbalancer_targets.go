package aws

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/targets"
)

// The default quotas of targets: of a network load balancer, of each of its zones, or of all of them with cross-zone
// load balancing, where a target counts in each target group, of a target group, and of a classic load balancer:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-limits.html.
const (
	networkTargets   = 3000
	zoneTargets      = 500
	groupTargets     = 1000
	classicInstances = 1000
)

// reachedAge is how long a quota of targets counts as reached.
const reachedAge = time.Hour

// targetLimit returns how many targets a load balancer can have, and in which zones. Quotas were raised if it has more
// than the default ones permit.
func (in input) targetLimit(o *observed) targets.Limit {
	limit, ports := targets.Limit{Total: classicInstances}, 1
	zones := sets.New(lists.Map(o.Facts.Subnets, func(s vpc.Subnet) string { return s.AvailabilityZone })...)
	if in.request.Kind == request.Network {
		ports = len(in.request.Ports)
		limit = targets.Limit{Total: min(groupTargets, networkTargets/ports), PerZone: zoneTargets / ports}
		if crossZone := in.request.Attributes.CrossZone; crossZone != nil && *crossZone {
			limit = targets.Limit{Total: limit.PerZone}
		}
	}
	switch {
	case o.hasNetwork():
		zones.Insert(o.Network.LoadBalancer.Zones...)
	case o.Classic != nil:
		zones.Insert(o.Classic.Zones...)
	}
	limit.Zones = sets.List(zones)
	if limit.Reached = time.Since(in.state.reached) < reachedAge; limit.Reached {
		limit.Registered = len(o.registered()) / ports
	}

	return limit
}

// overQuota warns of Nodes that are no targets because a quota is reached.
func (in input) overQuota() []service.Warning {
	excess := in.subset.Excess()
	if excess == 0 {
		return nil
	}

	return []service.Warning{service.Warn(change.TargetQuotaExceeded,
		"Load balancer %s sends nothing to %d of %d Nodes, since AWS has refused more targets: have its quotas raised, or select fewer Nodes",
		in.request.Name, excess, len(in.request.Targets))}
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
func (in input) chooseFrom(limit targets.Limit, registered []string) func([]request.Target) []request.Target {
	ids := sets.New(registered...)

	return func(candidates []request.Target) []request.Target {
		chosen, _ := targets.Choose(in.subset, candidates, func(t request.Target) string { return t.NodeName },
			func(t request.Target) bool { return ids.Has(t.InstanceID) }, limit)

		return chosen
	}
}
