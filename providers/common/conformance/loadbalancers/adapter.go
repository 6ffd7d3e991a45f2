package loadbalancers

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// Adapter is what a provider brings: its test cloud and what it declares. A
// provider with several kinds of load balancer runs the suite once for each, with
// the Annotations that choose the kind.
type Adapter struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// NewCloud makes a test cloud without instances, which ends with the test.
	NewCloud func(t testing.TB) Cloud
	// Malformed are providerIDs that the provider must reject. At least one is
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
	// Unmanaged are annotations, in the place of Annotations, of which each leaves
	// the Service to another controller.
	Unmanaged []map[string]string
	// Protocols are those that can be balanced. The default is TCP alone; it
	// must be among them.
	Protocols []v1.Protocol

	// Without declares what this cloud does not have.
	Without Capabilities
	// Budget limits the number of cloud calls.
	Budget Budget
	// Timeout, NoticeTime and How are as in nodes.Adapter. Timeout is for the
	// longest of the calls that create, change or delete a load balancer.
	Timeout    time.Duration
	NoticeTime time.Duration
	How
	// FaultPoints limits at how many calls of an operation each kind of fault is
	// injected, spread over all of them. 0 is every call.
	FaultPoints int
	// Only are the names of the cases to run, for a test cloud in which each of them takes
	// minutes. Empty is all.
	Only []string

	explorers *harness.Explorers
}

// How is how the cases of a suite run.
type How = harness.How

// Capabilities are the parts of the suite that not every cloud has. What is set in
// Adapter.Without is left out. A Service that requires it must then be rejected,
// where stated.
type Capabilities struct {
	// MixedProtocols: one Service can have ports of several protocols. Refused.
	MixedProtocols bool
	// Affinity: clients can be kept at their node. Refused.
	Affinity bool
	// RequestedIP: spec.loadBalancerIP can be served. Refused.
	RequestedIP bool
	// SourceRanges: clients can be restricted.
	SourceRanges bool
	// LocalTraffic: the healthCheckNodePort of a Service with
	// externalTrafficPolicy Local is used for the health checks of its nodes.
	LocalTraffic bool
	// DualStack: a load balancer can have an address of each IP family.
	DualStack bool
	// Copies: load balancers of a cluster restored from another's backup are told from
	// those of a cluster that was renamed. Where names follow the cluster, they are not.
	Copies bool
	// ColdStart: the provider can be connected during a failure of the cloud.
	ColdStart bool
	// Throttling: the cloud may ask for fewer calls.
	Throttling bool
	// FaultInjection: the test cloud can inject faults into single calls.
	FaultInjection bool
}

// Budget is how many cloud calls the provider may make.
type Budget struct {
	// Services is how many there are in a resync; the default is 100.
	Services int
	// Create limits the calls for a Service with two ports and three nodes, when
	// there is a load balancer for another one already.
	Create int
	// Resync limits the calls for each Service of an unchanged resync. Writes
	// are never allowed there.
	Resync int
}

// Cloud is a test cloud with load balancers.
type Cloud interface {
	conformance.MutableCloud

	// LoadBalancers are all that exist, those of users as well, but no decoys.
	LoadBalancers() []LoadBalancer
	// Reach returns the providerIDs of the instances that get the traffic which a
	// client at this address sends to a port of a load balancer: its targets,
	// without those whose firewall keeps out the traffic or the health check.
	// Whether an instance is running does not matter.
	Reach(t testing.TB, name string, protocol v1.Protocol, port int32, client netip.Addr) []string
	// Remove removes a load balancer as a user might do behind the provider's
	// back: what belongs to it stays, as far as the cloud lets it stay.
	Remove(t testing.TB, name string)
	// SeedDecoys creates resources that the provider must not change but that look
	// as if they were its own: load balancers, groups, rules and whatever else
	// there is, of users and of other clusters, named as closely to those of the
	// Service as the cloud allows, and rules on the instances themselves. They are
	// not among Resources. The function describes them, or what is left of them,
	// as they are now.
	SeedDecoys(t testing.TB, service *v1.Service) (describe func() []string)
}

// ServiceStore is a test cloud whose provider writes into Services.
type ServiceStore interface {
	// Store writes the Service to the Kubernetes API of a cluster, as it is now,
	// and returns it as it is there: with what the cluster's providers have written
	// into the Service of this UID.
	Store(t testing.TB, cluster string, service *v1.Service) *v1.Service
}

// LoadBalancer is a load balancer as clients see it.
type LoadBalancer struct {
	// Name is what GetLoadBalancerName returns.
	Name string
	// Addresses are the host names or IP addresses in the status, in its order. Each has all
	// listeners.
	Addresses []string
	// Internal reports whether it cannot be reached from outside.
	Internal bool
	// Affinity reports whether a client is kept at its node.
	Affinity bool
	// Listeners are its ports, in any order.
	Listeners []Listener
}

// Listener is a port of a load balancer.
type Listener struct {
	Protocol v1.Protocol
	Port     int32
	// HealthPort is the port of the health checks of all targets, with HTTP. It is
	// 0 if they use the target's own port or there are none.
	HealthPort int32
	// Targets receive the traffic, in any order.
	Targets []Target
}

// Target is where a listener sends traffic to.
type Target struct {
	// ProviderID is the canonical one of the instance; an address that no
	// instance has stands for itself.
	ProviderID string
	Port       int32
}

// testCase is a case about load balancers.
type testCase = harness.Case[Adapter, *fixture]

// Run proves that the provider serves Services of type LoadBalancer as the service
// controller needs it.
func Run(t *testing.T, adapter Adapter) {
	t.Helper()
	adapter, err := adapter.prepare()
	if err != nil {
		t.Fatalf("loadbalancers.Adapter: %v", err)
	}
	chosen, err := suite().Only(adapter.Only)
	if err != nil {
		t.Fatalf("loadbalancers.Adapter: Only: %v", err)
	}
	chosen.Run(t, adapter, adapter.How)
}

// suite returns all cases about load balancers.
func suite() harness.Suite[Adapter, *fixture] {
	return harness.Suite[Adapter, *fixture]{
		Cases: slices.Concat(
			createCases(), kindCases(), familyCases(), changeCases(), nodeCases(), deleteCases(),
			refusalCases(), ownershipCases(), loadCases(), failureCases(), faultCases(),
		),
		NewFixture: newFixture,
	}
}

// prepare checks the adapter and fills in what is not set.
func (a Adapter) prepare() (Adapter, error) {
	switch {
	case a.Provider == "":
		return a, fmt.Errorf("set Provider")
	case a.NewCloud == nil:
		return a, fmt.Errorf("set NewCloud")
	case len(a.Malformed) == 0:
		return a, fmt.Errorf("set Malformed")
	case a.Budget.Create == 0 || a.Budget.Resync == 0:
		return a, fmt.Errorf("set Budget")
	case len(a.Protocols) == 0:
		a.Protocols = []v1.Protocol{v1.ProtocolTCP}
	case !slices.Contains(a.Protocols, v1.ProtocolTCP):
		return a, fmt.Errorf("put TCP into Protocols")
	}
	a.Budget.Services = cmp.Or(a.Budget.Services, 100)
	a.explorers = &harness.Explorers{}

	return a, nil
}
