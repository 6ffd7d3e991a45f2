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

// registerTargets implements RegisterTargets: all of them or none.
func (c *Cloud) registerTargets(p params) (any, error) {
	g, targets, err := c.changedTargets(p)
	if err != nil {
		return nil, err
	}
	if err := c.checkInstances(g, targets); err != nil {
		return nil, err
	}
	all := g.registered()
	for _, t := range targets {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	if err := quota(len(all), c.balancers.quotas.Targets, "TooManyTargets", "targets per target group"); err != nil {
		return nil, err
	}
	for _, arn := range c.balancersOf(g.arn) {
		n := c.balancers.networks[arn]
		groups := c.targetsOf(n, "")
		groups[g.arn] = all
		if err := c.checkTargets(crossZone(n.attributes), groups); err != nil {
			return nil, err
		}
	}
	for _, t := range targets {
		if r := g.targets[t]; r == nil || r.draining {
			g.targets[t] = &registration{since: c.opts.Clock.Now()}
		}
	}

	return nil, nil
}

// registered returns the targets that do not drain, in order.
func (g *targetGroup) registered() []Target {
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(g.targets), byPort), func(t Target) bool { return g.targets[t].draining })
}

// unsupportedTypes are the families of instances that cannot be targets of
// network load balancers by their ID:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_RegisterTargets.html
var unsupportedTypes = []string{
	"c1", "cc1", "cc2", "cg1", "cg2", "cr1", "cs1", "g1", "g2", "hi1", "hs1", "m1", "m2", "m3", "t1",
}

// checkInstances fails when instances cannot be targets of a group, as they are
// now. The error names all that are rejected for the same reason, in the words of
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3668
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/3508
// https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/1099.
func (c *Cloud) checkInstances(g *targetGroup, targets []Target) error {
	var unknown, unsupported, asleep, elsewhere []string
	for _, t := range targets {
		i := c.instance(t.ID)
		switch {
		case !strings.HasPrefix(t.ID, "i-"):
			return invalid("Instance ID '%s' is not valid", t.ID)
		case i == nil || !c.changeable(&i.Created):
			unknown = append(unknown, t.ID)
		case i.state == Terminated: // it has no VPC any more
			asleep = append(asleep, t.ID)
		case i.vpc != g.vpc:
			elsewhere = append(elsewhere, t.ID)
		case slices.Contains(unsupportedTypes, family(i.kind)):
			unsupported = append(unsupported, t.ID)
		case i.state != Running:
			asleep = append(asleep, t.ID)
		}
	}
	switch {
	case len(unknown) > 0:
		return fail("InvalidTarget", "The following targets are not valid instances: %s", quoted(unknown))
	case len(elsewhere) > 0:
		return fail("InvalidTarget", "The following targets are not in the target group VPC '%s': %s", g.vpc, quoted(elsewhere))
	case len(unsupported) > 0:
		return fail("InvalidTarget", "Targets {%s} are not supported", strings.Join(unique(unsupported), ", "))
	case len(asleep) > 0:
		return fail("InvalidTarget", "The following targets are not in a running state and cannot be registered: %s", quoted(asleep))
	}

	return nil
}

// family returns the family of an instance type: m3 of m3.large.
func family(kind string) string {
	name, _, _ := strings.Cut(kind, ".")

	return name
}

// quoted lists IDs as messages do.
func quoted(ids []string) string { return "'" + strings.Join(unique(ids), "', '") + "'" }

// unique returns IDs in order, each once.
func unique(ids []string) []string { return slices.Compact(slices.Sorted(slices.Values(ids))) }

// deregisterTargets implements DeregisterTargets. Targets drain while their
// group is in use; those that are not registered are ignored.
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

// purge deletes the targets that have drained.
func (c *Cloud) purge(g *targetGroup) {
	now, used := c.opts.Clock.Now(), len(c.balancersOf(g.arn)) > 0
	maps.DeleteFunc(g.targets, func(_ Target, r *registration) bool { return r.draining && (!used || !r.until.After(now)) })
}

// describeTargetHealth implements DescribeTargetHealth.
func (c *Cloud) describeTargetHealth(p params) (any, error) {
	arn, err := c.arnOf(p, "TargetGroupArn", "targetgroup")
	if err != nil {
		return nil, err
	}
	g := c.balancers.groups[arn]
	if g == nil || !c.visible(&g.Created) {
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
	balancers := c.balancersOf(g.arn)
	for _, t := range targets {
		port := g.check.Port
		if port == "traffic-port" {
			port = strconv.Itoa(int(t.Port))
		}
		out.Descriptions = append(out.Descriptions, lbTargetHealthXML{lbTargetXML(t), port, c.targetHealth(g, t, balancers)})
	}

	return out, nil
}

// targetHealth returns the health of a target of a group that load balancers
// forward to. Instances that run are taken to pass health checks.
func (c *Cloud) targetHealth(g *targetGroup, t Target, balancers []string) lbHealthXML {
	r, i := g.targets[t], c.instance(t.ID)
	switch {
	case r == nil:
		return lbHealthXML{"unused", "Target.NotRegistered", "Target is not registered to the target group"}
	case r.draining:
		return lbHealthXML{"draining", "Target.DeregistrationInProgress", "Target deregistration is in progress"}
	case len(balancers) == 0:
		return lbHealthXML{"unused", "Target.NotInUse", "Target group is not configured to receive traffic from the load balancer"}
	case i == nil || i.state == Terminated:
		return lbHealthXML{"unused", "Target.InvalidState", "Target is in the terminated state"}
	case i.state != Running:
		return lbHealthXML{"unused", "Target.InvalidState", "Target is in the stopped state"}
	case !c.oneServes(balancers, i.zone):
		return lbHealthXML{"unused", "Target.NotInUse", "Target is in an Availability Zone that is not enabled for the load balancer"}
	case c.opts.Clock.Since(r.since) < c.balancers.delays.Registration:
		return lbHealthXML{"initial", "Elb.RegistrationInProgress", "Target registration is in progress"}
	}

	return lbHealthXML{State: "healthy"}
}

// oneServes reports whether one of the load balancers is in the zone.
func (c *Cloud) oneServes(balancers []string, zone string) bool {
	return slices.ContainsFunc(balancers, func(arn string) bool {
		n := c.balancers.networks[arn]

		return n != nil && slices.Contains(n.zones(), zone)
	})
}
