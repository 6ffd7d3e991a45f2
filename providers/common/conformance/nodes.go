package conformance

import (
	"slices"
	"testing"
)

// Nodes proves that the provider serves Nodes as the framework needs it.
func Nodes(t *testing.T, suite Suite) {
	t.Helper()
	suite, err := suite.prepare()
	if err != nil {
		t.Fatalf("conformance suite: %v", err)
	}
	runner[Capabilities, *fixture]{
		without:    suite.Without,
		serial:     suite.Serial,
		newFixture: func(t testing.TB) *fixture { return newFixture(t, suite) },
	}.runAll(t, nodeCases())
}

// nodeCases are all cases about nodes.
func nodeCases() []nodeCase {
	return slices.Concat(interfaceCases(), identityCases(), lifecycleCases(), ownershipCases(), outageCases(), costCases())
}
