package aws

import (
	"cmp"
	"slices"
	"strings"
)

// elbv2Operations returns the operations of the API of network load balancers.
func (c *Cloud) elbv2Operations() map[string]operation {
	return map[string]operation{
		"CreateLoadBalancer":             c.createNetwork,
		"DeleteLoadBalancer":             c.deleteNetwork,
		"DescribeLoadBalancers":          c.describeNetworks,
		"SetSecurityGroups":              c.setNetworkGroups,
		"DescribeLoadBalancerAttributes": c.describeNetworkAttributes,
		"ModifyLoadBalancerAttributes":   c.modifyNetworkAttributes,

		"CreateTargetGroup":             c.createTargetGroup,
		"DeleteTargetGroup":             c.deleteTargetGroup,
		"DescribeTargetGroups":          c.describeTargetGroups,
		"ModifyTargetGroup":             c.modifyTargetGroup,
		"DescribeTargetGroupAttributes": c.describeTargetGroupAttributes,
		"ModifyTargetGroupAttributes":   c.modifyTargetGroupAttributes,
		"RegisterTargets":               c.registerTargets,
		"DeregisterTargets":             c.deregisterTargets,
		"DescribeTargetHealth":          c.describeTargetHealth,

		"CreateListener":    c.createListener,
		"DeleteListener":    c.deleteListener,
		"DescribeListeners": c.describeListeners,
		"ModifyListener":    c.modifyListener,

		"AddTags":      c.networkAddTags,
		"RemoveTags":   c.networkRemoveTags,
		"DescribeTags": c.networkDescribeTags,
	}
}

// configuration is the error of this API for an impossible configuration.
func configuration(format string, args ...any) error {
	return fail("InvalidConfigurationRequest", format, args...)
}

// balancerARN returns the ARN of a load balancer resource.
func (c *Cloud) balancerARN(resource string) string {
	return c.arn("elasticloadbalancing", resource)
}

// kindOf returns the kind of resource that an ARN names: loadbalancer,
// targetgroup, listener, or nothing.
func (c *Cloud) kindOf(arn string) string {
	resource, ours := strings.CutPrefix(arn, c.balancerARN(""))
	kind, _, found := strings.Cut(resource, "/")
	if !ours || !found || !slices.Contains([]string{"loadbalancer", "targetgroup", "listener"}, kind) {
		return ""
	}

	return kind
}

// arnOf returns the ARN of a request, which has to be there and of a kind.
func (c *Cloud) arnOf(p params, name, kind string) (string, error) {
	if err := p.require(name); err != nil {
		return "", err
	}
	arn := p.str(name)
	if c.kindOf(arn) != kind {
		return "", invalid("'%s' is not a valid %s ARN", arn, kind)
	}

	return arn, nil
}

// networkOf returns the load balancer that the request changes.
func (c *Cloud) networkOf(p params) (*network, error) {
	arn, err := c.arnOf(p, "LoadBalancerArn", "loadbalancer")
	if err != nil {
		return nil, err
	}
	if n := c.balancers.networks[arn]; n != nil && c.changeable(&n.Created) {
		return n, nil
	}

	return nil, noNetwork(arn)
}

// groupOf returns the target group that the request changes.
func (c *Cloud) groupOf(p params) (*targetGroup, error) {
	arn, err := c.arnOf(p, "TargetGroupArn", "targetgroup")
	if err != nil {
		return nil, err
	}
	if g := c.balancers.groups[arn]; g != nil && c.changeable(&g.Created) {
		return g, nil
	}

	return nil, noTargetGroup(arn)
}

// listenerOf returns the listener that the request changes.
func (c *Cloud) listenerOf(p params) (*listener, error) {
	arn, err := c.arnOf(p, "ListenerArn", "listener")
	if err != nil {
		return nil, err
	}
	if l := c.balancers.listeners[arn]; l != nil && c.changeable(&l.Created) {
		return l, nil
	}

	return nil, noListener(arn)
}

func noNetwork(what string) error {
	return fail("LoadBalancerNotFound", "One or more load balancers not found: %s", what)
}

func noTargetGroup(what string) error {
	return fail("TargetGroupNotFound", "One or more target groups not found: %s", what)
}

func noListener(arn string) error {
	return fail("ListenerNotFound", "One or more listeners not found: %s", arn)
}

// networkByName returns a load balancer, or nil.
func (c *Cloud) networkByName(name string) *network {
	for _, n := range c.balancers.networks {
		if n.name == name {
			return n
		}
	}

	return nil
}

// groupByName returns a target group, or nil.
func (c *Cloud) groupByName(name string) *targetGroup {
	for _, g := range c.balancers.groups {
		if g.name == name {
			return g
		}
	}

	return nil
}

// listenersOf returns the listeners of a load balancer by port.
func (c *Cloud) listenersOf(balancer string) []*listener {
	var found []*listener
	for _, l := range c.balancers.listeners {
		if l.balancer == balancer {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *listener) int { return cmp.Compare(a.port, b.port) })

	return found
}

// balancersByGroup returns the ARNs of the load balancers that forward to each
// target group, sorted.
func (c *Cloud) balancersByGroup() map[string][]string {
	users := make(map[string][]string, len(c.balancers.listeners))
	for _, l := range c.balancers.listeners {
		users[l.group] = append(users[l.group], l.balancer)
	}
	for group, arns := range users {
		slices.Sort(arns)
		users[group] = slices.Compact(arns)
	}

	return users
}

// balancersOf returns the ARNs of the load balancers that forward to a group.
func (c *Cloud) balancersOf(group string) []string {
	var arns []string
	for _, l := range c.balancers.listeners {
		if l.group == group {
			arns = append(arns, l.balancer)
		}
	}
	slices.Sort(arns)

	return slices.Compact(arns)
}
