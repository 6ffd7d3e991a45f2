package aws

import (
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
)

func tag(key, value string) types.Tag { return types.Tag{Key: &key, Value: &value} }

func TestTagRejected(t *testing.T) {
	t.Parallel()
	c := start(t, Options{})
	seed := c.Seed("demo")
	id := seed.AddNodes(1)[0]
	api := ec2Client(t, c)
	many := make([]types.Tag, 49)
	for n := range many {
		many[n] = tag("k"+strconv.Itoa(n), "v")
	}
	tests := map[string]struct {
		reason string
		ids    []string
		tags   []types.Tag
		want   string
		texts  []string
	}{
		"missing":  {"one of two does not exist", []string{id, "i-0dead"}, []types.Tag{tag("a", "b")}, "InvalidInstanceID.NotFound", []string{"i-0dead"}},
		"nonsense": {"no ID of EC2", []string{"what"}, []types.Tag{tag("a", "b")}, "InvalidID", []string{"The ID 'what' is not valid"}},
		"limit":    {"2 tags are there", []string{id}, many, "TagLimitExceeded", nil},
		"reserved": {"", []string{id}, []types.Tag{tag("aws:a", "b")}, "InvalidParameterValue", []string{"reserved"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := api.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: tc.ids, Tags: tc.tags})
			wantCode(t, err, tc.want, tc.texts...)
		})
	}
	t.Cleanup(func() {
		if leaks := c.Leaks(); len(leaks) != 0 {
			t.Errorf("rejected calls left %v", leaks)
		}
	})
}
