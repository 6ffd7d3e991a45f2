package aws

import (
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simstate"
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

// balancerLimits are the token buckets of each of the two load balancer APIs.
// Every call takes a token from the one of the account and from the one of its
// category. The sections "Request rate limiting" and "Request token bucket sizes
// and refill rates" state them, as defaults that AWS Support may raise.
// https://docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html
var balancerLimits = map[string]simstate.RateLimit{
	accountCalls:      {Rate: 10, Burst: 40},
	resourceIntensive: {Rate: 0.2, Burst: 10},
	registrations:     {Rate: 4, Burst: 20},
	mutations:         {Rate: 3, Burst: 20},
	nonMutating:       {Rate: 10, Burst: 40},
}

// balancerCategories are the categories of the operations whose names do not
// show it, by operation of the interceptor's log, from the same page.
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
	ec2NonMutating = simstate.RateLimit{Rate: 20, Burst: 100}
	ec2Mutating    = simstate.RateLimit{Rate: 5, Burst: 50}
	ec2Unfiltered  = simstate.RateLimit{Rate: 10, Burst: 50}

	ec2Uncategorized = map[string]simstate.RateLimit{
		"CreateTags":                      {Rate: 10, Burst: 100},
		"DeleteTags":                      {Rate: 10, Burst: 100},
		"DescribeInstanceTopology":        {Rate: 1, Burst: 1},
		"ModifyNetworkInterfaceAttribute": {Rate: 5, Burst: 100},
	}
	ec2Filterable = []string{
		"DescribeInstances", "DescribeInstanceStatus", "DescribeNetworkInterfaces", "DescribeSecurityGroups",
		"DescribeSnapshots", "DescribeSpotInstanceRequests", "DescribeVolumes",
	}
)

// setDocumentedLimits makes full buckets as AWS documents them.
func (c *Cloud) setDocumentedLimits() {
	c.limits.rejected = make(map[string]int)
	if c.opts.DisableThrottling {
		return
	}
	put := func(l simstate.RateLimit, name ...string) { c.limits.Set(strings.Join(name, "/"), l) }
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
}

func ec2Limit(action string) simstate.RateLimit {
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
