package network

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	elbv2 "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// pageSize is the maximum size of a page.
const pageSize = 400

// Query defines what to look for.
type Query struct {
	Name    string
	Service types.NamespacedName
	Cluster cluster.ID
	VPC     string
	// Attributes enables reading the attributes of target groups, which are
	// rarely needed.
	Attributes bool
	// AttributesOptional skips attributes of target groups if the permission to
	// read them is missing.
	AttributesOptional bool
	// Brief skips what deletion does not need: listeners, attributes and
	// targets.
	Brief bool
	// Unknown is set if target groups may have been created that this process
	// has not stored: without a load balancer, they are listed for this very
	// call.
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
	o := &Observed{Name: q.Name, Service: q.Service, Cluster: q.Cluster, LoadBalancer: balancer, TargetGroups: groups}
	if q.Brief {
		return o, nil
	}

	return o, reader.contents(ctx, o)
}

// identify reads the load balancer of a name with its tags, without its parts.
func identify(ctx context.Context, api *snapshot.Snapshot, name string, id cluster.ID) (*Observed, error) {
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

// reader runs a query.
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
		out.Zones = append(out.Zones, aws.ToString(zone.ZoneName))
	}

	return out
}

// listeners reads the listeners of the load balancer, by port.
func (r reader) listeners(ctx context.Context, balancer *LoadBalancer) error {
	pages := elbv2.NewDescribeListenersPaginator(r.api, &elbv2.DescribeListenersInput{
		LoadBalancerArn: &balancer.ARN, PageSize: aws.Int32(pageSize),
	})
	listeners, err := client.All(ctx, pages, func(page *elbv2.DescribeListenersOutput) []elbv2types.Listener { return page.Listeners })
	if err != nil {
		return fmt.Errorf("describe listeners of %s: %w", r.query.Name, err)
	}
	balancer.Listeners = lists.Map(listeners, toListener)
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

// forwardsTo returns the only target group of an action, empty if there are
// several.
func forwardsTo(action elbv2types.Action) string {
	if action.TargetGroupArn != nil {
		return *action.TargetGroupArn
	}
	if action.ForwardConfig != nil && len(action.ForwardConfig.TargetGroups) == 1 {
		return aws.ToString(action.ForwardConfig.TargetGroups[0].TargetGroupArn)
	}

	return ""
}
