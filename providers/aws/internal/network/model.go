package network

import (
	"strconv"
	"strings"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Model is the desired network load balancer of a Service.
type Model struct {
	Name     string
	Service  types.NamespacedName
	Cluster  cluster.ID
	VPC      string
	Internal bool
	// Mappings are the subnets and addresses of a new load balancer. They have
	// no effect on an existing one.
	Mappings []Mapping
	// Annotated reports which of the immutable settings are set by an
	// annotation.
	Annotated Annotated
	// SecurityGroups are the desired groups, the primary one first. Nil does
	// not change the ones of an existing load balancer.
	SecurityGroups []plan.Ref
	// Tags are on the load balancer, its listeners and its target groups.
	Tags map[string]string
	// Attributes are the attributes of the load balancer that count.
	Attributes map[string]string
	// Listeners are in the order of the Service ports.
	Listeners []Listener
	// Full means that AWS has not accepted new listeners beside others: those that are not wanted are
	// deleted first.
	Full bool
	// Targets are the IDs of the instances behind all listeners, sorted.
	// Resting are instances that must not be registered now, but that stay if
	// they are registered: see request.Instances.
	Targets, Resting []string
}

// Mapping is the subnet of the load balancer in one zone.
type Mapping struct {
	Subnet string
	// Allocation is an elastic IP address, PrivateIPv4 an address of the
	// subnet; usually AWS chooses.
	Allocation  string
	PrivateIPv4 string
}

// Annotated reports which settings have an annotation.
type Annotated struct {
	Subnets, EIPAllocations, PrivateIPv4Addresses, SecurityGroups bool
}

// Listener is a front port, and the target group that it forwards to.
type Listener struct {
	Port     int32
	Protocol elbv2types.ProtocolEnum
	// Certificate is for TLS alone.
	Certificate string
	// Policy is the security policy for TLS, empty for any.
	Policy      string
	TargetGroup TargetGroup
}

// Transport is the protocol of the packets: "tcp" or "udp".
func (l Listener) Transport() string {
	if l.Protocol == elbv2types.ProtocolEnumUdp {
		return "udp"
	}

	return "tcp"
}

// TargetGroup is the target group of a listener.
type TargetGroup struct {
	// Name is derived from the immutable settings of a target group. Spare is
	// used when another target group has that name, which can be neither kept
	// nor removed first.
	Name, Spare string
	Protocol    elbv2types.ProtocolEnum
	// Port is the node port.
	Port        int32
	HealthCheck HealthCheck
	// Attributes are the annotated attributes.
	Attributes map[string]string
}

// HealthCheck defines how targets are probed; times are seconds.
type HealthCheck struct {
	Protocol elbv2types.ProtocolEnum
	// Port is a number, or request.TrafficPort.
	Port string
	// Path is empty unless the protocol is HTTP or HTTPS.
	Path     string
	Interval int32
	// Timeout is nil for the default of AWS, or for any value.
	Timeout            *int32
	HealthyThreshold   int32
	UnhealthyThreshold int32
}

// NodePorts returns the ports on which nodes receive traffic, sorted.
func (m *Model) NodePorts() []int32 {
	return plan.Sorted(lists.Map(m.Listeners, func(listener Listener) int32 { return listener.TargetGroup.Port }))
}

// HealthCheckPorts returns the ports on which nodes are probed, sorted.
func (m *Model) HealthCheckPorts() []int32 {
	return plan.Sorted(lists.Map(m.Listeners, func(listener Listener) int32 { return listener.TargetGroup.probed() }))
}

// probed returns the port of the health check.
func (g TargetGroup) probed() int32 {
	if port, err := strconv.ParseInt(g.HealthCheck.Port, 10, 32); err == nil {
		return int32(port)
	}

	return g.Port
}

// http reports whether the probe requests a path.
func (h HealthCheck) http() bool {
	return h.Protocol == elbv2types.ProtocolEnumHttp || h.Protocol == elbv2types.ProtocolEnumHttps
}

// String describes the health check in a few words.
func (h HealthCheck) String() string {
	var text strings.Builder
	text.WriteString(string(h.Protocol) + ":" + h.Port + h.Path)
	text.WriteString(" every " + strconv.Itoa(int(h.Interval)) + "s")
	if h.Timeout != nil {
		text.WriteString(" within " + strconv.Itoa(int(*h.Timeout)) + "s")
	}
	text.WriteString(" " + strconv.Itoa(int(h.HealthyThreshold)) + "/" + strconv.Itoa(int(h.UnhealthyThreshold)))

	return text.String()
}
