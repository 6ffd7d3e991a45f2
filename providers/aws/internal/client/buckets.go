package client

import (
	"path"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
)

// bucket is a token bucket of AWS, with the operations that take tokens from
// it. An account has one per region.
type bucket struct {
	class string
	// burst is the size of the bucket, rate the number of tokens that it gets
	// per second.
	burst int
	rate  float64
	// each means that every operation of the class has its own bucket.
	each bool
	// operations are patterns for path.Match.
	operations []string
	// inputs reports whether the input of an operation belongs to the class. Nil
	// means that every input does.
	inputs func(input any) bool
}

// buckets are the buckets of a service. The first one that matches an operation
// counts.
var buckets = map[Service][]bucket{
	// docs.aws.amazon.com/ec2/latest/devguide/ec2-api-throttling.html: the size
	// comes from the category of an action, but each action is limited by itself.
	ServiceEC2: {
		{class: "topology", burst: 1, rate: 1, operations: []string{"DescribeInstanceTopology"}},
		{class: "tags", burst: 100, rate: 10, each: true, operations: []string{"CreateTags", "DeleteTags"}},
		{class: "interface-attributes", burst: 100, rate: 5, operations: []string{"ModifyNetworkInterfaceAttribute"}},
		{
			class: "resource-intensive", burst: 50, rate: 5, each: true,
			operations: []string{"AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"},
		},
		{
			class: "unfiltered", burst: 50, rate: 10, each: true, inputs: isUnfiltered,
			operations: []string{"DescribeInstances", "DescribeNetworkInterfaces", "DescribeSecurityGroups"},
		},
		{class: "non-mutating", burst: 100, rate: 20, each: true, operations: []string{"Describe*"}},
		{class: "mutating", burst: 50, rate: 5, each: true, operations: []string{"*"}},
	},
	// docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html,
	// "Request token bucket sizes and refill rates": each version of the API
	// has its own buckets, one for each category. These are the defaults; other
	// limits of an account become effective by throttled responses.
	ServiceELB: {
		{class: "registration", burst: 20, rate: 4, operations: []string{"RegisterInstances*", "DeregisterInstances*"}},
		{
			class: "resource-intensive", burst: 10, rate: 0.2,
			operations: []string{
				"CreateLoadBalancer", "AttachLoadBalancerToSubnets", "DetachLoadBalancerFromSubnets",
				"EnableAvailabilityZonesForLoadBalancer", "DisableAvailabilityZonesForLoadBalancer",
			},
		},
		{class: "non-mutating", burst: 40, rate: 10, operations: []string{"Describe*"}},
		{class: "mutating", burst: 20, rate: 3, operations: []string{"*"}},
	},
	ServiceELBV2: {
		{class: "registration", burst: 20, rate: 4, operations: []string{"RegisterTargets", "DeregisterTargets"}},
		{class: "resource-intensive", burst: 10, rate: 0.2, operations: []string{"CreateLoadBalancer", "SetSubnets"}},
		{class: "non-mutating", burst: 40, rate: 10, operations: []string{"Describe*"}},
		{class: "mutating", burst: 20, rate: 3, operations: []string{"*"}},
	},
	// docs.aws.amazon.com/IAM/latest/UserGuide/reference_iam-quotas.html: 600
	// requests a second, for most actions together.
	ServiceSTS: {
		{class: "requests", burst: 600, rate: 600, operations: []string{"*"}},
	},
}

// sharedBuckets are the buckets that every operation of a service takes a token
// from, too.
// docs.aws.amazon.com/elasticloadbalancing/latest/userguide/elb-api-throttling.html,
// "Request rate limiting": there is a limit of the account for all operations.
var sharedBuckets = map[Service]bucket{
	ServiceELB:   {class: "account", burst: 40, rate: 10},
	ServiceELBV2: {class: "account", burst: 40, rate: 10},
}

// bucketOf returns the bucket that an operation takes its tokens from. The last
// one of a service is for all operations that match no other.
func bucketOf(service Service, operation string, input any) bucket {
	all := buckets[service]
	for _, b := range all {
		if b.fits(operation) && (b.inputs == nil || b.inputs(input)) {
			return b
		}
	}

	return all[len(all)-1]
}

func (b bucket) fits(operation string) bool {
	return slices.ContainsFunc(b.operations, func(pattern string) bool {
		ok, err := path.Match(pattern, operation)

		return ok && err == nil
	})
}

// key distinguishes the buckets of a service.
func (b bucket) key(operation string) string {
	if b.each {
		return b.class + "/" + operation
	}

	return b.class
}

// isUnfiltered reports whether a query has neither a filter nor a page size. IDs
// are no filter.
func isUnfiltered(input any) bool {
	switch in := input.(type) {
	case *ec2.DescribeInstancesInput:
		return len(in.Filters) == 0 && in.MaxResults == nil && in.NextToken == nil
	case *ec2.DescribeNetworkInterfacesInput:
		return len(in.Filters) == 0 && in.MaxResults == nil && in.NextToken == nil
	case *ec2.DescribeSecurityGroupsInput:
		return len(in.Filters) == 0 && in.MaxResults == nil && in.NextToken == nil
	default:
		return false
	}
}
