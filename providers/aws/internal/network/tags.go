package network

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// allTags reads the tags of things by ARN. A thing without tags has an empty map,
// one that is gone has nil. All of it is nil if tags may not be read: policies
// made for other cloud controller managers do not allow it.
func (r reader) allTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	for chunk := range slices.Chunk(arns, tagPage) {
		err := r.someTags(ctx, chunk, all)
		if errors.Is(err, apierr.ErrDenied) {
			klog.FromContext(ctx).V(4).Info("Tags may not be read", "loadBalancer", r.query.Name, "err", err)
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("describe tags for %s: %w", r.query.Name, err)
		}
	}
	return all, nil
}

// someTags reads the tags of one chunk. Things of other Services can go away
// meanwhile, so what AWS does not find is looked for by halves.
func (r reader) someTags(ctx context.Context, arns []string, all map[string]map[string]string) error {
	out, err := r.api.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
	if errors.Is(err, apierr.ErrNotFound) {
		half := len(arns) / 2
		if half == 0 {
			return nil
		}
		return errors.Join(r.someTags(ctx, arns[:half], all), r.someTags(ctx, arns[half:], all))
	}
	if err != nil {
		return err
	}
	for _, thing := range out.TagDescriptions {
		all[aws.ToString(thing.ResourceArn)] = awstype.FromELBV2Tags(thing.Tags)
	}
	return nil
}
