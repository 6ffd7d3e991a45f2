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
	runner[RouteCapabilities, *routeFixture]{
		without:    suite.Without,
		serial:     suite.Serial,
		newFixture: func(t testing.TB) *routeFixture { return newRouteFixture(t, suite) },
	}.runAll(t, routeCases())
}

// routeCases are all cases about routes.
func routeCases() []routeCase {
	return slices.Concat(routeLifeCases(), routeStaleCases(), routeOutageCases(), routeDisturbedCases())
}
