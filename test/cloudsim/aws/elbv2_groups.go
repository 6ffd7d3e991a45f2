package aws

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

// createTargetGroup implements CreateTargetGroup. The same request again returns
// the existing target group.
func (c *Cloud) createTargetGroup(p params) (any, error) {
	want, err := c.readTargetGroup(p)
	if err != nil {
		return nil, err
	}
	if g := c.groupByName(want.name); g != nil {
		if !g.isAs(want) {
			return nil, fail("DuplicateTargetGroupName", "A target group with the same name '%s' exists, but with different settings", want.name)
		}

		return lbTargetGroupsXML{TargetGroups: []lbTargetGroupXML{groupWire(g, c.balancersOf(g.arn))}}, nil
	}
	if err := quota(len(c.balancers.groups)+1, c.balancers.quotas.TargetGroups, "TooManyTargetGroups", "target groups"); err != nil {
		return nil, err
	}
	g := &want
	g.Created = c.created()
	g.arn = c.balancerARN("targetgroup/" + g.name + "/" + c.ids.Hex("targetgroup", 16))
	g.attributes = defaultGroupAttributes(g.protocol)
	g.targets = make(map[Target]*registration)
	c.balancers.groups[g.arn] = g

	return lbTargetGroupsXML{TargetGroups: []lbTargetGroupXML{groupWire(g, c.balancersOf(g.arn))}}, nil
}

func (c *Cloud) readTargetGroup(p params) (targetGroup, error) {
	g := targetGroup{
		name: p.str("Name"), vpc: p.str("VpcId"), protocol: p.str("Protocol"), targetType: cmp.Or(p.str("TargetType"), "instance"),
	}
	if err := checkName("Target group", g.name); err != nil {
		return g, err
	}
	if err := p.require("Protocol", "Port", "VpcId"); err != nil {
		return g, err
	}
	switch {
	case !slices.Contains([]string{"TCP", "TLS", "UDP", "TCP_UDP"}, g.protocol):
		return g, invalid("Target group protocol '%s' must be one of 'TCP, TLS, UDP, TCP_UDP'", g.protocol)
	case g.targetType != "instance":
		return g, invalid("Target groups of type '%s' are not simulated, only those of type 'instance'", g.targetType)
	case c.vpc(g.vpc) == nil:
		return g, invalid("The VPC ID '%s' is not found", g.vpc)
	}
	var err error
	if g.port, err = portOf(p, "Port"); err != nil {
		return g, err
	}
	g.check = TargetHealthCheck{
		Protocol: "TCP", Port: "traffic-port", Interval: 30, HealthyThreshold: 5, UnhealthyThreshold: 2,
	}
	if g.check, err = readHealthCheck(p, g.check); err != nil {
		return g, err
	}
	g.tags, err = readTags(p)

	return g, err
}

// isAs reports whether the target group is as the request defines it.
func (g *targetGroup) isAs(want targetGroup) bool {
	return g.vpc == want.vpc && g.protocol == want.protocol && g.port == want.port && g.targetType == want.targetType &&
		g.check == want.check && maps.Equal(g.tags, want.tags)
}

// readHealthCheck returns the health check with the changes of a request.
func readHealthCheck(p params, check TargetHealthCheck) (TargetHealthCheck, error) {
	if on, err := p.bool("HealthCheckEnabled"); err != nil {
		return check, err
	} else if on != nil && !*on {
		return check, invalid("Health checks cannot be disabled for target groups of type 'instance'")
	}
	check.Protocol = cmp.Or(p.str("HealthCheckProtocol"), check.Protocol)
	if !slices.Contains([]string{"TCP", "HTTP", "HTTPS"}, check.Protocol) {
		return check, invalid("Health check protocol '%s' must be one of 'TCP, HTTP, HTTPS'", check.Protocol)
	}
	check.Port = cmp.Or(p.str("HealthCheckPort"), check.Port)
	if port, err := strconv.Atoi(check.Port); check.Port != "traffic-port" && (err != nil || port < 1 || port > 65535) {
		return check, invalid("Health check port '%s' must be 'traffic-port' or a number between 1 and 65535", check.Port)
	}
	path, matcher := p.str("HealthCheckPath"), p.str("Matcher.HttpCode")
	if check.Protocol == "TCP" {
		if path != "" || matcher != "" {
			return check, invalid("Health check path and matcher cannot be specified with the health check protocol TCP")
		}
		check.Path, check.Matcher = "", ""
	} else {
		check.Path = cmp.Or(path, check.Path, "/")
		check.Matcher = cmp.Or(matcher, check.Matcher, "200-399")
		if check.Path[0] != '/' || len(check.Path) > 1024 {
			return check, invalid("Health check path '%s' must begin with a '/' character and have at most 1024 characters", check.Path)
		}
	}

	return readHealthCheckTimes(p, check)
}

// readHealthCheckTimes reads times and thresholds, whose ranges and defaults are
// those of
// https://docs.aws.amazon.com/elasticloadbalancing/latest/network/target-group-health-checks.html.
// A default timeout that is longer than the interval is rejected as any other:
// https://github.com/terraform-linters/tflint-ruleset-aws/issues/404. Target groups
// of network load balancers may have both equal:
// https://github.com/aws/aws-cdk/issues/16446.
func readHealthCheckTimes(p params, check TargetHealthCheck) (TargetHealthCheck, error) {
	if check.Timeout == 0 {
		check.Timeout = 10
		if check.Protocol == "HTTP" {
			check.Timeout = 6
		}
	}
	var err error
	for _, f := range []struct {
		name      string
		low, high int32
		into      *int32
	}{
		{"HealthCheckIntervalSeconds", 5, 300, &check.Interval},
		{"HealthCheckTimeoutSeconds", 2, 120, &check.Timeout},
		{"HealthyThresholdCount", 2, 10, &check.HealthyThreshold},
		{"UnhealthyThresholdCount", 2, 10, &check.UnhealthyThreshold},
	} {
		if *f.into, err = number(p, f.name, *f.into, f.low, f.high); err != nil {
			return check, err
		}
	}
	if check.Timeout > check.Interval {
		return check, invalid("Health check interval must be greater than the timeout.")
	}

	return check, nil
}

// modifyTargetGroup implements ModifyTargetGroup.
func (c *Cloud) modifyTargetGroup(p params) (any, error) {
	g, err := c.groupOf(p)
	if err != nil {
		return nil, err
	}
	check, err := readHealthCheck(p, g.check)
	if err != nil {
		return nil, err
	}
	g.check = check

	return lbTargetGroupsXML{TargetGroups: []lbTargetGroupXML{groupWire(g, c.balancersOf(g.arn))}}, nil
}

// deleteTargetGroup implements DeleteTargetGroup. It succeeds when there is none.
func (c *Cloud) deleteTargetGroup(p params) (any, error) {
	arn, err := c.arnOf(p, "TargetGroupArn", "targetgroup")
	if err != nil {
		return nil, err
	}
	g := c.balancers.groups[arn]
	if len(c.balancersOf(arn)) > 0 || g != nil && c.opts.Clock.Now().Before(g.released) {
		return nil, fail("ResourceInUse", "Target group '%s' is currently in use by a listener or a rule", arn)
	}
	if g != nil && c.changeable(&g.Created) {
		delete(c.balancers.groups, arn)
	}

	return nil, nil
}

// describeTargetGroups implements DescribeTargetGroups.
func (c *Cloud) describeTargetGroups(p params) (any, error) {
	balancer, arns, names := p.str("LoadBalancerArn"), p.list("TargetGroupArns.member"), p.list("Names.member")
	ways := 0
	for _, given := range []bool{balancer != "", len(arns) > 0, len(names) > 0} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return nil, invalid("Target group names, target group ARNs and a load balancer ARN cannot be specified at the same time")
	}
	if n := c.balancers.networks[balancer]; balancer != "" && (n == nil || !c.visible(&n.Created)) {
		return nil, noNetwork(balancer)
	}
	var found []*targetGroup
	users := c.balancersByGroup()
	for _, g := range c.balancers.groups {
		wanted := ways == 0 || slices.Contains(arns, g.arn) || slices.Contains(names, g.name) ||
			(balancer != "" && slices.Contains(users[g.arn], balancer))
		if wanted && c.visible(&g.Created) {
			found = append(found, g)
		}
	}
	slices.SortFunc(found, func(a, b *targetGroup) int { return cmp.Compare(a.arn, b.arn) })
	for _, want := range slices.Concat(arns, names) {
		if !slices.ContainsFunc(found, func(g *targetGroup) bool { return g.arn == want || g.name == want }) {
			return nil, noTargetGroup(want)
		}
	}
	found, next, err := page(c, p, markerPager, found, func(g *targetGroup) string { return g.arn })
	if err != nil {
		return nil, err
	}
	out := lbTargetGroupsXML{NextMarker: next}
	for _, g := range found {
		out.TargetGroups = append(out.TargetGroups, groupWire(g, users[g.arn]))
	}

	return out, nil
}
