// Package nodes is the conformance suite for Nodes: every provider must pass it
// over its test cloud.
//
// What it promises: the provider implements InstancesV2 as the node controllers
// need it, whether the cloud responds or fails, within its budget of calls. A Node
// is deleted only when its instance does not exist.
//
// The adapter must bring a [conformance.Cloud] and what it declares:
//
//	nodes.Run(t, nodes.Adapter{
//		Provider:      "vsphere",
//		NewCloud:      newCloud,
//		Malformed:     []string{"vsphere://", "vsphere://not-a-uuid"},
//		Spellings:     func(id string) []string { return []string{strings.ToUpper(id)} },
//		Without:       nodes.Capabilities{Places: true},
//		Budget:        nodes.Budget{Initialize: 20, Steady: 10, Lifecycle: 1},
//		Timeout:       2 * time.Second,
//		MaxStaleness:  2 * time.Second,
//	})
//
// It does not cover load balancers and routes, nor what only one cloud has.
package nodes
