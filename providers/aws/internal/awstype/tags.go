package awstype

import (
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
)

// EC2Tags returns tags as those of EC2.
func EC2Tags(tags map[string]string) []ec2types.Tag {
	return toList(tags, func(key, value string) ec2types.Tag { return ec2types.Tag{Key: &key, Value: &value} })
}

// ELBTags returns tags as those of classic load balancers.
func ELBTags(tags map[string]string) []elbtypes.Tag {
	return toList(tags, func(key, value string) elbtypes.Tag { return elbtypes.Tag{Key: &key, Value: &value} })
}

// ELBV2Tags returns tags as those of network load balancers.
func ELBV2Tags(tags map[string]string) []elbv2types.Tag {
	return toList(tags, func(key, value string) elbv2types.Tag { return elbv2types.Tag{Key: &key, Value: &value} })
}

// FromEC2Tags returns tags of EC2 as a map, which is never nil.
func FromEC2Tags(tags []ec2types.Tag) map[string]string {
	return toMap(tags, func(tag ec2types.Tag) (key, value *string) { return tag.Key, tag.Value })
}

// FromELBTags returns tags of a classic load balancer as a map, which is never
// nil.
func FromELBTags(tags []elbtypes.Tag) map[string]string {
	return toMap(tags, func(tag elbtypes.Tag) (key, value *string) { return tag.Key, tag.Value })
}

// FromELBV2Tags returns tags of a network load balancer as a map, which is never
// nil.
func FromELBV2Tags(tags []elbv2types.Tag) map[string]string {
	return toMap(tags, func(tag elbv2types.Tag) (key, value *string) { return tag.Key, tag.Value })
}

func toList[T any](tags map[string]string, tag func(key, value string) T) []T {
	list := make([]T, 0, len(tags))
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		list = append(list, tag(key, tags[key]))
	}

	return list
}

func toMap[T any](list []T, split func(T) (key, value *string)) map[string]string {
	tags := make(map[string]string, len(list))
	for _, tag := range list {
		key, value := split(tag)
		tags[aws.ToString(key)] = aws.ToString(value)
	}

	return tags
}
