// Package conformance is the suite of cases that every provider must pass over
// its test cloud, so that all clouds behave alike towards the framework.
//
// What it promises: a provider that passes answers the framework's questions as
// the interface contract of k8s.io/cloud-provider wants it, in good and in bad
// times, within the stated budget of cloud calls; nothing of it
// depends on how fast the machine is. Each case is small, has a name, and is
// itself proven to fail for a provider that does it wrong. A case is left out
// only for what the provider declares absent.
//
// A provider wires it up in a test of its own. The adapter is the only code to
// write; it says in the suite's words what the test cloud can do:
//
//	func TestConformance(t *testing.T) {
//		t.Parallel()
//		conformance.Nodes(t, conformance.Suite{
//			Provider:  "vsphere",
//			NewCloud:  func(t testing.TB) conformance.Cloud { return &lab{sim: simulator.Start(t)} },
//			Malformed: []string{"vsphere://", "vsphere://not-a-uuid"},
//			Respell:   func(id string) []string { return []string{strings.ToUpper(id)} },
//			Budget:    conformance.Budget{Initialize: 20, Steady: 10, Lifecycle: 1},
//			Timeout:   2 * time.Second,
//			Memory:    2 * time.Second,
//		})
//	}
//
//	// lab is the simulated vCenter as the suite sees it.
//	type lab struct{ sim *simulator.VCenter }
//
//	// Connect makes the provider the way the binary does.
//	func (l *lab) Connect(t testing.TB) cloudprovider.Interface {
//		cloud, err := newCloudFor(l.sim, 2*time.Second)
//		if err != nil {
//			t.Fatal(err)
//		}
//		stop := make(chan struct{})
//		cloud.Initialize(clientBuilder, stop)
//		t.Cleanup(func() {
//			close(stop)
//			_ = cloud.Close(context.Background())
//		})
//		return cloud
//	}
//
//	// Create, Delete, SetPower, Break, Heal and Calls act on the simulation
//	// directly, never through the provider.
//
// The test cloud and the provider are fresh for every case, and cases run at
// the same time unless Suite.Serial says otherwise. Time-outs, back-offs and the
// life of lists should be short in the connected provider, as an outage takes
// several of them; what decides about nodes (the age of a young node above all)
// must be left as it is in production.
//
// There are three subjects, each with a function, a suite and a test cloud of its
// own: [Nodes], [LoadBalancers] and [Routes]. The test clouds of the last two can
// do what that of nodes can, and more: see [MutableCloud], which counts writes,
// lists what is left over and disturbs calls by their number. A provider with
// several kinds of load balancer runs that suite once for each of them:
//
//	conformance.LoadBalancers(t, conformance.LoadBalancerSuite{
//		Provider:    "aws",
//		NewCloud:    newLab,
//		Malformed:   []string{"aws:///us-west-2a/vol-1"},
//		Annotations: map[string]string{typeKey: "nlb"},
//		Internal:    map[string]string{internalKey: "true"},
//		Edited:      []map[string]string{nil}, // the type was removed
//		Refused:     []map[string]string{{healthCheckPortKey: "http"}},
//		Elsewhere:   []map[string]string{{typeKey: "external"}},
//		Protocols:   []v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP},
//		Without:     conformance.LoadBalancerCapabilities{MixedProtocols: true, Affinity: true, RequestedIP: true},
//		Budget:      conformance.LoadBalancerBudget{Create: 12, Resync: 3},
//		Timeout:     2 * time.Second,
//	})
//
// Work on load balancers and routes may end at any call. The suite does each
// piece of work once in peace, and then once for each of its calls and each
// [Fault] in a new test cloud; what is there after the next provider's turn must
// be what is there when nothing had happened. That is many short lives of
// clouds and providers: both should start in milliseconds, and retries of the
// provider's client should wait no longer.
package conformance
