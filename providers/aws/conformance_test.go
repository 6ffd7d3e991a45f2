package aws

import (
	"net/http"
	"testing"
	"time"

	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
)

// quick are times that let a test see several outages in seconds, and a busy
// machine keep up.
var quick = cloudTuning{
	instances: instance.Options{Timeout: 4 * time.Second, NegativeTTL: time.Second},
	source:    tuning{MaxAge: 2 * time.Second, MissingAge: 2 * time.Second, Timeout: 3 * time.Second},
	client:    client.Tuning{Timeout: 2 * time.Second, MaxBackoff: 50 * time.Millisecond, ThrottleDelay: time.Millisecond},
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Nodes(t, conformance.Suite{
		Provider: ProviderName,
		NewCloud: newLab,
		Malformed: []string{
			"aws://", "aws:///us-west-2a/", "aws:///us-west-2a/vol-0123456789abcdef0", "aws:///us-west-2a/node-1", "aws:///us-west-2a/i-",
		},
		Respell: func(id string) []string {
			instance := id[len(id)-len("i-0123456789abcdef0"):]
			return []string{instance, "aws:////" + instance, "aws:///" + instance, "aws://123456789012/us-west-2a/" + instance, id + "/"}
		},
		Without: conformance.Capabilities{
			Suspend:    true, // hibernated is stopped
			SystemUUID: true, // EC2 does not know it
			Sessions:   true, // each call is signed
		},
		Budget:   conformance.Budget{Initialize: 10, Steady: 3, Lifecycle: 3},
		Timeout:  quick.instances.Timeout,
		Memory:   3 * time.Second,
		Patience: time.Minute,
	})
}

// lab is a simulated region as the conformance suite sees it.
type lab struct {
	*region

	subnet string
}

const labZone = "us-west-2a"

func newLab(t testing.TB) conformance.Cloud {
	// The suite makes hundreds of calls at once, with a client that does not wait.
	r := newRegion(t, sim.Options{DisableThrottling: true})
	r.seed.VPC = r.AddVPC(sim.VPCSpec{CIDR: "10.9.0.0/16"}) // where the suite's addresses are
	subnet := r.AddSubnet(sim.SubnetSpec{VPC: r.seed.VPC, Zone: labZone, CIDR: "10.9.0.0/16"})
	return &lab{region: r, subnet: subnet}
}

// Connect makes the provider from a cloud-config that says who it is, so that it
// starts whatever the cloud does.
func (l *lab) Connect(t testing.TB) cloudprovider.Interface {
	t.Helper()
	return l.connect(quick)
}

func (l *lab) Create(_ testing.TB, m conformance.Machine) instance.Ref {
	id := l.AddInstance(sim.InstanceSpec{
		PrivateDNSName: m.Name, Tags: map[string]string{sim.ClusterTag(demo): "owned"},
		InterfaceSpec: sim.InterfaceSpec{Subnet: l.subnet, PrivateIPs: m.IPs},
	})
	return instance.Ref{ProviderID: inventory.FormatProviderID(labZone, id), SystemUUID: "ec2-" + id, NodeName: m.Name}
}

func instanceID(t testing.TB, ref instance.Ref) string {
	t.Helper()
	id, ok := ec2InstanceID(ref.ProviderID)
	if !ok {
		t.Fatalf("no instance %s", ref)
	}
	return id
}

func (l *lab) Delete(t testing.TB, ref instance.Ref) { l.Remove(instanceID(t, ref)) }

func (l *lab) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	states := map[conformance.Power]string{conformance.On: sim.Running, conformance.Off: sim.Stopped}
	l.SetState(instanceID(t, ref), states[power])
}

func (l *lab) Break(_ testing.TB, failure conformance.Failure) {
	switch failure {
	case conformance.Unreachable:
		l.Server().Down()
	case conformance.Hanging:
		l.Server().Hang()
	case conformance.Refusing:
		l.Gate().Break(front.Any, front.Always(), sim.Error(http.StatusUnauthorized, "AuthFailure", "AWS was not able to validate the provided access credentials"))
	case conformance.Throttling:
		l.Gate().Break(front.Any, front.Always(), sim.Throttled())
	}
}

func (l *lab) Heal(t testing.TB) {
	t.Helper()
	l.Gate().Mend()
	if err := l.Server().Up(); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) Calls() int { return l.Gate().Total() }
