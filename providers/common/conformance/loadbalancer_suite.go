package conformance

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// LoadBalancerSuite is what a provider brings for its load balancers: the test
// cloud and what it declares. A provider with several kinds of load balancer
// runs the suite once for each, with the Annotations that choose the kind.
type LoadBalancerSuite struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// NewCloud makes a test cloud without instances, which ends with the test.
	NewCloud func(t testing.TB) LoadBalancerCloud
	// Malformed are providerIDs that the provider must refuse. At least one is
	// needed.
	Malformed []string

	// Annotations are on every Service.
	Annotations map[string]string
	// Internal are the annotations that make a load balancer internal, besides
	// Annotations. None means that there are no internal ones.
	Internal map[string]string
	// Edited are annotations that a user may put in the place of Annotations on
	// a Service whose load balancer exists. Deleting must leave nothing then.
	Edited []map[string]string
	// Refused are annotations, besides Annotations, of which each makes the
	// Service one that the provider cannot serve.
	Refused []map[string]string
	// Elsewhere are annotations, in the place of Annotations, of which each
	// leaves the Service to another controller.
	Elsewhere []map[string]string
	// Protocols are those that can be balanced. The default is TCP alone; it
	// must be among them.
	Protocols []v1.Protocol

	// Without declares what this cloud does not have.
	Without LoadBalancerCapabilities
	// Budget limits the number of cloud calls.
	Budget LoadBalancerBudget
	// Timeout, Patience and Serial are as in Suite. Timeout is for the longest
	// of the calls that make, change or remove a load balancer.
	Timeout  time.Duration
	Patience time.Duration
	Serial   bool
	// Points limits how many calls of a piece of work are disturbed in each way,
	// spread over all of them. 0 disturbs every one.
	Points int

	rehearsals *rehearsals
}

// LoadBalancerCapabilities are the parts of the suite that not every cloud can
// take. What is set in LoadBalancerSuite.Without is left out. A Service that
// asks for it must be refused then, where the line says so.
type LoadBalancerCapabilities struct {
	// MixedProtocols: one Service can have ports of several protocols. Refused.
	MixedProtocols bool
	// Affinity: clients can be kept at their node. Refused.
	Affinity bool
	// RequestedIP: spec.loadBalancerIP can be served. Refused.
	RequestedIP bool
	// SourceRanges: clients can be restricted.
	SourceRanges bool
	// LocalTraffic: the healthCheckNodePort of a Service with
	// externalTrafficPolicy Local is asked for the health of its nodes.
	LocalTraffic bool
	// ColdStart: the provider can be connected while the cloud is broken.
	ColdStart bool
	// Throttling: the cloud may ask for fewer calls.
	Throttling bool
	// Disturbance: the test cloud can disturb single calls.
	Disturbance bool
}

// LoadBalancerBudget is how many cloud calls the provider may make.
type LoadBalancerBudget struct {
	// Services is how many there are in a resync; the default is 100.
	Services int
	// Create limits the calls for a Service with two ports and three nodes,
	// when another is served already.
	Create int
	// Resync limits the calls for each Service of an unchanged resync. Writes
	// are never allowed there.
	Resync int
}

// LoadBalancerCloud is a test cloud with load balancers.
type LoadBalancerCloud interface {
	MutableCloud

	// LoadBalancers are all that exist, made by users as well, but those that are
	// planted.
	LoadBalancers() []LoadBalancer
	// Reach gives the providerIDs of the instances that get the traffic which a
	// client at this address sends to a port of a load balancer: its targets,
	// without those whose firewall keeps out the traffic or the health check.
	// Whether an instance is running does not matter.
	Reach(t testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string
	// Remove removes a load balancer as a user might do behind the provider's
	// back: what belongs to it stays, as far as the cloud lets it stay.
	Remove(t testing.TB, name string)
	// Plant makes things that are none of the provider's business but look as
	// if they were: load balancers, groups, rules and whatever else there is,
	// of users and of other clusters, named as closely to those of the Service
	// as the cloud allows, and rules on the instances themselves. They are no
	// Leftovers. The function describes them, or what is left of them, as they
	// are now.
	Plant(t testing.TB, service *v1.Service) (describe func() []string)
}

// ServiceStore is a test cloud whose provider writes into Services.
type ServiceStore interface {
	// Store makes the Service known to the Kubernetes API of a cluster, as it is
	// now, and gives it as it is there: with what the cluster's providers have
	// written into the Service of this UID.
	Store(t testing.TB, cluster string, service *v1.Service) *v1.Service
}

// LoadBalancer is a load balancer as clients see it.
type LoadBalancer struct {
	// Name is what GetLoadBalancerName says.
	Name string
	// Address is the host name or IP address that the status tells.
	Address string
	// Internal says that it cannot be reached from outside.
	Internal bool
	// Affinity says that a client stays at its node.
	Affinity bool
	// Listeners are its ports, in any order.
	Listeners []Listener
}

// Listener is a port of a load balancer.
type Listener struct {
	Protocol v1.Protocol
	Port     int32
	// HealthPort is the port at which all targets are asked for their health
	// with HTTP. It is 0 if their own port is asked or none.
	HealthPort int32
	// Targets get the traffic, in any order.
	Targets []Target
}

// Target is where a listener sends traffic to.
type Target struct {
	// ProviderID is the canonical one of the instance; an address that no
	// instance has stands for itself.
	ProviderID string
	Port       int32
}

// defaultServices is how many Services are in a resync.
const defaultServices = 100

// prepare checks the suite and fills in what is not set.
func (s LoadBalancerSuite) prepare() (LoadBalancerSuite, error) {
	switch {
	case s.Provider == "":
		return s, fmt.Errorf("set LoadBalancerSuite.Provider")
	case s.NewCloud == nil:
		return s, fmt.Errorf("set LoadBalancerSuite.NewCloud")
	case len(s.Malformed) == 0:
		return s, fmt.Errorf("set LoadBalancerSuite.Malformed")
	case s.Budget.Create == 0 || s.Budget.Resync == 0:
		return s, fmt.Errorf("set LoadBalancerSuite.Budget")
	case len(s.Protocols) == 0:
		s.Protocols = []v1.Protocol{v1.ProtocolTCP}
	case !slices.Contains(s.Protocols, v1.ProtocolTCP):
		return s, fmt.Errorf("put TCP into LoadBalancerSuite.Protocols")
	}
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	if s.Patience == 0 {
		s.Patience = defaultPatience
	}
	if s.Budget.Services == 0 {
		s.Budget.Services = defaultServices
	}
	s.rehearsals = &rehearsals{}

	return s, nil
}
