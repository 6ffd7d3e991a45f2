// Package loadbalancers is the conformance suite for load balancers: every provider
// that has them must pass it over its test cloud.
//
// What it promises: the provider implements LoadBalancer as the service controller
// needs it. What a Service requires exists and nothing else, an unchanged Service
// costs no write, resources of others stay as they are, and an operation that
// ended at any of its calls is completed or cleaned up by the next process.
//
// The adapter must bring a [Cloud]. A provider with several kinds of load balancer
// runs the suite once for each of them:
//
//	loadbalancers.Run(t, loadbalancers.Adapter{
//		Provider:    "aws",
//		NewCloud:    newCloud,
//		Malformed:   []string{"aws:///us-west-2a/vol-1"},
//		Annotations: map[string]string{typeKey: "nlb"},
//		Internal:    map[string]string{internalKey: "true"},
//		Edited:      []map[string]string{nil}, // the type was removed
//		Refused:     []map[string]string{{healthCheckPortKey: "http"}},
//		Unmanaged:   []map[string]string{{typeKey: "external"}},
//		Protocols:   []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
//		Without:     loadbalancers.Capabilities{MixedProtocols: true, Affinity: true, RequestedIP: true, DualStack: true},
//		Budget:      loadbalancers.Budget{Create: 12, Resync: 3},
//		Timeout:     2 * time.Second,
//	})
//
// The cases with faults use package explore, with a new cloud and provider for
// each call of each operation: both should start in milliseconds, and retries of
// the provider's client should wait no longer.
//
// It knows no annotations but those of the adapter: what they do is for the
// provider's own tests.
package loadbalancers
