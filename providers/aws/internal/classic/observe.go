package classic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancing/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/awstype"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Observe reads the load balancer of a name, with everything that a Model
// contains, for the cluster. It returns nil if there is none. It changes
// nothing.
func Observe(ctx context.Context, api client.ELB, name string, id cluster.ID) (*LoadBalancer, error) {
	lb, err := Identify(ctx, api, name, id, false)
	// A load balancer of another cluster is not read any further.
	if err != nil || lb == nil || lb.NotOwned() != nil {
		return lb, err
	}
	lb.Attributes, err = readAttributes(ctx, api, name)

	return lb, contradiction(name, err)
}

// Identify reads what deletion needs of the load balancer of a name, nil if
// there is none. Its tags are not read if it is known to be ours.
func Identify(ctx context.Context, api client.ELB, name string, id cluster.ID, ours bool) (*LoadBalancer, error) {
	lb, err := describeOne(ctx, api, name, id)
	if err != nil || lb == nil || ours {
		return lb, err
	}
	lb.Tags, err = readTags(ctx, api, name)

	return lb, contradiction(name, err)
}

// contradiction returns the error of a read that follows the description of a
// load balancer. If AWS does not find what it has just described, it was
// created or deleted a moment ago: such a response proves nothing.
func contradiction(name string, err error) error {
	if !errors.Is(err, apierr.ErrNotFound) {
		return err
	}

	return apierr.Mark(apierr.ErrConflict, fmt.Errorf(
		"load balancer %s was created or deleted a moment ago: AWS describes it, and does not find its tags or attributes", name))
}

// describeOne reads the load balancer of a name without tags and attributes, nil
// if there is none.
func describeOne(ctx context.Context, api client.ELB, name string, id cluster.ID) (*LoadBalancer, error) {
	out, err := api.DescribeLoadBalancers(ctx, &elb.DescribeLoadBalancersInput{LoadBalancerNames: []string{name}})
	if errors.Is(err, apierr.ErrNotFound) {
		return nil, nil //nolint:nilnil // absence is a result
	}
	if err != nil {
		return nil, fmt.Errorf("describe load balancer %s: %w", name, err)
	}
	for i := range out.LoadBalancerDescriptions {
		if found := &out.LoadBalancerDescriptions[i]; aws.ToString(found.LoadBalancerName) == name {
			lb := toLoadBalancer(found)
			lb.Cluster = id

			return lb, nil
		}
	}

	return nil, nil //nolint:nilnil // as above
}

// readTags reads the tags of a load balancer. They are nil if that is not
// allowed: policies for other cloud controller managers do not include it.
func readTags(ctx context.Context, api client.ELB, name string) (map[string]string, error) {
	out, err := api.DescribeTags(ctx, &elb.DescribeTagsInput{LoadBalancerNames: []string{name}})
	if errors.Is(err, apierr.ErrDenied) {
		klog.FromContext(ctx).V(4).Info("Tags may not be read", "loadBalancer", name, "err", err)

		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("describe tags of load balancer %s: %w", name, err)
	}
	tags := map[string]string{}
	for _, thing := range out.TagDescriptions {
		maps.Copy(tags, awstype.FromELBTags(thing.Tags))
	}

	return tags, nil
}

func readAttributes(ctx context.Context, api client.ELB, name string) (Attributes, error) {
	out, err := api.DescribeLoadBalancerAttributes(ctx, &elb.DescribeLoadBalancerAttributesInput{LoadBalancerName: &name})
	if err != nil {
		return Attributes{}, fmt.Errorf("describe attributes of load balancer %s: %w", name, err)
	}
	var a Attributes
	if in := out.LoadBalancerAttributes; in != nil {
		if in.CrossZoneLoadBalancing != nil {
			a.CrossZone = in.CrossZoneLoadBalancing.Enabled
		}
		if in.ConnectionSettings != nil {
			a.IdleTimeout = aws.ToInt32(in.ConnectionSettings.IdleTimeout)
		}
		if draining := in.ConnectionDraining; draining != nil {
			a.Draining, a.DrainingTimeout = draining.Enabled, aws.ToInt32(draining.Timeout)
		}
		if log := in.AccessLog; log != nil {
			a.AccessLog, a.AccessLogInterval = log.Enabled, aws.ToInt32(log.EmitInterval)
			a.AccessLogBucket, a.AccessLogPrefix = aws.ToString(log.S3BucketName), aws.ToString(log.S3BucketPrefix)
		}
	}

	return a.normal(), nil
}

func toLoadBalancer(in *types.LoadBalancerDescription) *LoadBalancer {
	lb := &LoadBalancer{
		Name:            aws.ToString(in.LoadBalancerName),
		DNSName:         aws.ToString(in.DNSName),
		VPC:             aws.ToString(in.VPCId),
		Scheme:          aws.ToString(in.Scheme),
		Subnets:         in.Subnets,
		Zones:           in.AvailabilityZones,
		SecurityGroups:  in.SecurityGroups,
		BackendPolicies: map[int32][]string{},
	}
	for _, listener := range in.ListenerDescriptions {
		if listener.Listener != nil {
			lb.Listeners = append(lb.Listeners, toListener(listener.Listener, listener.PolicyNames))
			lb.Policies = append(lb.Policies, listener.PolicyNames...)
		}
	}
	slices.SortFunc(lb.Listeners, func(a, b Listener) int { return cmp.Compare(a.Port, b.Port) })
	for _, backend := range in.BackendServerDescriptions {
		if len(backend.PolicyNames) > 0 {
			lb.BackendPolicies[aws.ToInt32(backend.InstancePort)] = backend.PolicyNames
			lb.Policies = append(lb.Policies, backend.PolicyNames...)
		}
	}
	if in.Policies != nil {
		lb.Policies = append(lb.Policies, in.Policies.OtherPolicies...)
	}
	lb.Policies = plan.Sorted(lb.Policies)
	lb.Instances = plan.Sorted(lists.Map(in.Instances, func(instance types.Instance) string { return aws.ToString(instance.InstanceId) }))
	if check := in.HealthCheck; check != nil {
		lb.HealthCheck = HealthCheck{
			Target:             aws.ToString(check.Target),
			Interval:           aws.ToInt32(check.Interval),
			Timeout:            aws.ToInt32(check.Timeout),
			HealthyThreshold:   aws.ToInt32(check.HealthyThreshold),
			UnhealthyThreshold: aws.ToInt32(check.UnhealthyThreshold),
		}
	}

	return lb
}

// toListener converts a listener. The instance protocol defaults to the front
// protocol if AWS does not return it.
func toListener(in *types.Listener, policies []string) Listener {
	front := strings.ToUpper(aws.ToString(in.Protocol))

	return Listener{
		Port:             in.LoadBalancerPort,
		Protocol:         front,
		InstancePort:     aws.ToInt32(in.InstancePort),
		InstanceProtocol: cmp.Or(strings.ToUpper(aws.ToString(in.InstanceProtocol)), front),
		Certificate:      aws.ToString(in.SSLCertificateId),
		Policies:         policies,
	}
}
