package aws

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// targetsPerCall is how many targets one call may register or deregister.
const targetsPerCall = 100

// readTargets returns the targets of a request, with the port of the group
// where they name none.
func readTargets(p params, g *targetGroup) ([]Target, error) {
	var targets []Target
	for _, t := range p.structs("Targets.member") {
		if err := t.require("Id"); err != nil {
			return nil, err
		}
		port, err := number(t, "Port", g.port, 1, 65535)
		if err != nil {
			return nil, err
		}
		targets = append(targets, Target{t.str("Id"), port})
	}
	return targets, nil
}

// changedTargets returns the group and the targets of a call that changes them.
func (c *Cloud) changedTargets(p params) (*targetGroup, []Target, error) {
	g, err := c.groupOf(p)
	if err != nil {
		return nil, nil, err
	}
	c.purge(g)
	targets, err := readTargets(p, g)
	if err != nil {
		return nil, nil, err
	}
	if len(targets) == 0 || len(targets) > targetsPerCall {
		return nil, nil, invalid("Between 1 and %d targets can be specified, not %d", targetsPerCall, len(targets))
	}
	return g, targets, nil
}

// registerTargets is RegisterTargets: all of them or none.
func (c *Cloud) registerTargets(p params) (any, error) {
	g, targets, err := c.changedTargets(p)
	if err != nil {
		return nil, err
	}
	var asleep []string
	count := len(g.targets)
	for _, t := range targets {
		i := c.instance(t.ID)
		switch {
		case i == nil || !c.changeable(&i.birth):
			return nil, fail("InvalidTarget", "The following targets are not valid instances: '%s'", t.ID)
		case i.state != Running:
			asleep = append(asleep, "'"+t.ID+"'")
		case i.vpc != g.vpc:
			return nil, fail("InvalidTarget", "The following targets are not in the target group VPC '%s': '%s'", g.vpc, t.ID)
		}
		if g.targets[t] == nil {
			count++
		}
	}
	if len(asleep) > 0 {
		return nil, fail("InvalidTarget", "The following targets are not in a running state and cannot be registered: %s", strings.Join(asleep, ", "))
	}
	if err := quota(count-1, c.balancers.quotas.Targets, 500, "TooManyTargets", "targets of a target group"); err != nil {
		return nil, err
	}
	for _, t := range targets {
		if r := g.targets[t]; r == nil || r.draining {
			g.targets[t] = &registration{since: c.opts.Clock.Now()}
		}
	}
	return nil, nil
}

// deregisterTargets is DeregisterTargets. Targets drain while their group is in
// use; those that are not registered are none of its business.
func (c *Cloud) deregisterTargets(p params) (any, error) {
	g, targets, err := c.changedTargets(p)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if r := g.targets[t]; r != nil && !r.draining {
			r.draining, r.until = true, c.opts.Clock.Now().Add(c.drainingOf(g))
		}
	}
	c.purge(g)
	return nil, nil
}

// drainingOf returns how long targets of the group drain.
func (c *Cloud) drainingOf(g *targetGroup) time.Duration {
	if c.balancers.draining != nil {
		return *c.balancers.draining
	}
	seconds, _ := strconv.Atoi(g.attributes["deregistration_delay.timeout_seconds"]) // checked when it was set
	return time.Duration(seconds) * time.Second
}

// purge forgets the targets that have drained.
func (c *Cloud) purge(g *targetGroup) {
	now, used := c.opts.Clock.Now(), len(c.balancersOf(g.arn)) > 0
	maps.DeleteFunc(g.targets, func(_ Target, r *registration) bool { return r.draining && (!used || !r.until.After(now)) })
}

// describeTargetHealth is DescribeTargetHealth.
func (c *Cloud) describeTargetHealth(p params) (any, error) {
	arn, err := c.arnOf(p, "TargetGroupArn", "targetgroup")
	if err != nil {
		return nil, err
	}
	g := c.balancers.groups[arn]
	if g == nil || !c.visible(&g.birth) {
		return nil, noTargetGroup(arn)
	}
	c.purge(g)
	targets, err := readTargets(p, g)
	if err != nil {
		return nil, err
	}
	if len(targets) == 0 {
		targets = slices.SortedFunc(maps.Keys(g.targets), byPort)
	}
	var out lbTargetHealthsXML
	for _, t := range targets {
		port := g.check.Port
		if port == "traffic-port" {
			port = itoa(int(t.Port))
		}
		out.Descriptions = append(out.Descriptions, lbTargetHealthXML{lbTargetXML(t), port, c.targetHealth(g, t)})
	}
	return out, nil
}

// targetHealth returns the health of a target. Instances that run are taken to
// answer health checks.
func (c *Cloud) targetHealth(g *targetGroup, t Target) lbHealthXML {
	r, i := g.targets[t], c.instance(t.ID)
	switch {
	case r == nil:
		return lbHealthXML{"unused", "Target.NotRegistered", "Target is not registered to the target group"}
	case r.draining:
		return lbHealthXML{"draining", "Target.DeregistrationInProgress", "Target deregistration is in progress"}
	case len(c.balancersOf(g.arn)) == 0:
		return lbHealthXML{"unused", "Target.NotInUse", "Target group is not configured to receive traffic from the load balancer"}
	case i == nil || i.state == Terminated:
		return lbHealthXML{"unused", "Target.InvalidState", "Target is in the terminated state"}
	case i.state != Running:
		return lbHealthXML{"unused", "Target.InvalidState", "Target is in the stopped state"}
	case !c.serves(g, i.zone):
		return lbHealthXML{"unused", "Target.NotInUse", "Target is in an Availability Zone that is not enabled for the load balancer"}
	case c.opts.Clock.Since(r.since) < c.balancers.delays.Registration:
		return lbHealthXML{"initial", "Elb.RegistrationInProgress", "Target registration is in progress"}
	}
	return lbHealthXML{State: "healthy"}
}

// serves tells whether a load balancer of the group is in the zone.
func (c *Cloud) serves(g *targetGroup, zone string) bool {
	return slices.ContainsFunc(c.balancersOf(g.arn), func(arn string) bool {
		n := c.balancers.networks[arn]
		return n != nil && slices.Contains(n.zones(), zone)
	})
}
