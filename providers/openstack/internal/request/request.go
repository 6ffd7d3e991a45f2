package request

import (
	"net/netip"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/subnetpattern"
)

// Request is the validated request of a Service with its Nodes. It is deterministic:
// lists are in the order of the Service, or sorted. What depends on the provider of the
// load balancer is in Resolved.
type Request struct {
	Names Names
	// LoadBalancerID is the load balancer of the annotation, empty without it.
	LoadBalancerID string
	// Published is the address that an earlier sync wrote into the annotation, empty if
	// there was none: only then the Service never had a load balancer.
	Published string
	// Internal means that there is no floating IP.
	Internal bool
	// Family is the preferred one, empty without a preference.
	Family address.Family

	Ports         []Port
	VIP           VIP
	MemberSubnet  MemberSubnet
	FloatingIP    FloatingIP
	ClientRanges  ClientRanges
	TLS           *TLS
	ProxyProtocol features.Protocol
	// KeepsAffinity is sessionAffinity ClientIP: session persistence by source IP.
	KeepsAffinity bool
	// Method is the wanted algorithm, empty for the default of the provider.
	Method           string
	ConnectionLimit  int32
	Timeouts         Timeouts
	Monitor          *MonitorValues
	FlavorID         string
	AvailabilityZone string
	// HealthCheckNodePort is set if externalTrafficPolicy is Local, else 0. LocalTraffic
	// is that policy.
	HealthCheckNodePort int32
	LocalTraffic        bool
	// Hostname is published instead of the address. HostnameSuffix is added to the address
	// of load balancers with the PROXY protocol, unless it is empty.
	Hostname       string
	HostnameSuffix string
	// ManageSecurityGroups requests a security group for the members.
	ManageSecurityGroups bool

	// Members are the Nodes behind the load balancer, sorted by name.
	Members []Target
	// DetectFrom are the Nodes whose first has the subnet to detect: the members, or all
	// Nodes if no Node has the labels.
	DetectFrom []Target
}

// Port is a port of the load balancer.
type Port struct {
	// Index is the position in the Service, which is in the names of resources.
	Index int
	// Protocol is that of the Service.
	Protocol v1.Protocol
	// Number is the port of the listener.
	Number int32
	// NodePort is the port of the members, 0 if there are none.
	NodePort int32
	// Listener and Pool are the protocols.
	Listener, Pool features.Protocol
	// ForwardedFor adds the header X-Forwarded-For.
	ForwardedFor bool
	// TLS means that the listener has the certificate of the Request.
	TLS bool
}

// VIP defines the address of a new load balancer.
type VIP struct {
	// PortID is set without SubnetID and NetworkID.
	PortID, SubnetID, NetworkID string
	// Address is the wanted one, the zero Addr for any.
	Address netip.Addr
	// Detect means that the subnet is that of the first Node.
	Detect bool
}

// MemberSubnet is the subnet of the members. Without an ID, they have none, or the
// subnet of each Node if Detect is set.
type MemberSubnet struct {
	ID     string
	Detect bool
}

// FloatingIP defines the floating IP of an external load balancer.
type FloatingIP struct {
	// NetworkID is empty if the external network is to be found.
	NetworkID string
	// SubnetID is set without Subnets and Tags.
	SubnetID string
	// Subnets and Tags select the subnets to try one after the other. They have no effect
	// if there is an Address.
	Subnets subnetpattern.Name
	Tags    subnetpattern.Tags
	// Address is the wanted one, the zero Addr for any.
	Address netip.Addr
	// Keep detaches the floating IP instead of deleting it. It also counts for an internal
	// Service.
	Keep bool
	// Named means that a user wants one, rather than any external load balancer: a network is
	// set for it anywhere, an address, or a subnet by the Service itself or its class.
	Named bool
}

// SelectsSubnets reports whether a new floating IP needs one of the selected subnets.
func (f FloatingIP) SelectsSubnets() bool {
	return !f.Address.IsValid() && (!f.Subnets.IsZero() || !f.Tags.IsZero())
}

// ClientRanges are the ranges of clients.
type ClientRanges struct {
	// Wanted reports whether the user restricts clients.
	Wanted bool
	// Prefixes are sorted and without duplicates, empty if Wanted is false.
	Prefixes []netip.Prefix
}

// TLS is the certificate of listeners.
type TLS struct {
	Ref string
	// Container and Secret are the ID of a container or a secret of Barbican that must
	// exist. Both are empty if the certificates are kept elsewhere.
	Container, Secret string
}

// Timeouts are the timeouts of a listener, in milliseconds.
type Timeouts struct {
	ClientData, MemberConnect, MemberData, TCPInspect int32
}

// MonitorValues are the settings of health monitors. Times are in seconds.
type MonitorValues struct {
	Delay, Timeout, MaxRetries, MaxRetriesDown int32
}

// Target is a Node behind the load balancer.
type Target struct {
	Node    string
	Address netip.Addr
}
