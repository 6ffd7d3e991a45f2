package nodes

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/internal/harness"
)

// Adapter is what a provider brings: its test cloud and what it declares.
type Adapter struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// NewCloud makes a test cloud without instances, which ends with the test. A
	// cloud with sessions is a [conformance.SessionCounter], too.
	NewCloud func(t testing.TB) conformance.Cloud
	// Malformed are providerIDs that the provider must reject: its own scheme
	// around what can be no instance. At least one is needed.
	Malformed []string
	// Spellings returns other spellings of a canonical providerID that the
	// provider accepts. Nil means that there are none.
	Spellings func(providerID string) []string
	// Elsewhere returns providerIDs like a canonical one that name an instance of
	// another region, project or server, which the provider does not query. At least
	// one is needed unless Without.Places is set.
	Elsewhere func(providerID string) []string
	// Without declares what this cloud does not have.
	Without Capabilities
	// Budget limits the number of cloud calls.
	Budget Budget
	// Timeout is how long the connected provider may take for one call by its own
	// settings when the cloud does not respond. The default is 30 s, that of
	// instance.Options; a provider connected with less makes the suite faster.
	Timeout time.Duration
	// NoticeTime is how long the provider may take to notice what happened in the
	// cloud, its backoff after a failure included. The default is 30 s.
	NoticeTime time.Duration
	// MaxStaleness is how long the connected provider may use what it read from
	// the cloud before: the age of its lists, the time until it notices that a
	// feed ended, the backoff after a failed query. A failure lasts twice as long.
	// The default is 10 s.
	MaxStaleness time.Duration
	// How is how the cases run.
	How
}

// How is how the cases of a suite run.
type How = harness.How

// Capabilities are the parts of the suite that not every cloud has. Set in
// Adapter.Without, they leave out the cases that need them.
type Capabilities struct {
	// Suspend: instances can be suspended.
	Suspend bool
	// SystemUUID: a Node without providerID is found by its system UUID alone.
	SystemUUID bool
	// MixedEndian: firmware can report the system UUID of an instance with the bytes
	// of its first three groups in reverse order.
	MixedEndian bool
	// NodeName: a Node without providerID is found by its name alone.
	NodeName bool
	// DuplicateNames: the cloud allows two instances with one node name.
	DuplicateNames bool
	// Places: a providerID names a region, project or server of its instance.
	Places bool
	// ColdStart: the provider can be connected during a failure of the cloud.
	ColdStart bool
	// Throttling: the cloud may ask for fewer calls.
	Throttling bool
	// Sessions: the cloud has sessions that must be ended. The provider then has
	// Close(context.Context) error, and the test cloud lists them as
	// [conformance.SessionCounter].
	Sessions bool
}

// Budget is how many cloud calls the provider may make for a number of nodes,
// whatever that number is.
type Budget struct {
	// Nodes is their number; the default is 100.
	Nodes int
	// Initialize limits connecting to the cloud and describing every node for the
	// first time, 20 at a time.
	Initialize int
	// Steady limits describing every node once more.
	Steady int
	// Lifecycle limits querying for every node whether it exists and whether it is
	// shut down.
	Lifecycle int
}

// testCase is a case about nodes.
type testCase = harness.Case[Adapter, *fixture]

// Run proves that the provider serves Nodes as the node controllers need it.
func Run(t *testing.T, adapter Adapter) {
	t.Helper()
	adapter, err := adapter.prepare()
	if err != nil {
		t.Fatalf("nodes.Adapter: %v", err)
	}
	suite().Run(t, adapter, adapter.How)
}

// suite returns all cases about nodes.
func suite() harness.Suite[Adapter, *fixture] {
	return harness.Suite[Adapter, *fixture]{
		Cases: slices.Concat(
			interfaceCases(), identityCases(), lifecycleCases(), confirmationCases(), ownershipCases(), failureCases(), costCases(),
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
	case a.Elsewhere == nil && !a.Without.Places:
		return a, fmt.Errorf("set Elsewhere or Without.Places")
	case a.Budget.Initialize == 0:
		return a, fmt.Errorf("set Budget")
	}
	if a.Spellings == nil {
		a.Spellings = func(string) []string { return nil }
	}
	a.MaxStaleness = cmp.Or(a.MaxStaleness, 10*time.Second)
	a.Budget.Nodes = cmp.Or(a.Budget.Nodes, 100)

	return a, nil
}
