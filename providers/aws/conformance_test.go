package aws

import (
	"net/http"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	suite "github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// quick are settings with which several outages fit into seconds, even on a busy
// machine.
var quick = cloudTuning{
	instances: instance.Options{Timeout: 4 * time.Second, NegativeTTL: time.Second},
	source:    nodes.Tuning{MaxAge: 2 * time.Second, MissingAge: 2 * time.Second, Timeout: 3 * time.Second},
	client:    client.Tuning{Timeout: 2 * time.Second, MaxBackoff: 50 * time.Millisecond, ThrottleDelay: time.Millisecond},
}

// TestConformance runs the suite of all providers over Nodes (FW-NODE-9).
func TestConformance(t *testing.T) {
	t.Parallel()
	suite.Run(t, suite.Adapter{
		Provider: ProviderName,
		NewCloud: newNodesAdapter,
		Malformed: []string{
			"aws://", "aws:///us-west-2a/", "aws:///us-west-2a/vol-0123456789abcdef0", "aws:///us-west-2a/node-1", "aws:///us-west-2a/i-",
		},
		Spellings: func(id string) []string {
			instance := id[len(id)-len("i-0123456789abcdef0"):]

			return []string{instance, "aws:////" + instance, "aws:///" + instance, "aws://123456789012/us-west-2a/" + instance, id + "/"}
		},
		Elsewhere: func(id string) []string {
			instance := id[len(id)-len("i-0123456789abcdef0"):]

			return []string{"aws:///eu-central-1a/" + instance, "aws:///us-west-1a/" + instance}
		},
		Without: suite.Capabilities{
			Suspend:    true, // hibernated is stopped
			SystemUUID: true, // EC2 does not have it
			Sessions:   true, // each call is signed
		},
		Budget:       suite.Budget{Initialize: 10, Steady: 3, Lifecycle: 3},
		Timeout:      quick.instances.Timeout,
		MaxStaleness: 3 * time.Second,
		NoticeTime:   time.Minute,
		How:          suite.How{InMemory: true},
	})
}

// nodesAdapter is the test cloud with instances: a simulated region.
type nodesAdapter struct {
	*region

	subnet string
}

const testZone = "us-west-2a"

func newNodesAdapter(t testing.TB) conformance.Cloud {
	// The suite makes hundreds of calls at once, with a client that does not wait.
	r := newRegion(t, sim.Options{InMemory: true, DisableThrottling: true})
	r.SetFilterTime(3 * time.Millisecond)
	r.seed.VPC = r.AddVPC(sim.VPCSpec{CIDR: "10.9.0.0/16"}) // where the suite's addresses are
	subnet := r.AddSubnet(sim.SubnetSpec{VPC: r.seed.VPC, Zone: testZone, CIDR: "10.9.0.0/16"})

	return &nodesAdapter{region: r, subnet: subnet}
}

// Connect makes the provider from a cloud-config with the cluster ID, so that it
// starts whatever the cloud does.
func (a *nodesAdapter) Connect(t testing.TB) cloudprovider.Interface {
	t.Helper()

	times := quick
	times.client.Dial = a.Server().Dial

	return a.connect(times)
}

func (a *nodesAdapter) Create(_ testing.TB, m conformance.Machine) instance.Ref {
	id := a.AddInstance(sim.InstanceSpec{
		PrivateDNSName: m.Name, Tags: map[string]string{sim.ClusterTag(demo): "owned"},
		InterfaceSpec: sim.InterfaceSpec{Subnet: a.subnet, PrivateIPs: m.IPs},
	})

	return instance.Ref{ProviderID: inventory.FormatProviderID(testZone, id), SystemUUID: "ec2-" + id, NodeName: m.Name}
}

func instanceID(t testing.TB, ref instance.Ref) string {
	t.Helper()
	id, ok := nodes.InstanceID(ref.ProviderID)
	if !ok {
		t.Fatalf("no instance %s", ref)
	}

	return id
}

func (a *nodesAdapter) Delete(t testing.TB, ref instance.Ref) { a.Remove(instanceID(t, ref)) }

func (a *nodesAdapter) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	states := map[conformance.Power]string{conformance.On: sim.Running, conformance.Off: sim.Stopped}
	a.SetState(instanceID(t, ref), states[power])
}

func (a *nodesAdapter) InjectFailure(_ testing.TB, failure conformance.Failure) {
	switch failure {
	case conformance.Unreachable:
		a.Server().Down()
	case conformance.Hanging:
		a.Server().Hang()
	case conformance.Refusing:
		a.Interceptor().Inject(simserver.Any, simserver.Always(), sim.Error(http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials"))
	case conformance.Throttling:
		a.Interceptor().Inject(simserver.Any, simserver.Always(), sim.Throttled())
	case conformance.ProxyNotFound, conformance.ProxyOK, conformance.ProxyBadGateway:
		a.Interceptor().Inject(simserver.Any, simserver.Always(), simserver.Page(failure.Page()))
	}
}

func (a *nodesAdapter) ClearFaults(t testing.TB) {
	t.Helper()
	a.Interceptor().Clear()
	if err := a.Server().Up(); err != nil {
		t.Fatal(err)
	}
}

func (a *nodesAdapter) Calls() int { return a.Interceptor().Total() }
