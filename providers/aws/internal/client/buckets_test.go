package client

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
)

// TestBucketOf checks which bucket an operation takes its tokens from, and that
// EC2 limits each operation by itself.
func TestBucketOf(t *testing.T) {
	t.Parallel()
	filtered := []ec2types.Filter{{}}
	cases := map[string]struct {
		service   Service
		operation string
		input     any
		key       string
		burst     int
		rate      float64
	}{
		"read":              {ServiceEC2, "DescribeSubnets", &ec2.DescribeSubnetsInput{}, "non-mutating/DescribeSubnets", 100, 20},
		"unfiltered":        {ServiceEC2, "DescribeInstances", &ec2.DescribeInstancesInput{}, "unfiltered/DescribeInstances", 50, 10},
		"by ID":             {ServiceEC2, "DescribeInstances", &ec2.DescribeInstancesInput{InstanceIds: []string{"i"}}, "unfiltered/DescribeInstances", 50, 10},
		"filtered":          {ServiceEC2, "DescribeInstances", &ec2.DescribeInstancesInput{Filters: filtered}, "non-mutating/DescribeInstances", 100, 20},
		"paged":             {ServiceEC2, "DescribeInstances", &ec2.DescribeInstancesInput{MaxResults: new(int32(5))}, "non-mutating/DescribeInstances", 100, 20},
		"next page":         {ServiceEC2, "DescribeSecurityGroups", &ec2.DescribeSecurityGroupsInput{NextToken: new("a")}, "non-mutating/DescribeSecurityGroups", 100, 20},
		"groups":            {ServiceEC2, "DescribeSecurityGroups", &ec2.DescribeSecurityGroupsInput{}, "unfiltered/DescribeSecurityGroups", 50, 10},
		"interfaces":        {ServiceEC2, "DescribeNetworkInterfaces", &ec2.DescribeNetworkInterfacesInput{}, "unfiltered/DescribeNetworkInterfaces", 50, 10},
		"some interfaces":   {ServiceEC2, "DescribeNetworkInterfaces", &ec2.DescribeNetworkInterfacesInput{Filters: filtered}, "non-mutating/DescribeNetworkInterfaces", 100, 20},
		"topology":          {ServiceEC2, "DescribeInstanceTopology", nil, "topology", 1, 1},
		"write":             {ServiceEC2, "CreateSecurityGroup", nil, "mutating/CreateSecurityGroup", 50, 5},
		"rules":             {ServiceEC2, "RevokeSecurityGroupIngress", nil, "resource-intensive/RevokeSecurityGroupIngress", 50, 5},
		"tags":              {ServiceEC2, "DeleteTags", nil, "tags/DeleteTags", 100, 10},
		"interface":         {ServiceEC2, "ModifyNetworkInterfaceAttribute", nil, "interface-attributes", 100, 5},
		"classic read":      {ServiceELB, "DescribeTags", nil, "non-mutating", 40, 10},
		"classic instances": {ServiceELB, "DeregisterInstancesFromLoadBalancer", nil, "registration", 20, 4},
		"classic creation":  {ServiceELB, "CreateLoadBalancer", nil, "resource-intensive", 10, 0.2},
		"classic subnets":   {ServiceELB, "DetachLoadBalancerFromSubnets", nil, "resource-intensive", 10, 0.2},
		"classic zones":     {ServiceELB, "DisableAvailabilityZonesForLoadBalancer", nil, "resource-intensive", 10, 0.2},
		"classic listeners": {ServiceELB, "CreateLoadBalancerListeners", nil, "mutating", 20, 3},
		"network creation":  {ServiceELBV2, "CreateLoadBalancer", nil, "resource-intensive", 10, 0.2},
		"network subnets":   {ServiceELBV2, "SetSubnets", nil, "resource-intensive", 10, 0.2},
		"network read":      {ServiceELBV2, "DescribeTargetHealth", nil, "non-mutating", 40, 10},
		"network targets":   {ServiceELBV2, "RegisterTargets", nil, "registration", 20, 4},
		"network write":     {ServiceELBV2, "ModifyTargetGroupAttributes", nil, "mutating", 20, 3},
		"role":              {ServiceSTS, "AssumeRole", nil, "requests", 600, 600},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := bucketOf(tc.service, tc.operation, tc.input)
			want := []any{tc.key, tc.burst, tc.rate}
			if diff := cmp.Diff(want, []any{got.key(tc.operation), got.burst, got.rate}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestEveryOperationHasABucket checks that none is left to AWS alone, and that
// reads and writes do not share one.
func TestEveryOperationHasABucket(t *testing.T) {
	t.Parallel()
	for service, api := range map[Service]reflect.Type{
		ServiceEC2: reflect.TypeFor[EC2](), ServiceELB: reflect.TypeFor[ELB](), ServiceELBV2: reflect.TypeFor[ELBV2](),
	} {
		limits, readBy := newLimiters(service, Tuning{}.withDefaults()), map[*limiter]bool{}
		for method := range api.Methods() {
			read := strings.HasPrefix(method.Name, "Describe")
			l := limits.of(method.Name, reflect.New(method.Type.In(1).Elem()).Interface())
			if before, ok := readBy[l]; ok && before != read {
				t.Errorf("%s: %s shares a limiter with reads and writes", service, method.Name)
			}
			readBy[l] = read
			if again := limits.of(method.Name, reflect.New(method.Type.In(1).Elem()).Interface()); again != l {
				t.Errorf("%s: %s has two limiters", service, method.Name)
			}
		}
	}
}
