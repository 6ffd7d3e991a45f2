package aws

import (
	"slices"
	"strings"
)

// Categories of calls that have token buckets of their own.
const (
	accountCalls      = "account"
	resourceIntensive = "resource-intensive"
	registrations     = "registration"
	mutations         = "mutating"
	nonMutating       = "non-mutating"
	unfiltered        = "unfiltered"
)

// limit is the size of a token bucket and its refill rate per second.
type limit struct {
	rate  float64
	burst int
}

// balancerLimits are the token buckets of each of the two load balancer APIs.
// Every call takes a token from the one of the account and from the one of its
// category. The sections "Request rate limiting" and "Request token bucket sizes
// and refill rates" state them, as defaults that AWS Support may raise.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html
var balancerLimits = map[string]limit{
	accountCalls:      {10, 40},
	resourceIntensive: {0.2, 10},
	registrations:     {4, 20},
	mutations:         {3, 20},
	nonMutating:       {10, 40},
}

// balancerCategories are the categories of the operations whose names do not
// tell, by operation of the gate's log, from the same page.
var balancerCategories = map[string]string{
	"elb.CreateLoadBalancer":                      resourceIntensive,
	"elb.AttachLoadBalancerToSubnets":             resourceIntensive,
	"elb.DetachLoadBalancerFromSubnets":           resourceIntensive,
	"elb.EnableAvailabilityZonesForLoadBalancer":  resourceIntensive,
	"elb.DisableAvailabilityZonesForLoadBalancer": resourceIntensive,
	"elb.RegisterInstancesWithLoadBalancer":       registrations,
	"elb.DeregisterInstancesFromLoadBalancer":     registrations,
	"elbv2.CreateLoadBalancer":                    resourceIntensive,
	"elbv2.SetSubnets":                            resourceIntensive,
	"elbv2.RegisterTargets":                       registrations,
	"elbv2.DeregisterTargets":                     registrations,
}

// EC2 has a token bucket for each operation. Those of non-mutating operations
// and of mutating ones, resource-intensive ones included, have the same size
// each; some operations have a size of their own, and some non-mutating ones a
// second, smaller bucket for calls with neither filter nor page size.
// https://docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html
var (
	ec2NonMutating = limit{20, 100}
	ec2Mutating    = limit{5, 50}
	ec2Unfiltered  = limit{10, 50}

	ec2Uncategorized = map[string]limit{
		"CreateTags":                      {10, 100},
		"DeleteTags":                      {10, 100},
		"DescribeInstanceTopology":        {1, 1},
		"ModifyNetworkInterfaceAttribute": {5, 100},
	}
	ec2Filterable = []string{
		"DescribeInstances", "DescribeInstanceStatus", "DescribeNetworkInterfaces", "DescribeSecurityGroups",
		"DescribeSnapshots", "DescribeSpotInstanceRequests", "DescribeVolumes",
	}
)

// newThrottle returns full buckets as AWS documents them.
func (c *Cloud) newThrottle() throttle {
	t := throttle{buckets: make(map[string]*bucket), refused: make(map[string]int)}
	if c.opts.DisableThrottling {
		return t
	}
	put := func(l limit, name ...string) { t.buckets[strings.Join(name, "/")] = newBucket(l.rate, l.burst) }
	for _, service := range []string{groupELB, groupELBv2} {
		for category, l := range balancerLimits {
			put(l, service, category)
		}
	}
	for action := range c.ec2Operations() {
		put(ec2Limit(action), groupEC2, action)
		if slices.Contains(ec2Filterable, action) {
			put(ec2Unfiltered, groupEC2, action, unfiltered)
		}
	}
	return t
}

func ec2Limit(action string) limit {
	if l, own := ec2Uncategorized[action]; own {
		return l
	}
	if Mutating(action) {
		return ec2Mutating
	}
	return ec2NonMutating
}

// documentedBuckets returns the names of the buckets that AWS takes tokens from
// for a call.
func documentedBuckets(service *api, request Request) []string {
	switch service.group {
	case groupELB, groupELBv2:
		return []string{service.group + "/" + accountCalls, service.group + "/" + balancerCategory(request.Op)}
	case groupEC2:
		name := service.group + "/" + request.Op
		if slices.Contains(ec2Filterable, request.Op) && !selective(request) {
			name += "/" + unfiltered
		}
		return []string{name}
	}
	return nil
}

func balancerCategory(op string) string {
	if category := balancerCategories[op]; category != "" {
		return category
	}
	if Mutating(op) {
		return mutations
	}
	return nonMutating
}

// selective reports whether a call has a filter or a page size. IDs are
// neither.
func selective(request Request) bool {
	for name := range request.Form {
		if strings.HasPrefix(name, "Filter.") || name == "MaxResults" || name == "NextToken" {
			return true
		}
	}
	return false
}
