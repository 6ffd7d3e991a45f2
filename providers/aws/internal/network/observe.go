package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// pageSize is the most that a describing call answers with.
	pageSize = 400
	// tagPage is the most ARNs in one call for tags.
	tagPage = 20
)

// Query says what to look for.
type Query struct {
	Name    string
	Service types.NamespacedName
	Cluster cluster.ID
	VPC     string
	// Attributes has the attributes of target groups read too, which mostly do
	// not matter.
	Attributes bool
	// Brief leaves out whatever deleting does not need: listeners, attributes
	// and targets.
	Brief bool
}

// Observe reads the load balancer of a Service, and all target groups that were
// made for it. It changes nothing.
func Observe(ctx context.Context, api client.ELBV2, q Query) (*Observed, error) {
	reader := reader{api: api, query: q}
	balancer, err := reader.loadBalancer(ctx)
	if err != nil {
		return nil, err
	}
	groups, err := reader.targetGroups(ctx, balancer)
	if err != nil {
		return nil, err
	}
	if balancer != nil && !q.Brief {
		if err := reader.listeners(ctx, balancer); err != nil {
			return nil, err
		}
		if err := reader.attributes(ctx, balancer); err != nil {
			return nil, err
		}
	}
	if groups, err = reader.tell(ctx, balancer, groups); err != nil {
		return nil, err
	}
	if !q.Brief {
		if err := reader.contents(ctx, groups); err != nil {
			return nil, err
		}
	}
	return &Observed{
		Name: q.Name, Service: q.Service, Cluster: q.Cluster,
		LoadBalancer: balancer, TargetGroups: groups,
	}, nil
}

// reader reads what a query asks for.
type reader struct {
	api   client.ELBV2
	query Query
}

// loadBalancer reads the load balancer by name, nil if there is none.
func (r reader) loadBalancer(ctx context.Context) (*LoadBalancer, error) {
	out, err := r.api.DescribeLoadBalancers(ctx, &elbv2.DescribeLoadBalancersInput{Names: []string{r.query.Name}})
	if errors.Is(err, apierr.ErrNotFound) {
		return nil, nil //nolint:nilnil // that there is none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("describe load balancer %s: %w", r.query.Name, err)
	}
	for _, balancer := range out.LoadBalancers {
		if aws.ToString(balancer.LoadBalancerName) == r.query.Name {
			return toLoadBalancer(balancer), nil
		}
	}
	return nil, nil //nolint:nilnil // as above
}

func toLoadBalancer(in elbv2types.LoadBalancer) *LoadBalancer {
	out := &LoadBalancer{
		ARN:            aws.ToString(in.LoadBalancerArn),
		DNSName:        aws.ToString(in.DNSName),
		Type:           in.Type,
		Scheme:         in.Scheme,
		SecurityGroups: in.SecurityGroups,
	}
	if in.State != nil {
		out.State = in.State.Code
	}
	for _, zone := range in.AvailabilityZones {
		mapping := Mapping{Subnet: aws.ToString(zone.SubnetId)}
		for _, address := range zone.LoadBalancerAddresses {
			mapping.Allocation = aws.ToString(address.AllocationId)
			mapping.PrivateIPv4 = aws.ToString(address.PrivateIPv4Address)
		}
		out.Mappings = append(out.Mappings, mapping)
	}
	return out
}

// targetGroups lists the target groups that can be ours: those that the load
// balancer uses, and those that nobody uses and that are named like ours.
func (r reader) targetGroups(ctx context.Context, balancer *LoadBalancer) ([]GroupState, error) {
	prefix := request.NamePrefix(r.query.Service)
	var groups []GroupState
	pages := elbv2.NewDescribeTargetGroupsPaginator(r.api, &elbv2.DescribeTargetGroupsInput{PageSize: aws.Int32(pageSize)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describe target groups: %w", err)
		}
		for _, in := range page.TargetGroups {
			group := toGroup(in)
			group.Attached = balancer != nil && slices.Contains(in.LoadBalancerArns, balancer.ARN)
			free := len(in.LoadBalancerArns) == 0 && strings.HasPrefix(group.Name, prefix) &&
				(r.query.VPC == "" || aws.ToString(in.VpcId) == r.query.VPC)
			if group.Attached || free {
				groups = append(groups, group)
			}
		}
	}
	slices.SortFunc(groups, func(a, b GroupState) int { return strings.Compare(a.Name, b.Name) })
	return groups, nil
}

func toGroup(in elbv2types.TargetGroup) GroupState {
	return GroupState{
		Name:     aws.ToString(in.TargetGroupName),
		ARN:      aws.ToString(in.TargetGroupArn),
		Protocol: in.Protocol,
		Port:     aws.ToInt32(in.Port),
		Type:     in.TargetType,
		HealthCheck: HealthCheck{
			Protocol:           in.HealthCheckProtocol,
			Port:               aws.ToString(in.HealthCheckPort),
			Path:               aws.ToString(in.HealthCheckPath),
			Interval:           aws.ToInt32(in.HealthCheckIntervalSeconds),
			Timeout:            in.HealthCheckTimeoutSeconds,
			HealthyThreshold:   aws.ToInt32(in.HealthyThresholdCount),
			UnhealthyThreshold: aws.ToInt32(in.UnhealthyThresholdCount),
		},
	}
}

// listeners reads the listeners of the load balancer, by port.
func (r reader) listeners(ctx context.Context, balancer *LoadBalancer) error {
	pages := elbv2.NewDescribeListenersPaginator(r.api, &elbv2.DescribeListenersInput{
		LoadBalancerArn: &balancer.ARN, PageSize: aws.Int32(pageSize),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("describe listeners of %s: %w", r.query.Name, err)
		}
		for _, listener := range page.Listeners {
			balancer.Listeners = append(balancer.Listeners, toListener(listener))
		}
	}
	slices.SortFunc(balancer.Listeners, func(a, b ListenerState) int { return int(a.Port) - int(b.Port) })
	return nil
}

// attributes reads the attributes of the load balancer.
func (r reader) attributes(ctx context.Context, balancer *LoadBalancer) error {
	out, err := r.api.DescribeLoadBalancerAttributes(ctx,
		&elbv2.DescribeLoadBalancerAttributesInput{LoadBalancerArn: &balancer.ARN})
	if err != nil {
		return fmt.Errorf("describe attributes of %s: %w", r.query.Name, err)
	}
	balancer.Attributes = map[string]string{}
	for _, attribute := range out.Attributes {
		balancer.Attributes[aws.ToString(attribute.Key)] = aws.ToString(attribute.Value)
	}
	return nil
}

func toListener(in elbv2types.Listener) ListenerState {
	out := ListenerState{
		ARN:      aws.ToString(in.ListenerArn),
		Port:     aws.ToInt32(in.Port),
		Protocol: in.Protocol,
		Policy:   aws.ToString(in.SslPolicy),
	}
	if len(in.Certificates) > 0 {
		out.Certificate = aws.ToString(in.Certificates[0].CertificateArn)
	}
	if len(in.DefaultActions) == 1 && in.DefaultActions[0].Type == elbv2types.ActionTypeEnumForward {
		out.TargetGroup = forwardsTo(in.DefaultActions[0])
	}
	return out
}

// forwardsTo is the only target group of an action, empty if there are several.
func forwardsTo(action elbv2types.Action) string {
	if action.TargetGroupArn != nil {
		return *action.TargetGroupArn
	}
	if action.ForwardConfig != nil && len(action.ForwardConfig.TargetGroups) == 1 {
		return aws.ToString(action.ForwardConfig.TargetGroups[0].TargetGroupArn)
	}
	return ""
}

// contents reads what is in the target groups.
func (r reader) contents(ctx context.Context, groups []GroupState) error {
	for i := range groups {
		group := &groups[i]
		var err error
		if group.Targets, err = r.targets(ctx, *group); err != nil {
			return err
		}
		if !r.query.Attributes {
			continue
		}
		out, err := r.api.DescribeTargetGroupAttributes(ctx,
			&elbv2.DescribeTargetGroupAttributesInput{TargetGroupArn: &group.ARN})
		if err != nil {
			return fmt.Errorf("describe attributes of target group %s: %w", group.Name, err)
		}
		group.Attributes = map[string]string{}
		for _, attribute := range out.Attributes {
			group.Attributes[aws.ToString(attribute.Key)] = aws.ToString(attribute.Value)
		}
	}
	return nil
}

// targets reads the targets in a group that are not on their way out.
func (r reader) targets(ctx context.Context, group GroupState) ([]Target, error) {
	out, err := r.api.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group.ARN})
	if err != nil {
		return nil, fmt.Errorf("describe targets of %s: %w", group.Name, err)
	}
	var targets []Target
	for _, health := range out.TargetHealthDescriptions {
		leaving := health.TargetHealth != nil &&
			health.TargetHealth.Reason == elbv2types.TargetHealthReasonEnumDeregistrationInProgress
		if health.Target != nil && !leaving {
			target := Target{ID: aws.ToString(health.Target.Id), Port: group.Port}
			if health.Target.Port != nil {
				target.Port = *health.Target.Port
			}
			targets = append(targets, target)
		}
	}
	slices.SortFunc(targets, compareTargets)
	return targets, nil
}

// tell reads tags and leaves only those target groups that are the Service's, or
// that may be.
func (r reader) tell(ctx context.Context, balancer *LoadBalancer, groups []GroupState) ([]GroupState, error) {
	var arns []string
	if balancer != nil {
		arns = append(arns, balancer.ARN)
		for _, listener := range balancer.Listeners {
			arns = append(arns, listener.ARN)
		}
	}
	for _, group := range groups {
		arns = append(arns, group.ARN)
	}
	all, err := r.allTags(ctx, arns)
	if err != nil {
		return nil, err
	}
	if balancer != nil {
		balancer.Tags = all[balancer.ARN]
		for i := range balancer.Listeners {
			balancer.Listeners[i].Tags = all[balancer.Listeners[i].ARN]
		}
	}
	kept := groups[:0]
	for _, group := range groups {
		tags, there := all[group.ARN]
		group.Tags = tags
		group.Owned = r.owned(group)
		if all == nil || there && group.Owned {
			kept = append(kept, group)
		}
	}
	return kept, nil
}

// owned says whether a target group was made for the Service.
func (r reader) owned(group GroupState) bool {
	if group.Tags == nil {
		return group.Attached
	}
	name, named := group.Tags[cluster.ServiceNameTag]
	if named {
		return name == r.query.Service.String() && r.query.Cluster.Member(group.Tags)
	}
	return group.Attached && r.query.Cluster.Owns(group.Tags)
}
