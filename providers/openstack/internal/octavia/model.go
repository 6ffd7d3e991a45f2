package octavia

import (
	"fmt"
	"net/netip"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// Desired is a load balancer as a Service wants it. It is not changed once it is built.
type Desired struct {
	Names request.Names
	// Owner means that the load balancer was made for the Service, or is new.
	Owner bool
	// Serial means that each member is written alone.
	Serial bool
	// Keep are the addresses of members that stay although they are not wanted: they may be
	// those of Nodes that are not initialized yet.
	Keep     sets.Set[netip.Addr]
	Features features.Features
	// Repaired are pools that were repaired: one that is still in ERROR is replaced.
	Repaired sets.Set[string]
	// Refused are the members that Octavia has refused lately: they are not added.
	Refused change.RefusedMembers
	// LoadBalancer has the settings that count at the creation only.
	LoadBalancer LoadBalancer
	Ports        []Port
}

// LoadBalancer are the settings of a new load balancer. What is empty is not sent.
type LoadBalancer struct {
	Name, Description        string
	Provider, FlavorID, Zone string
	VIP                      request.VIP
	Tags                     []string
}

// Port is a port of the Service.
type Port struct {
	Listener DesiredListener
	Pool     DesiredPool
}

// DesiredListener is a wanted listener.
type DesiredListener struct {
	Name     string
	Protocol features.Protocol
	Number   int32
	// ConnectionLimit is -1 for none.
	ConnectionLimit int32
	// ForwardedFor is whether the header X-Forwarded-For is inserted.
	ForwardedFor bool
	// TLSRef is empty without TLS.
	TLSRef string
	// AllowedCIDRs are nil if they are not sent, and then not compared.
	AllowedCIDRs []netip.Prefix
	// Timeouts are nil if they are not sent, and then not compared.
	Timeouts *request.Timeouts
	// Tags are those that the listener must have. Others stay.
	Tags []string
}

// DesiredPool is a wanted pool.
type DesiredPool struct {
	Name      string
	Protocol  features.Protocol
	Algorithm string
	// KeepsAffinity binds clients to members by their address.
	KeepsAffinity bool
	// Tags are those of a new pool.
	Tags []string
	// Members are sorted by the name of the Node. No two have the same address.
	Members []DesiredMember
	// Monitor is nil without a health monitor.
	Monitor *DesiredMonitor
}

// DesiredMember is a wanted member.
type DesiredMember struct {
	Name    string
	Address netip.Addr
	Port    int32
	// MonitorPort is 0 if health checks go to Port.
	MonitorPort int32
	// SubnetID is empty if it is not sent.
	SubnetID string
}

// DesiredMonitor is a wanted health monitor.
type DesiredMonitor struct {
	Name string
	Tags []string
	request.Monitor
}

// portKey identifies a listener: Octavia permits one for each port of a transport
// protocol.
type portKey struct {
	transport v1.Protocol
	number    int
}

// String is the key as in TCP/80.
func (k portKey) String() string { return fmt.Sprintf("%s/%d", k.transport, k.number) }

func (p Port) key() portKey {
	return portKey{features.Transport(p.Listener.Protocol), int(p.Listener.Number)}
}
