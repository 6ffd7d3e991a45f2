package aws

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func TestInstanceRejected(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	id := c.Seed("demo").AddNodes(1)[0]
	api := ec2Client(t, c)
	many := make([]string, 201)
	for n := range many {
		many[n] = "v" + strconv.Itoa(n)
	}
	tests := map[string]struct {
		reason string
		in     ec2.DescribeInstancesInput
		want   string
		texts  []string
	}{
		"one missing": {"the error names the ID", ec2.DescribeInstancesInput{InstanceIds: []string{"i-0dead", id}}, "InvalidInstanceID.NotFound", []string{"The instance ID 'i-0dead' does not exist"}},
		"two missing": {"the error names the IDs", ec2.DescribeInstancesInput{InstanceIds: []string{"i-0dead", id, "i-0beef"}}, "InvalidInstanceID.NotFound", []string{"The instance IDs 'i-0beef, i-0dead' do not exist"}},
		"malformed":   {"an ID of another kind", ec2.DescribeInstancesInput{InstanceIds: []string{"vol-1"}}, "InvalidInstanceID.Malformed", []string{"vol-1"}},
		"values":      {"limit 200", ec2.DescribeInstancesInput{Filters: []types.Filter{by("instance-id", many[:100]...), by("private-dns-name", many[100:]...)}}, "FilterLimitExceeded", []string{"200"}},
		"filter":      {"", ec2.DescribeInstancesInput{Filters: []types.Filter{by("color", "red")}}, "InvalidParameterValue", []string{"The filter 'color' is invalid"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := api.DescribeInstances(t.Context(), &tc.in)
			wantCode(t, err, tc.want, tc.texts...)
		})
	}
}

// TestFirstMissing: an error can name only the first of several missing instances.
func TestFirstMissing(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	c.SetFirstMissing(true)
	_, err := ec2Client(t, c).DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{"i-0dead", "i-0beef"}})
	wantCode(t, err, "InvalidInstanceID.NotFound", "The instance ID 'i-0beef' does not exist")
}
