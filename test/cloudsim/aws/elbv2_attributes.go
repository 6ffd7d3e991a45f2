package aws

import (
	"maps"
	"regexp"
	"strings"
)

// What values of attributes look like.
var (
	switchValue  = regexp.MustCompile(`^(?:true|false)$`)
	anyValue     = regexp.MustCompile(`^`)
	secondsValue = regexp.MustCompile(`^\d{1,6}$`)
	countValue   = regexp.MustCompile(`^(?:off|\d{1,4})$`)
)

// networkAttributes are what can be set on a network load balancer.
var networkAttributes = map[string]*regexp.Regexp{
	"access_logs.s3.enabled":                 switchValue,
	"access_logs.s3.bucket":                  anyValue,
	"access_logs.s3.prefix":                  anyValue,
	"deletion_protection.enabled":            switchValue,
	"ipv6.deny_all_igw_traffic":              switchValue,
	"load_balancing.cross_zone.enabled":      switchValue,
	"zonal_shift.config.enabled":             switchValue,
	"secondary_ips.auto_assigned.per_subnet": regexp.MustCompile(`^[0-7]$`),
	"dns_record.client_routing_policy":       regexp.MustCompile(`^(?:any_availability_zone|(?:partial_)?availability_zone_affinity)$`),
}

func defaultNetworkAttributes(scheme string) map[string]string {
	deny := "false"
	if scheme == SchemeInternal {
		deny = "true"
	}

	return map[string]string{
		"access_logs.s3.enabled":                 "false",
		"access_logs.s3.bucket":                  "",
		"access_logs.s3.prefix":                  "",
		"deletion_protection.enabled":            "false",
		"ipv6.deny_all_igw_traffic":              deny,
		"load_balancing.cross_zone.enabled":      "false",
		"zonal_shift.config.enabled":             "false",
		"secondary_ips.auto_assigned.per_subnet": "0",
		"dns_record.client_routing_policy":       "any_availability_zone",
	}
}

// groupAttributes are what can be set on a target group of a network load
// balancer.
var groupAttributes = map[string]*regexp.Regexp{
	"deregistration_delay.timeout_seconds":                                           secondsValue,
	"deregistration_delay.connection_termination.enabled":                            switchValue,
	"stickiness.enabled":                                                             switchValue,
	"stickiness.type":                                                                regexp.MustCompile(`^source_ip$`),
	"preserve_client_ip.enabled":                                                     switchValue,
	"proxy_protocol_v2.enabled":                                                      switchValue,
	"load_balancing.cross_zone.enabled":                                              regexp.MustCompile(`^(?:true|false|use_load_balancer_configuration)$`),
	"target_group_health.dns_failover.minimum_healthy_targets.count":                 countValue,
	"target_group_health.dns_failover.minimum_healthy_targets.percentage":            countValue,
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      countValue,
	"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": countValue,
	"target_health_state.unhealthy.connection_termination.enabled":                   switchValue,
	"target_health_state.unhealthy.draining_interval_seconds":                        secondsValue,
}

func defaultGroupAttributes(protocol string) map[string]string {
	udp := "false"
	if isUDP(protocol) {
		udp = "true"
	}
	terminate := "true"
	if isUDP(protocol) {
		terminate = "false"
	}

	return map[string]string{
		"deregistration_delay.timeout_seconds":                                           "300",
		"deregistration_delay.connection_termination.enabled":                            udp,
		"stickiness.enabled":                                                             "false",
		"stickiness.type":                                                                "source_ip",
		"preserve_client_ip.enabled":                                                     "true",
		"proxy_protocol_v2.enabled":                                                      "false",
		"load_balancing.cross_zone.enabled":                                              "use_load_balancer_configuration",
		"target_group_health.dns_failover.minimum_healthy_targets.count":                 "1",
		"target_group_health.dns_failover.minimum_healthy_targets.percentage":            "off",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.count":      "1",
		"target_group_health.unhealthy_state_routing.minimum_healthy_targets.percentage": "off",
		"target_health_state.unhealthy.connection_termination.enabled":                   terminate,
		"target_health_state.unhealthy.draining_interval_seconds":                        "0",
	}
}

func isUDP(protocol string) bool { return strings.Contains(protocol, "UDP") }

// readAttributes returns the attributes of a request, which must be known.
func readAttributes(p params, what string, known map[string]*regexp.Regexp) (map[string]string, error) {
	attributes := make(map[string]string)
	for _, attribute := range p.structs("Attributes.member") {
		key, value := attribute.str("Key"), attribute.str("Value")
		pattern := known[key]
		if pattern == nil {
			return nil, invalid("%s attribute key '%s' is not recognized", what, key)
		}
		if _, twice := attributes[key]; twice {
			return nil, invalid("%s attribute key '%s' was specified more than once", what, key)
		}
		if !pattern.MatchString(value) {
			return nil, invalid("%s attribute value '%s' of '%s' is not valid", what, value, key)
		}
		attributes[key] = value
	}
	if len(attributes) == 0 {
		return nil, invalid("Attributes must not be empty")
	}

	return attributes, nil
}

// describeNetworkAttributes implements DescribeLoadBalancerAttributes.
func (c *Cloud) describeNetworkAttributes(p params) (any, error) {
	arn, err := c.arnOf(p, "LoadBalancerArn", "loadbalancer")
	if err != nil {
		return nil, err
	}
	n := c.balancers.networks[arn]
	if n == nil || !c.visible(&n.Created) {
		return nil, noNetwork(arn)
	}

	return lbAttributesXML{tagList(n.attributes)}, nil
}

// modifyNetworkAttributes implements ModifyLoadBalancerAttributes.
func (c *Cloud) modifyNetworkAttributes(p params) (any, error) {
	n, err := c.networkOf(p)
	if err != nil {
		return nil, err
	}
	changes, err := readAttributes(p, "Load balancer", networkAttributes)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(n.attributes)
	maps.Copy(all, changes)
	if all["access_logs.s3.enabled"] == "true" && all["access_logs.s3.bucket"] == "" {
		return nil, configuration("The value of 'access_logs.s3.bucket' cannot be empty when access logs are enabled")
	}
	if err := c.checkTargets(crossZone(all), c.targetsOf(n, "")); err != nil {
		return nil, configuration("The load balancing cannot be changed: %v", err) // its own code does not exist for this operation
	}
	n.attributes = all

	return lbAttributesXML{tagList(all)}, nil
}

// describeTargetGroupAttributes implements DescribeTargetGroupAttributes.
func (c *Cloud) describeTargetGroupAttributes(p params) (any, error) {
	arn, err := c.arnOf(p, "TargetGroupArn", "targetgroup")
	if err != nil {
		return nil, err
	}
	g := c.balancers.groups[arn]
	if g == nil || !c.visible(&g.Created) {
		return nil, noTargetGroup(arn)
	}

	return lbAttributesXML{tagList(g.attributes)}, nil
}

// modifyTargetGroupAttributes implements ModifyTargetGroupAttributes.
func (c *Cloud) modifyTargetGroupAttributes(p params) (any, error) {
	g, err := c.groupOf(p)
	if err != nil {
		return nil, err
	}
	changes, err := readAttributes(p, "Target group", groupAttributes)
	if err != nil {
		return nil, err
	}
	if isUDP(g.protocol) {
		if changes["preserve_client_ip.enabled"] == "false" {
			return nil, configuration("Client IP preservation cannot be disabled for target groups with protocol %s", g.protocol)
		}
		if changes["target_health_state.unhealthy.connection_termination.enabled"] == "true" {
			return nil, configuration("Connection termination for unhealthy targets cannot be enabled for target groups with protocol %s", g.protocol)
		}
	}
	maps.Copy(g.attributes, changes)

	return lbAttributesXML{tagList(g.attributes)}, nil
}
