package awstype

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// EC2Tags returns tags as those of EC2.
func EC2Tags(tags map[string]string) []ec2types.Tag {
	return ToList(tags, func(key, value string) ec2types.Tag { return ec2types.Tag{Key: &key, Value: &value} })
}

// ELBTags returns tags as those of classic load balancers.
func ELBTags(tags map[string]string) []elbtypes.Tag {
	return ToList(tags, func(key, value string) elbtypes.Tag { return elbtypes.Tag{Key: &key, Value: &value} })
}

// ELBV2Tags returns tags as those of network load balancers.
func ELBV2Tags(tags map[string]string) []elbv2types.Tag {
	return ToList(tags, func(key, value string) elbv2types.Tag { return elbv2types.Tag{Key: &key, Value: &value} })
}

// FromEC2Tags returns tags of EC2 as a map, which is never nil.
func FromEC2Tags(tags []ec2types.Tag) map[string]string {
	return ToMap(tags, func(tag ec2types.Tag) (key, value *string) { return tag.Key, tag.Value })
}

// FromELBTags returns tags of a classic load balancer as a map, which is never
// nil.
func FromELBTags(tags []elbtypes.Tag) map[string]string {
	return ToMap(tags, func(tag elbtypes.Tag) (key, value *string) { return tag.Key, tag.Value })
}

// FromELBV2Tags returns tags of a network load balancer as a map, which is never
// nil.
func FromELBV2Tags(tags []elbv2types.Tag) map[string]string {
	return ToMap(tags, func(tag elbv2types.Tag) (key, value *string) { return tag.Key, tag.Value })
}

// ToList returns a list of what pair makes of each key and its value.
func ToList[T any](values map[string]string, pair func(key, value string) T) []T {
	return lists.Map(slices.Sorted(maps.Keys(values)), func(key string) T { return pair(key, values[key]) })
}

// ToMap returns a list of pairs as a map, which is never nil.
func ToMap[T any](list []T, split func(T) (key, value *string)) map[string]string {
	values := make(map[string]string, len(list))
	for _, pair := range list {
		key, value := split(pair)
		values[aws.ToString(key)] = aws.ToString(value)
	}

	return values
}

// Optional returns nil for an empty text.
func Optional(text string) *string {
	if text == "" {
		return nil
	}

	return &text
}
