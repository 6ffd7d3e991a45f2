package awstype_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
)

func TestTags(t *testing.T) {
	t.Parallel()
	for name, tags := range map[string]map[string]string{
		"none":    {},
		"some":    {"b": "2", "a": "1", "c": ""},
		"similar": {"a": "1", "a-b": "2", "A": "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for api, got := range map[string]map[string]string{
				"ec2":   awstype.FromEC2Tags(awstype.EC2Tags(tags)),
				"elb":   awstype.FromELBTags(awstype.ELBTags(tags)),
				"elbv2": awstype.FromELBV2Tags(awstype.ELBV2Tags(tags)),
			} {
				if diff := cmp.Diff(tags, got); diff != "" {
					t.Errorf("%s: back and forth: -want +got:\n%s", api, diff)
				}
			}
		})
	}
}

func TestTagsAreInTheOrderOfTheirKeys(t *testing.T) {
	t.Parallel()
	want := []ec2types.Tag{{Key: aws.String("a"), Value: aws.String("1")}, {Key: aws.String("b"), Value: aws.String("2")}}
	got := awstype.EC2Tags(map[string]string{"b": "2", "a": "1"})
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(ec2types.Tag{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// AWS may leave out what is empty.
func TestSparseTags(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(map[string]string{"": ""}, awstype.FromEC2Tags([]ec2types.Tag{{}})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if awstype.FromELBV2Tags(nil) == nil {
		t.Error("a resource without tags has an empty map")
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	want := ec2types.Filter{Name: aws.String("tag-key"), Values: []string{"a", "b"}}
	if diff := cmp.Diff(want, awstype.Filter("tag-key", "a", "b"), cmpopts.IgnoreUnexported(ec2types.Filter{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
