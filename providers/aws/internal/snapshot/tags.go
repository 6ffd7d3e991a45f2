package snapshot

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// tagPage is the maximum number of ARNs in one call for tags:
// https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_DescribeTags.html
const tagPage = 20

// serviceName is the form of the names of load balancers that are created for
// Services.
var serviceName = regexp.MustCompile(`^a[0-9a-f]{31}$`)

// Tags returns tags by ARN. A resource without tags has an empty map; one that
// AWS does not find has no entry. The result is nil if there is no permission
// to read tags: IAM policies for other cloud controller managers do not include
// it. A call with capacity left also reads the tags of listed load balancers
// that may be needed next.
func (s *Snapshot) Tags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	all, missing := s.knownTags(arns)
	if len(missing) == 0 {
		return all, nil
	}
	select {
	case s.tagLock <- struct{}{}:
		defer func() { <-s.tagLock }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	all, missing = s.knownTags(arns) // the call before may have read them
	for chunk := range slices.Chunk(missing, tagPage) {
		read, err := s.readTags(ctx, append(slices.Clone(chunk), s.additionalARNs(chunk)...))
		if errors.Is(err, apierr.ErrDenied) {
			klog.FromContext(ctx).V(4).Info("Reading tags of load balancers is not allowed", "err", err)

			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("describe tags of load balancers: %w", err)
		}
		maps.Copy(all, read)
	}
	maps.DeleteFunc(all, func(arn string, _ map[string]string) bool { return !slices.Contains(arns, arn) })

	return all, nil
}

// knownTags returns the cached tags, and the ARNs without any.
func (s *Snapshot) knownTags(arns []string) (all map[string]map[string]string, missing []string) {
	all = map[string]map[string]string{}
	for _, arn := range arns {
		if values, ok := s.tags.get(arn); ok {
			all[arn] = values
		} else if !slices.Contains(missing, arn) {
			missing = append(missing, arn)
		}
	}

	return all, missing
}

// additionalARNs returns ARNs that fill a call: listed load balancers of
// Services whose tags are not cached.
func (s *Snapshot) additionalARNs(chunk []string) []string {
	list, _, _ := s.balancers.Peek()
	var arns []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		if len(chunk)+len(arns) == tagPage {
			break
		}
		arn := aws.ToString(list[name].LoadBalancerArn)
		if _, ok := s.tags.get(arn); ok || !serviceName.MatchString(name) || slices.Contains(chunk, arn) {
			continue
		}
		if written, ok := s.writtenAt(arn); !ok || time.Since(written) > s.options.MaxAge {
			arns = append(arns, arn)
		}
	}

	return arns
}

// readTags reads the tags of one page of ARNs. AWS rejects all of them if one
// is not found, which is then searched by halves. Tags that were written in the
// meantime are returned, but not cached.
func (s *Snapshot) readTags(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	start := time.Now()
	out, err := s.DescribeTags(ctx, &elbv2.DescribeTagsInput{ResourceArns: arns})
	if errors.Is(err, apierr.ErrNotFound) {
		return s.readHalves(ctx, arns)
	}
	if err != nil {
		return nil, err
	}
	all := make(map[string]map[string]string, len(out.TagDescriptions))
	for _, thing := range out.TagDescriptions {
		arn := aws.ToString(thing.ResourceArn)
		all[arn] = awstype.FromELBV2Tags(thing.Tags)
		s.tags.put(arn, all[arn], start)
	}

	return all, nil
}

// readHalves reads the tags of ARNs of which AWS does not find at least one.
func (s *Snapshot) readHalves(ctx context.Context, arns []string) (map[string]map[string]string, error) {
	all := map[string]map[string]string{}
	if len(arns) == 1 {
		return all, nil
	}
	half := len(arns) / 2
	first, err := s.readTags(ctx, arns[:half])
	if err != nil {
		return nil, err
	}
	second, err := s.readTags(ctx, arns[half:])
	maps.Copy(all, first)
	maps.Copy(all, second)

	return all, err
}
