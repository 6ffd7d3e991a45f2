package aws

import (
	"cmp"
	"maps"
	"slices"
)

// Quotas bounds the number of load balancer resources. Zero fields are
// AWS's defaults:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/load-balancer-limits.html
// https://docs.aws.amazon.com/elasticloadbalancing/latest/classic/elb-limits.html
type Quotas struct {
	// ClassicLoadBalancers bounds the classic load balancers; default 20.
	ClassicLoadBalancers int
	// ClassicListeners bounds the listeners of a classic load balancer; default 100.
	ClassicListeners int
	// ClassicInstances bounds the instances of a classic load balancer; default
	// 1000.
	ClassicInstances int
	// NetworkLoadBalancers bounds the network load balancers; default 50.
	NetworkLoadBalancers int
	// TargetGroups bounds the target groups; default 3000.
	TargetGroups int
	// Listeners bounds the listeners of a network load balancer; default 50.
	Listeners int
	// Targets bounds the targets of a target group; default 1000.
	Targets int
	// LoadBalancerTargets bounds the targets of a network load balancer; default
	// 3000. One that is in several target groups counts as often.
	LoadBalancerTargets int
	// ZoneTargets bounds the targets of a network load balancer in one zone, and
	// all its targets when it balances the load across zones; default 500. One that
	// is in several target groups counts as often.
	ZoneTargets int
	// SecurityGroups bounds the security groups of a load balancer, which are those
	// of its network interfaces; default 5:
	// https://docs.aws.amazon.com/vpc/latest/userguide/amazon-vpc-limits.html
	SecurityGroups int
}

func (q Quotas) complete() Quotas {
	q.ClassicLoadBalancers = cmp.Or(q.ClassicLoadBalancers, 20)
	q.ClassicListeners = cmp.Or(q.ClassicListeners, 100)
	q.ClassicInstances = cmp.Or(q.ClassicInstances, 1000)
	q.NetworkLoadBalancers = cmp.Or(q.NetworkLoadBalancers, 50)
	q.TargetGroups = cmp.Or(q.TargetGroups, 3000)
	q.Listeners = cmp.Or(q.Listeners, 50)
	q.Targets = cmp.Or(q.Targets, 1000)
	q.LoadBalancerTargets = cmp.Or(q.LoadBalancerTargets, 3000)
	q.ZoneTargets = cmp.Or(q.ZoneTargets, 500)
	q.SecurityGroups = cmp.Or(q.SecurityGroups, 5)

	return q
}

// SetQuotas bounds the number of load balancer resources from now on. Where a
// test raises one of them, a comment has the reason.
func (c *Cloud) SetQuotas(quotas Quotas) {
	c.inspect(func() { c.balancers.quotas = quotas.complete() })
}

// quota returns an error when there are more resources than allowed.
func quota(count, bound int, code, resources string) error {
	if count > bound {
		return fail(code, "The maximum number of %s has been reached: %d", resources, bound)
	}

	return nil
}

// targetsOf returns the targets of the groups that a load balancer forwards to,
// by group, without those of one listener. Draining targets do not count.
func (c *Cloud) targetsOf(n *network, except string) map[string][]Target {
	found := make(map[string][]Target)
	for _, l := range c.listenersOf(n.arn) {
		if l.arn != except {
			found[l.group] = c.balancers.groups[l.group].registered()
		}
	}

	return found
}

// checkTargets fails when the targets of a load balancer, by group, exceed a
// quota.
func (c *Cloud) checkTargets(crossZone bool, groups map[string][]Target) error {
	total, zones := 0, make(map[string]int)
	for _, targets := range groups {
		total += len(targets)
		for _, t := range targets {
			if i := c.instance(t.ID); i != nil {
				zones[i.zone]++
			}
		}
	}
	q := c.balancers.quotas
	if err := quota(total, q.LoadBalancerTargets, "TooManyTargets", "targets per load balancer"); err != nil {
		return err
	}
	if crossZone {
		return quota(total, q.ZoneTargets, "TooManyTargets", "targets per load balancer with cross-zone load balancing")
	}
	for _, zone := range slices.Sorted(maps.Keys(zones)) {
		if err := quota(zones[zone], q.ZoneTargets, "TooManyTargets", "targets per load balancer in "+zone); err != nil {
			return err
		}
	}

	return nil
}

// crossZone reports whether attributes of a load balancer balance the load across
// zones.
func crossZone(attributes map[string]string) bool {
	return attributes["load_balancing.cross_zone.enabled"] == "true"
}
