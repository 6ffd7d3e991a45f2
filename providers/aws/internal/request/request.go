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
	// Region is the region of the load balancers; empty if it does not matter.
	Region string
	VPC    string
	// LeaveNodeSecurityGroups is DisableSecurityGroupIngress.
	LeaveNodeSecurityGroups bool
	// ClassicSecurityGroup is ElbSecurityGroup.
	ClassicSecurityGroup string
	// ManagedNetworkGroups is NLBSecurityGroupMode = Managed.
	ManagedNetworkGroups bool
	// SharedProbe is ClusterServiceLoadBalancerHealthProbeMode = Shared, with
	// the effective port and path.
	SharedProbe     bool
	SharedProbePort int32
	SharedProbePath string
	// MaxTargets is [LoadBalancer] max-targets, nil if it is not set.
	MaxTargets *int32
	// BadNetworkSetting is the error in the settings for network load
	// balancers; a Service that requests one gets this error.
	BadNetworkSetting error
}

// Request is the validated request of a Service with its Nodes. It is
// deterministic: lists are in the order of the Service, or sorted.
type Request struct {
	Service types.NamespacedName
	UID     types.UID
	// Name is the name of the load balancer, in either API.
	Name     string
	Kind     Kind
	Internal bool
	// Ports are the ports that can be served, in the order of the Service.
	Ports []service.Port
	// SourceRanges are sorted and without duplicates.
	SourceRanges []netip.Prefix
	// LocalTraffic is externalTrafficPolicy Local, with its health check port.
	LocalTraffic        bool
	HealthCheckNodePort int32

	// Subnets are the IDs and names in the annotation, nil without it.
	Subnets []string
	// Tags are the additional tags of the annotation.
	Tags map[string]string
	// SecurityGroups and ExtraSecurityGroups are the groups of the annotations.
	SecurityGroups      []string
	ExtraSecurityGroups []string

	TLS             TLS
	BackendProtocol string
	// ProxyProtocol is for all backends of a classic load balancer.
	ProxyProtocol bool
	HealthCheck   HealthCheck
	Attributes    Attributes
	// TargetGroupAttributes are the attributes of the annotation.
	TargetGroupAttributes map[string]string
	// EIPAllocations and PrivateIPv4Addresses correspond to the subnets, by
	// position.
	EIPAllocations       []string
	PrivateIPv4Addresses []string

	// Targets are the Nodes behind the load balancer, by instance ID.
	Targets []Target
}

// AllTags returns the additional tags and the ownership tags, which take
// precedence.
func (r *Request) AllTags(id cluster.ID) map[string]string {
	all := map[string]string{}
	maps.Copy(all, r.Tags)
	maps.Copy(all, id.Tags())
	all[cluster.ServiceNameTag] = r.Service.String()

	return all
}

// TLS selects the ports with TLS, and its settings.
type TLS struct {
	// Certificate is an ARN; without one there is no TLS.
	Certificate string
	// Policy is the name of a security policy, empty for the default of AWS.
	Policy string
	// Ports are numbers and names; empty means all.
	Ports []string
}

// Selects reports whether a port uses TLS.
func (t TLS) Selects(p service.Port) bool { return t.Certificate != "" && t.selects(p) }

// HealthCheck contains the annotations of the health check. A nil field has no
// annotation.
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

// Attributes are the annotated attributes of the load balancer. A nil field has
// no annotation.
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

// Facts are the inputs of a model beside the Request: what was read from AWS,
// and what was chosen from it.
type Facts struct {
	Config Config
	// Subnets are those chosen for the load balancer, in order.
	Subnets []vpc.Subnet
	// SecurityGroups are the desired groups of the load balancer, the primary
	// one first. Nil does not change those of an existing network load
	// balancer.
	SecurityGroups []plan.Ref
	// Targets are the instances of Request.Targets that can be registered, by
	// ID.
	Targets map[string]*inventory.Instance
	// Unknown are the IDs of instances of Request.Targets that EC2 does not return,
	// sorted.
	Unknown []string
	// LongUnknown are those of them that EC2 has not returned for long.
	LongUnknown []string
	// Choose returns which of these Nodes are targets. Nil chooses all.
	Choose func(nodes []Target) []Target
}

// Foreign reports whether an instance has the tag of another cluster, and not of this
// one. It gets nothing new, and keeps what it has.
func (f Facts) Foreign(instance *inventory.Instance) bool {
	return f.Config.Cluster.Foreign(instance.Tags)
}
