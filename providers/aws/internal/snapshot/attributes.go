package snapshot

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
)

// Attributes returns the attributes of a load balancer.
func (s *Snapshot) Attributes(ctx context.Context, balancer string) (map[string]string, error) {
	return s.settings(balancer, func() (map[string]string, error) {
		out, err := s.DescribeLoadBalancerAttributes(ctx, &elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: aws.String(balancer)})
		if err != nil {
			return nil, fmt.Errorf("describe attributes of load balancer %s: %w", NameOf(balancer), err)
		}

		return awstype.ToMap(out.Attributes, func(a types.LoadBalancerAttribute) (key, value *string) { return a.Key, a.Value }), nil
	})
}

// TargetGroupAttributes returns the attributes of a target group.
func (s *Snapshot) TargetGroupAttributes(ctx context.Context, group string) (map[string]string, error) {
	return s.settings(group, func() (map[string]string, error) {
		out, err := s.DescribeTargetGroupAttributes(ctx, &elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: aws.String(group)})
		if err != nil {
			return nil, fmt.Errorf("describe attributes of target group %s: %w", group, err)
		}

		return awstype.ToMap(out.Attributes, func(a types.TargetGroupAttribute) (key, value *string) { return a.Key, a.Value }), nil
	})
}

// settings returns the attributes of an ARN, from the cache or AWS.
func (s *Snapshot) settings(arn string, read func() (map[string]string, error)) (map[string]string, error) {
	if values, ok := s.attributes.get(arn); ok {
		return values, nil
	}
	start := time.Now()
	values, err := read()
	if err != nil {
		return nil, err
	}
	s.attributes.put(arn, values, start)

	return values, nil
}
