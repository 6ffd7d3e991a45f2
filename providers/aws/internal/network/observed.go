package network

import (
	"fmt"
	"slices"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Observed is the observed state of the network load balancer of a Service.
type Observed struct {
	Name    string
	Service types.NamespacedName
	Cluster cluster.ID
	// LoadBalancer has our name, but may not be ours. It is nil if there is
	// none.
	LoadBalancer *LoadBalancer
	// TargetGroups are the target groups of the Service, by name, used or not.
	TargetGroups []GroupState
	// AttributesDenied is set if the attributes of target groups are needed and
	// the permission to read them is missing.
	AttributesDenied bool
}

// LoadBalancer is a load balancer as AWS describes it. Fields that AWS did not
// return are empty.
type LoadBalancer struct {
	ARN            string
	DNSName        string
	Type           elbv2types.LoadBalancerTypeEnum
	Scheme         elbv2types.LoadBalancerSchemeEnum
	State          elbv2types.LoadBalancerStateEnum
	SecurityGroups []string
	Mappings       []Mapping
	Zones          []string
	Attributes     map[string]string
	// Tags are nil if they could not be read.
	Tags      map[string]string
	Listeners []ListenerState
}

// ListenerState is a listener as AWS describes it.
type ListenerState struct {
	ARN         string
	Port        int32
	Protocol    elbv2types.ProtocolEnum
	Certificate string
	Policy      string
	// TargetGroup is the ARN of the only one that the listener forwards to.
	TargetGroup string
	Tags        map[string]string
}

// GroupState is a target group as AWS describes it.
type GroupState struct {
	Name        string
	ARN         string
	Protocol    elbv2types.ProtocolEnum
	Port        int32
	Type        elbv2types.TargetTypeEnum
	HealthCheck HealthCheck
	// Attached reports whether our load balancer uses it.
	Attached bool
	// Owned reports whether it was created for this Service. It is false if
	// that could not be determined.
	Owned bool
	// Attributes are read only if they are needed.
	Attributes map[string]string
	// Tags are nil if they could not be read.
	Tags map[string]string
	// Targets are the targets that are not being deregistered, by ID and port.
	Targets []Target
}

// Target is an instance with the port on which it receives traffic.
type Target struct {
	ID   string
	Port int32
}

// String formats ID and port.
func (t Target) String() string { return fmt.Sprintf("%s:%d", t.ID, t.Port) }

// Left reports whether anything exists that was created for the Service.
func (o *Observed) Left() bool {
	return o.LoadBalancer != nil && o.NotOwned() == nil ||
		slices.ContainsFunc(o.TargetGroups, func(group GroupState) bool { return group.Owned })
}

// NotOwned returns why the load balancer with our name must not be changed: it
// belongs to another cluster, or is of another kind. Otherwise it is nil.
func (o *Observed) NotOwned() error {
	switch {
	case o.LoadBalancer == nil:
		return nil
	case o.LoadBalancer.Type != "" && o.LoadBalancer.Type != elbv2types.LoadBalancerTypeEnumNetwork:
		return apierr.Mark(apierr.ErrConflict,
			fmt.Errorf("the %s load balancer %s is in the way: it is no network load balancer", o.LoadBalancer.Type, o.Name))
	default:
		return o.Cluster.NotOwned("load balancer "+o.Name, o.LoadBalancer.Tags)
	}
}

// Hostname returns the hostname of the Service. It is empty if there is no load
// balancer of ours, or none that works.
func (o *Observed) Hostname() string {
	if o.LoadBalancer == nil || o.NotOwned() != nil || o.LoadBalancer.State == elbv2types.LoadBalancerStateEnumFailed {
		return ""
	}

	return o.LoadBalancer.DNSName
}

// Subnets returns the IDs of the subnets of the load balancer.
func (o *Observed) Subnets() []string {
	if o.LoadBalancer == nil {
		return nil
	}

	return plan.Sorted(lists.Map(o.LoadBalancer.Mappings, func(mapping Mapping) string { return mapping.Subnet }))
}

// SecurityGroups returns the IDs of the security groups of the load balancer.
func (o *Observed) SecurityGroups() []string {
	if o.LoadBalancer == nil {
		return nil
	}

	return o.LoadBalancer.SecurityGroups
}

// ServingPorts returns the ports of nodes that the load balancer sends traffic
// and health checks to, sorted. Nodes serve only the given ports for traffic.
func (o *Observed) ServingPorts(nodePorts []int32) []int32 {
	var ports []int32
	for _, group := range o.TargetGroups {
		if group.Attached && slices.Contains(nodePorts, group.Port) {
			probed := TargetGroup{Port: group.Port, HealthCheck: group.HealthCheck}.probed()
			ports = append(ports, group.Port, probed)
		}
	}

	return plan.Sorted(ports)
}
