package conformance

import (
	"slices"
	"testing"
)

// Nodes proves that the provider serves Nodes as the framework needs it.
func Nodes(t *testing.T, suite Suite) {
	t.Helper()
	runAll(t, suite, nodeCases())
}

// nodeCases are all cases about nodes.
func nodeCases() []testCase {
	return slices.Concat(interfaceCases(), identityCases(), lifecycleCases(), ownershipCases(), outageCases(), costCases())
}
