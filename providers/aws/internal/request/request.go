package request

import (
	"maps"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/vpc"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
)

// Kind is the kind of a load balancer.
type Kind string

// The kinds of load balancers.
const (
	Classic Kind = "classic"
	Network Kind = "network"
	// Unmanaged is a load balancer of another controller.
	Unmanaged Kind = "unmanaged"
)

// Config is the part of the cloud-config that load balancers depend on.
type Config struct {
	Cluster cluster.ID
	// ClusterName is the flag --cluster-name.
	ClusterName string
	VPC         string
	// LeaveNodeSecurityGroups is DisableSecurityGroupIngress.
	LeaveNodeSecurityGroups bool
	// ClassicSecurityGroup is ElbSecurityGroup.
	ClassicSecurityGroup string
	// ManagedNetworkGroups is NLBSecurityGroupMode = Managed.
	ManagedNetworkGroups bool
	// SharedProbe is ClusterServiceLoadBalancerHealthProbeMode = Shared, with
	// port and path as they count.
	SharedProbe     bool
	SharedProbePort int32
	SharedProbePath string
	// BadNetworkSetting is what is wrong with the settings for network load
	// balancers; a Service that needs one gets it as an error.
	BadNetworkSetting error
}

// Request is what a Service and its Nodes ask for, checked. It is the same for
// the same input: lists are in the order of the Service, or sorted.
type Request struct {
	Service types.NamespacedName
	UID     types.UID
	// Name is that of the load balancer, in either API.
	Name     string
	Kind     Kind
	Internal bool
	// Ports are those that can be served, in the order of the Service.
	Ports []service.Port
	// SourceRanges are sorted and without repetition.
	SourceRanges []netip.Prefix
	// LocalTraffic is externalTrafficPolicy Local, with its health check port.
	LocalTraffic        bool
	HealthCheckNodePort int32

	// Subnets are the IDs and names of the annotation, nil without it.
	Subnets []string
	// Tags are the additional ones of the annotation.
	Tags map[string]string
	// SecurityGroups and ExtraSecurityGroups are those of the annotations.
	SecurityGroups      []string
	ExtraSecurityGroups []string

	TLS             TLS
	BackendProtocol string
	// ProxyProtocol is for all backends of a classic load balancer.
	ProxyProtocol bool
	HealthCheck   HealthCheck
	Attributes    Attributes
	// TargetGroupAttributes are those of the annotation.
	TargetGroupAttributes map[string]string
	// EIPAllocations and PrivateIPv4Addresses go with the subnets, by position.
	EIPAllocations       []string
	PrivateIPv4Addresses []string

	// Targets are the Nodes behind the load balancer, by instance ID.
	Targets []Target
}

// AllTags are the additional tags, and over them those of the owner.
func (r *Request) AllTags(id cluster.ID) map[string]string {
	all := map[string]string{}
	maps.Copy(all, r.Tags)
	maps.Copy(all, id.Tags())
	all[cluster.ServiceNameTag] = r.Service.String()
	return all
}

// TLS is which ports have TLS, and how.
type TLS struct {
	// Certificate is an ARN; without one there is no TLS.
	Certificate string
	// Policy is the name of a security policy, empty for that of AWS.
	Policy string
	// Ports are numbers and names; empty means all.
	Ports []string
}

// Selects reports whether a port is to have TLS.
func (t TLS) Selects(p service.Port) bool { return t.Certificate != "" && t.selects(p) }

// HealthCheck is the health check of the annotations. A nil field is not
// annotated.
type HealthCheck struct {
	Protocol *string
	// Port is a number, or "traffic-port".
	Port               *string
	Path               *string
	Interval           *int32
	Timeout            *int32
	HealthyThreshold   *int32
	UnhealthyThreshold *int32
}

// Attributes are those of the load balancer. A nil field is not annotated.
type Attributes struct {
	AccessLogEnabled      *bool
	AccessLogEmitInterval *int32
	AccessLogBucket       *string
	AccessLogPrefix       *string
	DrainingEnabled       *bool
	DrainingTimeout       *int32
	IdleTimeout           *int32
	CrossZone             *bool
}

// Target is a Node behind the load balancer.
type Target struct {
	NodeName   string
	InstanceID string
}

// Facts are what a model depends on beside the Request: what was read from AWS,
// and what was chosen from it.
type Facts struct {
	Config Config
	// Subnets are those chosen for the load balancer, in order.
	Subnets []vpc.Subnet
	// SecurityGroups are those that the load balancer is to have, the primary
	// one first. Nil leaves those of an existing network load balancer alone.
	SecurityGroups []plan.Ref
	// Targets are the instances of Request.Targets that can be registered, by
	// ID.
	Targets map[string]*inventory.Instance
	// Unknown are the IDs of instances of Request.Targets that EC2 does not return,
	// sorted.
	Unknown []string
}
