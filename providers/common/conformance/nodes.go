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
	runner[Capabilities, *bed]{
		without: suite.Without,
		serial:  suite.Serial,
		newBed:  func(t testing.TB) *bed { return newBed(t, suite) },
	}.runAll(t, nodeCases())
}

// nodeCases are all cases about nodes.
func nodeCases() []nodeCase {
	return slices.Concat(interfaceCases(), identityCases(), lifecycleCases(), ownershipCases(), outageCases(), costCases())
}
