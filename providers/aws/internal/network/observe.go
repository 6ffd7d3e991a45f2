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
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// pageSize is the most that one page holds.
const pageSize = 400

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
	// Unknown is set if target groups may have been created that this process does
	// not know of: without a load balancer, they are listed for this very call.
	Unknown bool
}

// Observe reads the load balancer of a Service, and all target groups that were
// created for it. It changes nothing.
func Observe(ctx context.Context, api *snapshot.Snapshot, q Query) (*Observed, error) {
	reader := reader{api: api, query: q}
	found, err := api.LoadBalancer(ctx, q.Name)
	if err != nil {
		return nil, err
	}
	var balancer *LoadBalancer
	if found != nil {
		balancer = toLoadBalancer(*found)
	}
	groups, err := reader.targetGroups(ctx, balancer)
	if err != nil {
		return nil, err
	}
	if balancer != nil && !q.Brief {
		if err := reader.listeners(ctx, balancer); err != nil {
			return nil, err
		}
		if balancer.Attributes, err = api.Attributes(ctx, balancer.ARN); err != nil {
			return nil, err
		}
	}
	if groups, err = reader.readTags(ctx, balancer, groups); err != nil {
		return nil, err
	}
	if !q.Brief {
		if groups, err = reader.contents(ctx, groups); err != nil {
			return nil, err
		}
	}
	return &Observed{
		Name: q.Name, Service: q.Service, Cluster: q.Cluster,
		LoadBalancer: balancer, TargetGroups: groups,
	}, nil
}

// Identify reads the load balancer of a name with its tags, and nothing of
// what belongs to it.
func Identify(ctx context.Context, api *snapshot.Snapshot, name string, id cluster.ID) (*Observed, error) {
	o := &Observed{Name: name, Cluster: id}
	found, err := api.LoadBalancer(ctx, name)
	if err != nil || found == nil {
		return o, err
	}
	o.LoadBalancer = toLoadBalancer(*found)
	tags, err := api.Tags(ctx, []string{o.LoadBalancer.ARN})
	o.LoadBalancer.Tags = tags[o.LoadBalancer.ARN]
	return o, err
}

// reader reads what a query asks for.
type reader struct {
	api   *snapshot.Snapshot
	query Query
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

// targetGroups returns the target groups that can be those of the Service: those
// that the load balancer uses, and those that no other one uses and that are named
// like them.
func (r reader) targetGroups(ctx context.Context, balancer *LoadBalancer) ([]GroupState, error) {
	var groups []GroupState
	used := map[string]bool{}
	if balancer != nil {
		list, err := r.api.TargetGroupsOf(ctx, balancer.ARN)
		if err != nil {
			return nil, err
		}
		for _, in := range list {
			group := toGroup(in)
			group.Attached, used[group.ARN] = true, true
			groups = append(groups, group)
		}
	}
	named, err := r.api.TargetGroupsNamed(ctx, request.NamePrefix(r.query.Service), balancer == nil && r.query.Unknown)
	if err != nil {
		return nil, err
	}
	for _, in := range named {
		if group := toGroup(in); !used[group.ARN] && r.unused(in) {
			groups = append(groups, group)
		}
	}
	slices.SortFunc(groups, func(a, b GroupState) int { return strings.Compare(a.Name, b.Name) })
	return groups, nil
}

// unused reports whether no other load balancer uses a target group in the VPC.
func (r reader) unused(group elbv2types.TargetGroup) bool {
	other := func(balancer string) bool { return snapshot.NameOf(balancer) != r.query.Name }
	return !slices.ContainsFunc(group.LoadBalancerArns, other) &&
		(r.query.VPC == "" || aws.ToString(group.VpcId) == r.query.VPC)
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

// contents reads what is in the target groups. One that is gone meanwhile, and
// that no listener uses, is left out.
func (r reader) contents(ctx context.Context, groups []GroupState) ([]GroupState, error) {
	kept := groups[:0]
	for _, group := range groups {
		err := r.content(ctx, &group)
		if errors.Is(err, apierr.ErrNotFound) && !group.Attached {
			continue
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, group)
	}
	return kept, nil
}

func (r reader) content(ctx context.Context, group *GroupState) error {
	var err error
	if group.Targets, err = ObserveTargets(ctx, r.api, *group); err != nil || !r.query.Attributes {
		return err
	}
	group.Attributes, err = r.api.TargetGroupAttributes(ctx, group.ARN)
	return err
}

// ObserveTargets reads the targets in a group that are not being deregistered.
func ObserveTargets(ctx context.Context, api client.NetworkReads, group GroupState) ([]Target, error) {
	out, err := api.DescribeTargetHealth(ctx, &elbv2.DescribeTargetHealthInput{TargetGroupArn: &group.ARN})
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

// readTags reads tags, and leaves only those target groups that are the
// Service's, or that may be. What belongs to the load balancer has its tags: they
// are written together, those of the load balancer last.
func (r reader) readTags(ctx context.Context, balancer *LoadBalancer, groups []GroupState) ([]GroupState, error) {
	prefix := request.NamePrefix(r.query.Service)
	part := func(group GroupState) bool { return group.Attached && strings.HasPrefix(group.Name, prefix) }
	var arns []string
	if balancer != nil {
		arns = append(arns, balancer.ARN)
	}
	for _, group := range groups {
		if !part(group) {
			arns = append(arns, group.ARN)
		}
	}
	all, err := r.api.Tags(ctx, arns)
	if err != nil {
		return nil, err
	}
	if balancer != nil {
		balancer.Tags = all[balancer.ARN]
		for i := range balancer.Listeners {
			balancer.Listeners[i].Tags = balancer.Tags
		}
	}
	kept := groups[:0]
	for _, group := range groups {
		tags, found := all[group.ARN]
		if part(group) {
			tags, found = balancer.Tags, true
		}
		group.Tags = tags
		group.Owned = r.owned(group)
		if all == nil || found && group.Owned {
			kept = append(kept, group)
		}
	}
	return kept, nil
}

// owned reports whether a target group was created for the Service. If its tags
// cannot be read, the load balancer that uses it or did so tells, or its name.
func (r reader) owned(group GroupState) bool {
	if group.Tags == nil {
		return group.Attached || r.api.LastUser(group.ARN) == r.query.Name || madeFor(r.query.Cluster, r.query.Service, group)
	}
	name, named := group.Tags[cluster.ServiceNameTag]
	if named {
		return name == r.query.Service.String() && r.query.Cluster.Member(group.Tags)
	}
	return group.Attached && r.query.Cluster.Owns(group.Tags)
}
