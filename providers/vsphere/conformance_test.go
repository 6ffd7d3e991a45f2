package vsphere

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/conformance/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	nodes.Run(t, nodes.Adapter{
		Provider:  ProviderName,
		NewCloud:  newAdapter,
		Malformed: []string{"vsphere://", "vsphere://node-1", "vsphere://42", "vsphere://56492e42-22ad-3911-6d72"},
		Spellings: func(id string) []string {
			uuid := strings.TrimPrefix(id, "vsphere://")

			return []string{"vsphere://" + strings.ToUpper(uuid), "vsphere:// " + uuid + " ", uuid, "vsphere://" + firmwareUUID(uuid)}
		},
		Without: nodes.Capabilities{
			Throttling: true, // a vCenter has no such response
			Places:     true, // a provider ID is the UUID of the VM
		},
		Budget:       nodes.Budget{Initialize: 20, Steady: 10, Lifecycle: 0},
		Timeout:      hasty().instances.Timeout,
		MaxStaleness: 6 * time.Second, // until a feed that was cut off notices
		NoticeTime:   4 * time.Minute, // of a password that is refused at the start
		How:          nodes.How{InMemory: true},
	})
}

// adapter is the test cloud of the conformance suite: a simulated vCenter.
type adapter struct {
	vcenter *sim.VCenter
	created int
}

func newAdapter(t testing.TB) conformance.Cloud {
	cloud, err := sim.Start(sim.Spec{VCenters: []sim.VCenterSpec{{
		Name: "vc", InMemory: true, Datacenters: []sim.DatacenterSpec{{Name: "dc"}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})

	return &adapter{vcenter: cloud.VCenter("vc")}
}

func (a *adapter) Connect(t testing.TB) cloudprovider.Interface {
	times := hasty()
	times.session.Dial = a.vcenter.Dial
	text := fmt.Sprintf("[Global]\nuser = %q\npassword = %q\n%s", a.vcenter.User(), a.vcenter.Password(), section("vc", a.vcenter))

	return connectTo(t, text, kubetest.NewClientset(), times)
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

	return connectTo(t, text, client, quick)
}

// connectTo is connectWith with other settings.
func connectTo(t testing.TB, text string, client kubernetes.Interface, times tuning) *cloud {
	t.Helper()

	return connectLabeled(t, text, nil, client, times)
}

// connectLabeled is connectTo with labels for all Nodes.
func connectLabeled(t testing.TB, text string, labels map[string]string, client kubernetes.Interface, times tuning) *cloud {
	t.Helper()
	c, stop := newCloudOf(t, text, labels, times)
	c.Initialize(builder{client: client}, stop)

	return c
}

// connectInformed is connectTo with informers of Nodes, which it returns.
func connectInformed(t testing.TB, text string, client kubernetes.Interface, times tuning) (*cloud, informers.SharedInformerFactory) {
	t.Helper()
	factory := informers.NewSharedInformerFactory(kubetest.NewClientset(), 0)
	t.Cleanup(factory.Shutdown)
	c, stop := newCloudOf(t, text, nil, times)
	c.Initialize(builder{client: client}, stop)
	c.SetInformers(factory)
	factory.Start(stop)
	factory.WaitForCacheSync(stop)

	return c, factory
}

// newCloudOf makes the provider of a cloud-config, and what stops it when the test ends.
func newCloudOf(t testing.TB, text string, labels map[string]string, times tuning) (*cloud, chan struct{}) {
	t.Helper()
	file, err := config.Parse("cloud.conf", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	env := environment{hasDirectory: func(string) bool { return false }}
	cfg, _, problems := decode(file, env)
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	c, err := newCloudFrom(cfg, env, labels, times)
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	t.Cleanup(func() {
		close(stop)
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Logf("close the provider: %v", err) // a vCenter that fails cannot end sessions
		}
	})

	return c, stop
}

// builder provides a Kubernetes API for Events and labels.
type builder struct {
	cloudprovider.ControllerClientBuilder
	client kubernetes.Interface
}

func (b builder) Client(string) (kubernetes.Interface, error) { return b.client, nil }

func (a *adapter) Create(t testing.TB, m conformance.Machine) instance.Ref {
	t.Helper()
	a.created++
	uuid := fmt.Sprintf("%08x-0000-4000-8000-42d0c0ffee00", a.created)
	vm, err := a.vcenter.AddVM("dc", sim.VMSpec{Name: m.Name, UUID: uuid, NICs: []sim.NIC{{IPs: m.IPs}}})
	if err != nil {
		t.Fatal(err)
	}

	return instance.Ref{ProviderID: id(vm), SystemUUID: vm.UUID(), NodeName: m.Name}
}

func (a *adapter) vm(t testing.TB, ref instance.Ref) *sim.VM {
	t.Helper()
	for _, vm := range a.vcenter.VMs() {
		if id(vm) == ref.ProviderID {
			return vm
		}
	}
	t.Fatalf("no VM %s", ref)

	return nil
}

func (a *adapter) Delete(t testing.TB, ref instance.Ref) {
	t.Helper()
	if err := a.vm(t, ref).Destroy(); err != nil {
		t.Fatal(err)
	}
}

func (a *adapter) SetPower(t testing.TB, ref instance.Ref, power conformance.Power) {
	t.Helper()
	vm := a.vm(t, ref)
	set := map[conformance.Power]func() error{conformance.On: vm.PowerOn, conformance.Off: vm.PowerOff, conformance.Suspended: vm.Suspend}
	if err := set[power](); err != nil {
		t.Fatal(err)
	}
}

func (a *adapter) InjectFailure(t testing.TB, failure conformance.Failure) {
	t.Helper()
	switch failure {
	case conformance.Unreachable:
		a.vcenter.Down()
	case conformance.Hanging:
		a.vcenter.Hang()
	case conformance.Refusing:
		a.vcenter.Inject("Login", simserver.Always(), sim.Fault(&types.InvalidLogin{}))
		a.vcenter.TerminateSessions()
	case conformance.Throttling:
		t.Fatal("a vCenter does not throttle")
	case conformance.ProxyNotFound, conformance.ProxyOK, conformance.ProxyBadGateway:
		a.vcenter.Inject(simserver.Any, simserver.Always(), simserver.Page(failure.Page()))
	}
}

func (a *adapter) ClearFaults(t testing.TB) {
	t.Helper()
	a.vcenter.Clear()
	if err := a.vcenter.Up(); err != nil {
		t.Fatal(err)
	}
}

func (a *adapter) Calls() int    { return a.vcenter.Total() }
func (a *adapter) Sessions() int { return len(a.vcenter.Sessions()) }
