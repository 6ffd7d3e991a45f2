package vsphere

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/front"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// quick are times that let a test see several outages in seconds, and a busy
// machine keep up.
var quick = tuning{
	instances: instance.Options{Timeout: 3 * time.Second, NegativeTTL: time.Second},
	session:   session.Options{CallTimeout: 3 * time.Second, LoginTimeout: 4 * time.Second},
	inventory: inventory.Config{
		MaxWait: time.Second, Margin: 4 * time.Second, CallTimeout: 3 * time.Second,
		MinBackoff: 50 * time.Millisecond, MaxBackoff: 500 * time.Millisecond,
	},
	patience: patience{visible: 200 * time.Millisecond, alone: 400 * time.Millisecond},
}

func TestConformance(t *testing.T) {
	t.Parallel()
	conformance.Nodes(t, conformance.Suite{
		Provider:  ProviderName,
		NewCloud:  newLab,
		Malformed: []string{"vsphere://", "vsphere://node-1", "vsphere://42", "vsphere://56492e42-22ad-3911-6d72"},
		Respell: func(id string) []string {
			uuid := strings.TrimPrefix(id, "vsphere://")
			return []string{"vsphere://" + strings.ToUpper(uuid), "vsphere:// " + uuid + " ", uuid, "vsphere://" + swapUUID(uuid)}
		},
		Without:  conformance.Capabilities{Throttling: true}, // a vCenter has no such answer
		Budget:   conformance.Budget{Initialize: 20, Steady: 10, Lifecycle: 0},
		Timeout:  quick.instances.Timeout,
		Memory:   6 * time.Second, // until a feed that was cut off notices
		Patience: time.Minute,
	})
}

// lab is a simulated vCenter as the conformance suite sees it.
type lab struct {
	vcenter *sim.VCenter
	created int
}

func newLab(t testing.TB) conformance.Cloud {
	cloud, err := sim.Start(sim.Spec{VCenters: []sim.VCenterSpec{{
		Name: "vc", Datacenters: []sim.DatacenterSpec{{Name: "dc"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	return &lab{vcenter: cloud.VCenter("vc")}
}

func (l *lab) Connect(t testing.TB) cloudprovider.Interface {
	return connect(t, fmt.Sprintf("[Global]\nuser = %q\npassword = %q\n%s", l.vcenter.User(), l.vcenter.Password(), section("vc", l.vcenter)))
}

// section is the section of a cloud-config for a simulated vCenter.
func section(name string, vc *sim.VCenter) string {
	url := vc.URL()
	return fmt.Sprintf("[VirtualCenter %q]\nserver = %s\nport = %s\nca-file = %s\n", name, url.Hostname(), url.Port(), vc.CAFile())
}

// connect starts the provider with a cloud-config the way the binary does.
func connect(t testing.TB, text string) *cloud {
	t.Helper()
	return connectWith(t, text, kubetest.NewClientset())
}

// connectWith is connect with a Kubernetes API.
func connectWith(t testing.TB, text string, client kubernetes.Interface) *cloud {
	t.Helper()
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	cfg, _, problems := decode(file, environment{hasDirectory: func(string) bool { return false }})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	c := newCloudFrom(cfg, nil, quick)
	stop := make(chan struct{})
	c.Initialize(builder{client: client}, stop)
	t.Cleanup(func() {
		close(stop)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Logf("close the provider: %v", err) // a broken vCenter cannot log anybody out
		}
	})
	return c
}

// builder gives the provider a Kubernetes API for its Events and labels.
type builder struct {
	cloudprovider.ControllerClientBuilder
	client kubernetes.Interface
}

func (b builder) Client(string) (kubernetes.Interface, error) { return b.client, nil }

func (l *lab) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	l.created++
	uuid := fmt.Sprintf("%08x-0000-4000-8000-42d0c0ffee00", l.created)
	vm, err := l.vcenter.AddVM("dc", sim.VMSpec{Name: m.Name, UUID: uuid, NICs: []sim.NIC{{IPs: m.IPs}}})
	if err != nil {
		t.Fatal(err)
	}
	return instance.Ref{ProviderID: formatProviderID(vm.UUID()), SystemUUID: vm.UUID(), NodeName: m.Name}
}

func (l *lab) vm(t testing.TB, ref instance.Ref) *sim.VM {
	t.Helper()
	for _, vm := range l.vcenter.VMs() {
		if formatProviderID(vm.UUID()) == ref.ProviderID {
			return vm
		}
	}
	t.Fatalf("no VM %s", ref)
	return nil
}

func (l *lab) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	if err := l.vm(t, ref).Destroy(); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	vm := l.vm(t, ref)
	set := map[conformance.Power]func() error{conformance.On: vm.PowerOn, conformance.Off: vm.PowerOff, conformance.Suspended: vm.Suspend}
	if err := set[power](); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) Break(t testing.TB, failure conformance.Failure) {
	t.Helper()
	switch failure {
	case conformance.Unreachable:
		l.vcenter.Down()
	case conformance.Hanging:
		l.vcenter.Hang()
	case conformance.Refusing:
		l.vcenter.Break("Login", front.Always(), sim.Fault(&types.InvalidLogin{}))
		l.vcenter.TerminateSessions()
	case conformance.Throttling:
		t.Fatal("a vCenter does not throttle")
	}
}

func (l *lab) Heal(t testing.TB) {
	t.Helper()
	l.vcenter.Mend()
	if err := l.vcenter.Up(); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) Calls() int    { return l.vcenter.Total() }
func (l *lab) Sessions() int { return len(l.vcenter.Sessions()) }
