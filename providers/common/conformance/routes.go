package conformance

import (
	"slices"
	"testing"
)

// Routes proves that the provider serves routes as the framework needs it.
func Routes(t *testing.T, suite RouteSuite) {
	t.Helper()
	suite, err := suite.prepare()
	if err != nil {
		t.Fatalf("conformance suite: %v", err)
	}
	runner[RouteCapabilities, *routeBed]{
		without: suite.Without,
		serial:  suite.Serial,
		newBed:  func(t testing.TB) *routeBed { return newRouteBed(t, suite) },
	}.runAll(t, routeCases())
}

// routeCases are all cases about routes.
func routeCases() []routeCase {
	return slices.Concat(routeLifeCases(), routeStaleCases(), routeOutageCases(), routeDisturbedCases())
}
