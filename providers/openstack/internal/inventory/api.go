package inventory

import (
	"context"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// Compute makes the calls to Nova.
type Compute interface {
	ListServers(ctx context.Context) ([]*client.Server, error)
	ServersByName(ctx context.Context, name string) ([]*client.Server, error)
	GetServer(ctx context.Context, id string) (*client.Server, error)
	ServerActions(ctx context.Context, id string) ([]client.Action, error)
	ServerFlavorID(ctx context.Context, id string) (string, error)
	GetFlavor(ctx context.Context, id string) (*client.Flavor, error)
}

// Network makes the calls to Neutron.
type Network interface {
	ListPorts(ctx context.Context) ([]*client.Port, error)
	ServerPorts(ctx context.Context, ids []string) ([]*client.Port, error)
	PortsByID(ctx context.Context, ids []string) ([]*client.Port, error)
	NetworksByID(ctx context.Context, ids []string) ([]*client.NetworkInfo, error)
}

var (
	_ Compute = (*client.ComputeService)(nil)
	_ Network = (*client.NetworkService)(nil)
)

// API is what an inventory reads from.
type API struct {
	Compute Compute
	Network Network
	// Project returns the ID of the project that all logins lead to.
	Project func(ctx context.Context) (string, error)
}

// Server is what is needed of a server. It is not changed once it is returned.
type Server struct {
	certainty.Row
	// Zone is the availability zone, empty before the server is scheduled.
	Zone string
	// FlavorName is that of the flavor when the server was made, from microversion
	// 2.47. FlavorID is its ID, before.
	FlavorName, FlavorID string
	// AccessIPv4 and AccessIPv6 are addresses that a user has set.
	AccessIPv4, AccessIPv6 string
	// Hostname is the metadata of that name, which a user has set.
	Hostname string
	// Addresses are those that Nova reports, by the name of the network, in its order.
	Addresses map[string][]Address

	// At is when the request began that read the server.
	At time.Time
	// Alone is whether it was read by a request of its own, for its ID or its name.
	Alone bool
}

// State returns the power state.
func (s *Server) State() instance.State { return certainty.Power(s.Status, s.Alone) }

// Address is an address of a server. Type is OS-EXT-IPS:type: fixed or floating.
type Address struct{ IP, Type string }

// IsFloating reports whether an address is a floating IP.
func (a Address) IsFloating() bool { return a.Type == "floating" }

// hostnameKey is the metadata of a server that is the hostname of its Node.
const hostnameKey = "hostname"

// newServer returns what is needed of a server that a request read, which began at a
// moment.
func newServer(s *client.Server, at time.Time, alone bool) *Server {
	server := &Server{
		Row:        rowOf(s),
		Zone:       s.Zone,
		FlavorName: s.Flavor.OriginalName,
		FlavorID:   s.Flavor.ID,
		AccessIPv4: s.AccessIPv4,
		AccessIPv6: s.AccessIPv6,
		Hostname:   s.Metadata[hostnameKey],
		Addresses:  make(map[string][]Address, len(s.Addresses)),
		At:         at,
		Alone:      alone,
	}
	for network, addresses := range s.Addresses {
		for _, a := range addresses {
			server.Addresses[network] = append(server.Addresses[network], Address{IP: a.Address, Type: a.Type})
		}
	}

	return server
}

func rowOf(s *client.Server) certainty.Row {
	return certainty.Row{ID: strings.ToLower(s.ID), Name: s.Name, Status: s.Status, Project: s.ProjectID}
}

// Port is a port of a server. It is not changed once it is returned.
type Port struct {
	Status string
	// FixedIPs are the addresses in their order.
	FixedIPs []string
	// Subports are those of the trunk whose parent the port is, in its order.
	Subports []Subport
}

// Subport is a port of a trunk.
type Subport struct {
	// Network is the name of the network, empty if that is not visible.
	Network  string
	FixedIPs []string
}

func fixedIPs(p *client.Port) []string {
	ips := make([]string, len(p.FixedIPs))
	for i, ip := range p.FixedIPs {
		ips[i] = ip.Address
	}

	return ips
}
