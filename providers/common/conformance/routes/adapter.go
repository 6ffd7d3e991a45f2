package routes

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// Adapter is what a provider brings: its test cloud and what it declares.
type Adapter struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// NewCloud makes a test cloud without instances, which ends with the test.
	NewCloud func(t testing.TB) Cloud
	// Without declares what this cloud does not have.
	Without Capabilities
	// Budget limits the number of cloud calls.
	Budget Budget
	// Timeout, NoticeTime and How are as in nodes.Adapter, FaultPoints as in
	// loadbalancers.Adapter.
	Timeout    time.Duration
	NoticeTime time.Duration
	How
	FaultPoints int

	explorers *harness.Explorers
}

// How is how the cases of a suite run.
type How = harness.How

// Capabilities are the parts of the suite that not every cloud has. What is set in
// Adapter.Without is left out.
type Capabilities struct {
	// IPv6: there are routes for IPv6.
	IPv6 bool
	// ColdStart: the provider can be connected during a failure of the cloud.
	ColdStart bool
	// Throttling: the cloud may ask for fewer calls.
	Throttling bool
	// FaultInjection: the test cloud can inject faults into single calls.
	FaultInjection bool
}

// Budget is how many cloud calls the provider may make.
type Budget struct {
	// Routes is how many there are in a pass; the default is 50.
	Routes int
	// List limits the calls for listing them all.
	List int
	// Create limits the calls for creating each of them.
	Create int
}

// Cloud is a test cloud with routes.
type Cloud interface {
	conformance.MutableCloud

	// SetNodes sets the Nodes of the cluster. It returns when every connected
	// provider knows them; those connected later know them, too.
	SetNodes(t testing.TB, nodes []*v1.Node)
	// Routes are all routes that exist, but no decoys.
	Routes() []Route
	// SeedDecoys creates routes that the provider must ignore, of users and of the
	// cloud itself: to gateways, and to instances that are no Nodes, none of them in
	// 10.244.0.0/16 and fd00:244::/32, where pods are. They are not among
	// Resources. The function describes them, or what is left of them, as they are
	// now.
	SeedDecoys(t testing.TB) (describe func() []string)
}

// Route is a route as the cloud has it.
type Route struct {
	// CIDR is the destination of the traffic.
	CIDR string
	// ProviderID is the canonical one of the instance that receives it, empty if
	// there is no such instance.
	ProviderID string
}

// testCase is a case about routes.
type testCase = harness.Case[Adapter, *fixture]

// Run proves that the provider serves routes as the route controller needs it.
func Run(t *testing.T, adapter Adapter) {
	t.Helper()
	adapter, err := adapter.prepare()
	if err != nil {
		t.Fatalf("routes.Adapter: %v", err)
	}
	suite().Run(t, adapter, adapter.How)
}

// suite returns all cases about routes.
func suite() harness.Suite[Adapter, *fixture] {
	return harness.Suite[Adapter, *fixture]{
		Cases:      slices.Concat(lifecycleCases(), staleCases(), failureCases(), faultCases()),
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
	case a.Budget.List == 0 || a.Budget.Create == 0:
		return a, fmt.Errorf("set Budget")
	}
	a.Budget.Routes = cmp.Or(a.Budget.Routes, 50)
	a.explorers = &harness.Explorers{}

	return a, nil
}
