package conformance

import (
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// RouteSuite is what a provider brings for its routes: the test cloud and what
// it declares.
type RouteSuite struct {
	// Provider is the provider's name and the scheme of its providerIDs.
	Provider string
	// NewCloud makes a test cloud without instances, which ends with the test.
	NewCloud func(t testing.TB) RouteCloud
	// Without declares what this cloud does not have.
	Without RouteCapabilities
	// Budget limits the number of cloud calls.
	Budget RouteBudget
	// Timeout, Patience and Serial are as in Suite, Points as in
	// LoadBalancerSuite.
	Timeout  time.Duration
	Patience time.Duration
	Serial   bool
	Points   int

	rehearsals *rehearsals
}

// RouteCapabilities are the parts of the suite that not every cloud can take.
// What is set in RouteSuite.Without is left out.
type RouteCapabilities struct {
	// IPv6: there are routes for IPv6.
	IPv6 bool
	// ColdStart: the provider can be connected while the cloud is broken.
	ColdStart bool
	// Throttling: the cloud may ask for fewer calls.
	Throttling bool
	// Disturbance: the test cloud can disturb single calls.
	Disturbance bool
}

// RouteBudget is how many cloud calls the provider may make.
type RouteBudget struct {
	// Routes is how many there are in a pass; the default is 50.
	Routes int
	// List limits the calls for listing them all.
	List int
	// Create limits the calls for making each of them.
	Create int
}

// RouteCloud is a test cloud with routes.
type RouteCloud interface {
	MutableCloud

	// SetNodes says which Nodes there are from now on. It returns when every
	// provider connected knows them; those connected later know them, too.
	SetNodes(t testing.TB, nodes []*v1.Node)
	// Routes are all routes that exist, but those that are planted.
	Routes() []CloudRoute
	// Plant makes routes that are none of the provider's business, of users and
	// of the cloud itself, where the provider must pass over them: to gateways,
	// and to instances that are no Nodes, none of them in 10.244.0.0/16 and
	// fd00:244::/32, where pods are. They are no Leftovers. The function
	// describes them, or what is left of them, as they are now.
	Plant(t testing.TB) (describe func() []string)
}

// CloudRoute is a route as the cloud has it.
type CloudRoute struct {
	// CIDR is where the traffic goes to.
	CIDR string
	// ProviderID is the canonical one of the instance that gets it, empty if
	// there is no such instance.
	ProviderID string
}

// defaultRoutes is how many routes there are in a pass.
const defaultRoutes = 50

// prepare checks the suite and fills in what is not set.
func (s RouteSuite) prepare() (RouteSuite, error) {
	switch {
	case s.Provider == "":
		return s, fmt.Errorf("set RouteSuite.Provider")
	case s.NewCloud == nil:
		return s, fmt.Errorf("set RouteSuite.NewCloud")
	case s.Budget.List == 0 || s.Budget.Create == 0:
		return s, fmt.Errorf("set RouteSuite.Budget")
	}
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	if s.Patience == 0 {
		s.Patience = defaultPatience
	}
	if s.Budget.Routes == 0 {
		s.Budget.Routes = defaultRoutes
	}
	s.rehearsals = &rehearsals{}

	return s, nil
}
