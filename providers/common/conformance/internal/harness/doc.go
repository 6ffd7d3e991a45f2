// Package harness runs the cases of the conformance suites: what all of them
// share, and nothing that is about one capability of a provider.
//
// A suite has cases, a fixture for each run of a case, and mutants: providers that
// are wrong on purpose, each of which some case must catch. Only packages of
// conformance use it.
package harness
