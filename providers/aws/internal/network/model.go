package network

import (
	"strconv"
	"strings"

	elbv2types "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/cluster"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
)

// Model is the network load balancer that a Service is to have.
type Model struct {
	Name     string
	Service  types.NamespacedName
	Cluster  cluster.ID
	VPC      string
	Internal bool
	// Mappings are where the load balancer is made. They are of no use once it
	// is there.
	Mappings []Mapping
	// Annotated reports which of the settings that cannot be changed later an
	// annotation sets.
	Annotated Annotated
	// SecurityGroups are those to have, the primary one first. Nil leaves those
	// of an existing load balancer alone.
	SecurityGroups []plan.Ref
	// Tags are on the load balancer, its listeners and its target groups.
	Tags map[string]string
	// Attributes are those of the load balancer that count.
	Attributes map[string]string
	// Listeners are in the order of the Service ports.
	Listeners []Listener
	// Targets are the IDs of the instances behind all listeners, sorted. Resting
	// are those that are not to be registered now, but that stay if they are: see
	// request.Instances.
	Targets, Resting []string
}

// Mapping is the place of the load balancer in one zone.
type Mapping struct {
	Subnet string
	// Allocation is an elastic IP address, PrivateIPv4 an address of the
	// subnet; mostly AWS chooses.
	Allocation  string
	PrivateIPv4 string
}

// Annotated is what annotations set.
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

// TargetGroup is where a listener forwards to.
type TargetGroup struct {
	// Name is made of what cannot be changed about a target group. Spare is for
	// when another target group has that name, which can be neither kept nor
	// removed first.
	Name, Spare string
	Protocol    elbv2types.ProtocolEnum
	// Port is the node port.
	Port        int32
	HealthCheck HealthCheck
	// Attributes are those that an annotation sets.
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
	// Timeout is nil for that of AWS, or for whatever it is.
	Timeout            *int32
	HealthyThreshold   int32
	UnhealthyThreshold int32
}

// NodePorts are the ports that nodes get traffic on, sorted.
func (m *Model) NodePorts() []int32 {
	ports := make([]int32, 0, len(m.Listeners))
	for _, listener := range m.Listeners {
		ports = append(ports, listener.TargetGroup.Port)
	}
	return plan.Sorted(ports)
}

// HealthCheckPorts are the ports that nodes are probed on, sorted.
func (m *Model) HealthCheckPorts() []int32 {
	ports := make([]int32, 0, len(m.Listeners))
	for _, listener := range m.Listeners {
		ports = append(ports, listener.TargetGroup.probed())
	}
	return plan.Sorted(ports)
}

// probed is the port that the health check goes to.
func (g TargetGroup) probed() int32 {
	if port, err := strconv.ParseInt(g.HealthCheck.Port, 10, 32); err == nil {
		return int32(port)
	}
	return g.Port
}

// Subnets are the IDs of the subnets that the load balancer is made in.
func (m *Model) Subnets() []string {
	ids := make([]string, 0, len(m.Mappings))
	for _, mapping := range m.Mappings {
		ids = append(ids, mapping.Subnet)
	}
	return ids
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
