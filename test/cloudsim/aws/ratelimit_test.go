package aws

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/google/go-cmp/cmp"
)

// passed calls until a call is throttled, and returns the number of earlier
// calls.
func passed(t *testing.T, throttled string, call func() error) int {
	t.Helper()
	for n := range 1000 {
		err := call()
		if code(err) == throttled {
			return n
		}
	}
	t.Fatal("no call is throttled")

	return 0
}

func TestDocumentedBuckets(t *testing.T) {
	t.Parallel()
	describeClassic := func(k *balancing) error {
		_, err := k.elb.DescribeLoadBalancers(k.t.Context(), &elb.DescribeLoadBalancersInput{})

		return err
	}
	type bound struct{ Burst, PerTenSeconds int }
	tests := map[string]struct {
		reason string
		call   func(*balancing) error
		code   string
		want   bound
	}{
		"classic reads": {"non-mutating: 40 and 10 per second", describeClassic, "Throttling", bound{40, 40}},
		"network creation": {"resource-intensive: 10 and 0.2 per second", func(k *balancing) error {
			_, err := k.v2.CreateLoadBalancer(k.t.Context(), k.net())

			return err
		}, "ThrottlingException", bound{10, 2}},
		"registration": {"registration: 20 and 4 per second", func(k *balancing) error {
			return k.register("arn:aws:nothing", "i-0")
		}, "ThrottlingException", bound{20, 20}},
		"instances by filter": {"non-mutating: 100 and 20 per second", func(k *balancing) error {
			_, err := k.ec2.DescribeInstances(k.t.Context(), &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{by("vpc-id", "vpc-1")}})

			return err
		}, "RequestLimitExceeded", bound{100, 100}},
		"instances by ID": {"unfiltered and unpaginated: 50 and 10 per second", func(k *balancing) error {
			_, err := k.ec2.DescribeInstances(k.t.Context(), &ec2.DescribeInstancesInput{InstanceIds: k.nodes})

			return err
		}, "RequestLimitExceeded", bound{50, 50}},
		"groups": {"mutating: 50 and 5 per second", func(k *balancing) error {
			_, err := k.ec2.DeleteSecurityGroup(k.t.Context(), &ec2.DeleteSecurityGroupInput{GroupId: new("sg-0")})

			return err
		}, "RequestLimitExceeded", bound{50, 50}},
		"tags": {"uncategorized: 100 and 10 per second", func(k *balancing) error {
			_, err := k.ec2.CreateTags(k.t.Context(), &ec2.CreateTagsInput{Resources: k.nodes, Tags: []ec2types.Tag{{Key: new("a")}}})

			return err
		}, "RequestLimitExceeded", bound{100, 100}},
		"topology": {"uncategorized: 1 and 1 per second", func(k *balancing) error {
			_, err := k.ec2.DescribeInstanceTopology(k.t.Context(), &ec2.DescribeInstanceTopologyInput{})

			return err
		}, "RequestLimitExceeded", bound{1, 1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startBalancing(t, Options{})
			got := bound{Burst: passed(t, tc.code, func() error { return tc.call(k) })}
			k.sleep(10 * time.Second)
			got.PerTenSeconds = passed(t, tc.code, func() error { return tc.call(k) })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			total := 0
			for _, n := range k.ThrottledCalls() {
				total += n
			}
			if total != 2 {
				t.Errorf("%d calls are counted as throttled, want 2", total)
			}
		})
	}
}
