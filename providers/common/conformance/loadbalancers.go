package conformance

import (
	"slices"
	"testing"
)

// LoadBalancers proves that the provider serves Services of type LoadBalancer as
// the framework needs it.
func LoadBalancers(t *testing.T, suite LoadBalancerSuite) {
	t.Helper()
	suite, err := suite.prepare()
	if err != nil {
		t.Fatalf("conformance suite: %v", err)
	}
	runner[LoadBalancerSuite, *balancerFixture]{
		without:    suite,
		serial:     suite.Serial,
		newFixture: func(t testing.TB) *balancerFixture { return newBalancerFixture(t, suite) },
	}.runAll(t, balancerCases())
}

// balancerCases are all cases about load balancers.
func balancerCases() []balancerCase {
	return slices.Concat(
		balancerCreateCases(), balancerKindCases(), balancerChangeCases(), balancerNodeCases(), balancerDeleteCases(),
		balancerRefusalCases(), balancerOwnershipCases(), balancerLoadCases(), balancerOutageCases(), balancerDisturbedCases(),
	)
}
