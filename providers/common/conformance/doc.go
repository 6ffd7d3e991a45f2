// Package conformance has the terms in which test clouds are described to the
// conformance suites: what a test cloud can do, and how it can fail.
//
// The suites are packages of their own, one for each capability of a provider:
// nodes, loadbalancers and routes. Each promises that a provider which passes
// implements the interface contract of k8s.io/cloud-provider, with and without
// failures of the cloud, within the stated budget of calls. A case depends on no
// speed of the machine, is proven to fail for a provider that is wrong, and is
// left out only for what the provider declares absent.
//
// A provider runs them in tests of its own. It writes one test cloud for all of
// them, which acts on its simulation directly, never through the provider:
//
//	func TestConformance(t *testing.T) {
//		t.Parallel()
//		nodes.Run(t, nodes.Adapter{
//			Provider: "vsphere",
//			NewCloud: func(t testing.TB) conformance.Cloud { return &testCloud{sim: simulator.Start(t)} },
//			...
//		})
//	}
//
// The test cloud and the provider are new for every case, and cases run at the
// same time unless the adapter sets Serial, and in simulated time if it sets
// InMemory. The connected provider should have
// short timeouts, backoffs and ages of cached lists, as a failure lasts several of
// them; the settings that decide about Nodes (the age of a young Node above all)
// must be those of production.
//
// Do not use a suite in place of the provider's own tests: it knows only what all
// clouds have in common.
package conformance
