package vsphere

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// old is when the Nodes of these tests were made: long enough ago to be deleted.
var old = kubetest.CreatedAt(time.Now().Add(-time.Hour))

// quick are settings with which what failed is soon tried again, and no call ends because
// the machine is busy.
var quick = tuning{
	instances: instance.Options{Timeout: time.Minute, NegativeTTL: time.Second},
	session:   session.Options{CallTimeout: time.Minute, LoginTimeout: time.Minute},
	inventory: inventory.Config{
		MaxWait: time.Second, Margin: time.Minute, CallTimeout: time.Minute,
		MinBackoff: 50 * time.Millisecond, MaxBackoff: 500 * time.Millisecond,
	},
	absence: nodes.AbsenceLimits{Visible: 200 * time.Millisecond, Alone: 400 * time.Millisecond},
}

// hasty returns quick with timeouts by which an outage fits into seconds, for simulated time.
func hasty() tuning {
	times := quick
	times.instances.Timeout = 3 * time.Second
	times.session = session.Options{CallTimeout: 3 * time.Second, LoginTimeout: 4 * time.Second}
	times.inventory.Margin, times.inventory.CallTimeout = 4*time.Second, 3*time.Second

	return times
}

// labelVCenter is short for a name that variables hide.
const labelVCenter = nodes.LabelVCenter

// current returns the vCenters, which are there soon after the start.
func (c *cloud) current() ([]*vcenter, error) {
	if vcenters := c.connected(); vcenters != nil {
		return vcenters, nil
	}

	return nil, errors.New("the provider has not connected")
}

// firmwareUUID is what the firmware shows of the UUID of a VM to its guest.
func firmwareUUID(u string) string {
	return u[6:8] + u[4:6] + u[2:4] + u[0:2] + "-" + u[11:13] + u[9:11] + "-" + u[16:18] + u[14:16] + u[18:]
}

// fixture is a provider over a fleet of simulated vCenters.
type fixture struct {
	*cloud
	t     *testing.T
	fleet *sim.Cloud
	text  string // the cloud-config
	times tuning
}

// restart is another process with the same cloud-config.
func (b fixture) restart() fixture {
	b.cloud = connectTo(b.t, b.text, kubetest.NewClientset(), b.times)

	return b
}

// newFixture starts vCenters and the provider. extra is appended to the
// cloud-config, which has a section for each vCenter.
func newFixture(t *testing.T, extra string, vcenters ...sim.VCenterSpec) fixture {
	t.Helper()

	return newFixtureWith(t, quick, extra, vcenters...)
}

// newFixtureWith is newFixture with other settings.
func newFixtureWith(t *testing.T, times tuning, extra string, vcenters ...sim.VCenterSpec) fixture {
	t.Helper()
	fleet, err := sim.Start(sim.Spec{VCenters: vcenters})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := fleet.Close(); err != nil {
			t.Error(err)
		}
	})
	var text strings.Builder
	first := fleet.VCenters()[0]
	fmt.Fprintf(&text, "[Global]\nuser = %q\npassword = %q\n", first.User(), first.Password())
	for _, vc := range fleet.VCenters() {
		text.WriteString(section(vc.Name(), vc))
	}

	b := fixture{t: t, fleet: fleet, text: text.String() + extra, times: times}

	return b.restart()
}

// one is a vCenter with one datacenter.
func one(vms ...sim.VMSpec) sim.VCenterSpec {
	return sim.VCenterSpec{Name: "vc", Datacenters: []sim.DatacenterSpec{{Name: "dc", VMs: vms}}}
}

// eventually waits for what a change feed brings.
func (b fixture) eventually(what string, check func() error) {
	b.t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s: %v", what, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// awaitInventories waits until the inventories of all vCenters have been read.
func (b fixture) awaitInventories() {
	b.t.Helper()
	b.eventually("all inventories are read", func() error {
		vcenters, err := b.current()
		for _, vc := range vcenters {
			err = errors.Join(err, vc.Inventory.Current())
		}

		return err
	})
}

func (b fixture) describe(node *v1.Node) *cloudprovider.InstanceMetadata {
	b.t.Helper()
	var metadata *cloudprovider.InstanceMetadata
	b.eventually("describe "+node.Name, func() (err error) {
		metadata, err = b.instances.InstanceMetadata(b.t.Context(), node)

		return err
	})

	return metadata
}

// wantError waits until the Node's metadata are an error with that text.
func (b fixture) wantError(node *v1.Node, text string) error {
	b.t.Helper()
	var got error
	b.eventually("error for "+node.Name, func() error {
		if _, got = b.instances.InstanceMetadata(b.t.Context(), node); got == nil || !strings.Contains(got.Error(), text) {
			return fmt.Errorf("got %v, want %q", got, text)
		}

		return nil
	})

	return got
}

func (b fixture) wantExists(node *v1.Node, want bool) {
	b.t.Helper()
	b.eventually("existence of "+node.Name, func() error {
		got, err := b.instances.InstanceExists(b.t.Context(), node)
		if err == nil && got != want {
			err = fmt.Errorf("got %t, want %t", got, want)
		}

		return err
	})
}

func id(vm *sim.VM) string { return "vsphere://" + vm.UUID() }

// TestMetadata goes through the ways from a Node to its VM (VS-NODE-1,
// VS-NODE-2).
func TestMetadata(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "[Labels]\nzone = k8s-zone\nregion = k8s-region\n[Nodes]\ninternal-network-subnet-cidr = 10.0.0.0/8\n", sim.VCenterSpec{
		Name: "vc",
		Datacenters: []sim.DatacenterSpec{{
			Name: "dc", Tags: sim.Tags{"k8s-region": {"emea"}},
			Clusters: []sim.ClusterSpec{{Name: "c", Tags: sim.Tags{"k8s-zone": {"zone a"}}}},
			VMs: []sim.VMSpec{{
				Name: "node-1", Hostname: "node-1.example.org", CPUs: 4, MemoryMB: 8192, Guest: "rhel9_64Guest",
				NICs: []sim.NIC{{IPs: []string{"fe80::1", "10.0.0.5", "192.0.2.5"}}},
			}},
		}},
	})
	uuid := b.fleet.VM("node-1").UUID()
	want := &cloudprovider.InstanceMetadata{
		ProviderID:   "vsphere://" + uuid,
		InstanceType: "vsphere-vm.cpu-4.mem-8gb.os-rhel9",
		NodeAddresses: []v1.NodeAddress{
			{Type: v1.NodeHostName, Address: "node-1.example.org"},
			{Type: v1.NodeInternalIP, Address: "10.0.0.5"},
		},
		Zone: "zone-a-" + zoneHash(t, b), Region: "emea",
		AdditionalLabels: map[string]string{labelVCenter: b.instanceUUID()},
	}

	cases := map[string]struct {
		reason string
		node   *v1.Node
		want   func(m *cloudprovider.InstanceMetadata)
	}{
		"ByProviderID": {
			reason: "FW-ID-4: a providerID is kept as it is written",
			node:   kubetest.Node("n", kubetest.Tainted(), kubetest.ProviderID("vsphere://"+strings.ToUpper(uuid))),
			want:   func(m *cloudprovider.InstanceMetadata) { m.ProviderID = "vsphere://" + strings.ToUpper(uuid) },
		},
		"BySwappedProviderID": {
			reason: "VS-ID-2: a byte-swapped UUID works, where the existing controller manager panics",
			node:   kubetest.Node("n", kubetest.Tainted(), kubetest.ProviderID("vsphere://"+firmwareUUID(uuid))),
			want:   func(m *cloudprovider.InstanceMetadata) { m.ProviderID = "vsphere://" + firmwareUUID(uuid) },
		},
		"BySystemUUID": {
			reason: "VS-NODE-1: the system UUID finds the VM although no name fits",
			node:   kubetest.Node("other-name", kubetest.Tainted(), kubetest.SystemUUID(strings.ToUpper(uuid))),
		},
		"BySwappedSystemUUID": {
			reason: "VS-NODE-1: older guests report the UUID in mixed byte order",
			node:   kubetest.Node("other-name", kubetest.Tainted(), kubetest.SystemUUID(firmwareUUID(uuid))),
		},
		"ByHostName": {
			reason: "VS-NODE-2: without a UUID the guest's host name decides, in any case",
			node:   kubetest.Node("NODE-1.example.org", kubetest.Tainted()),
		},
		"ByShortName": {
			reason: "VS-NODE-2: the name without its domain fits too",
			node:   kubetest.Node("node-1", kubetest.Tainted()),
		},
		"Initialized": {
			reason: "an initialized Node has labels already, and no tag is read",
			node:   kubetest.Node("n", kubetest.ProviderID("vsphere://"+uuid)),
			want:   func(m *cloudprovider.InstanceMetadata) { m.Zone, m.Region = "", "" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := *want
			if tc.want != nil {
				tc.want(&want)
			}
			b := b
			b.t = t
			if diff := cmp.Diff(&want, b.describe(tc.node)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// zoneHash (VS-ZONE-6) reads the part of the zone that keeps tags apart which are
// no label values: it is for package topology to choose.
func zoneHash(t *testing.T, b fixture) string {
	t.Helper()
	metadata := b.describe(kubetest.Node("n", kubetest.Tainted(), kubetest.ProviderID(id(b.fleet.VM("node-1")))))
	hash, ok := strings.CutPrefix(metadata.Zone, "zone-a-")
	if !ok || len(hash) != 8 {
		t.Fatalf("zone is %q, want zone-a- and a hash", metadata.Zone)
	}

	return hash
}

// instanceUUID is that of the first vCenter, which has been read.
func (b fixture) instanceUUID() string {
	b.t.Helper()
	vcenters, err := b.current()
	if err != nil {
		b.t.Fatal(err)
	}

	return vcenters[0].Inventory.InstanceUUID()
}

// TestNameAgainstUUID: a name alone does not make a VM the machine of a Node
// whose hardware shows that it is another one.
func TestNameAgainstUUID(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
	err := b.wantError(kubetest.Node("node-1", kubetest.Tainted(), kubetest.SystemUUID("11111111-2222-4333-8444-555555555555")), "another UUID")
	if got := instance.ReasonOf(err); got != instance.ReasonAmbiguousInstance {
		t.Errorf("reason %q, want %q", got, instance.ReasonAmbiguousInstance)
	}
	// A kubelet without access to the UUID reports its machine ID.
	b.describe(kubetest.Node("node-1", kubetest.Tainted(), kubetest.SystemUUID("0123456789abcdef0123456789abcdef")))
}

// TestStaleInventoryInitializesNothing (VS-NODE-12): labels are written once, so
// they must not come from before an outage; addresses may.
func TestStaleInventoryInitializesNothing(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
	providerID := kubetest.ProviderID(id(b.fleet.VM("node-1")))
	b.describe(kubetest.Node("node-1", kubetest.Tainted(), providerID))
	b.fleet.VCenter("vc").Down()
	b.wantError(kubetest.Node("node-1", kubetest.Tainted(), providerID), "out of date")
	b.describe(kubetest.Node("node-1", providerID, old))
	if err := b.fleet.VCenter("vc").Up(); err != nil {
		t.Fatal(err)
	}
	b.describe(kubetest.Node("node-1", kubetest.Tainted(), providerID))
}

// TestFactory: FW-START-2, VS-CONFIG-1, VS-CONFIG-7: what can be known offline
// ends in an error with the key's place, and a cloud that makes no call
// otherwise.
func TestFactory(t *testing.T) {
	t.Parallel()
	const good = "[VirtualCenter \"10.0.0.1\"]\nuser = u\npassword = p\n"
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		reason string
		config io.Reader
		err    string
	}{
		"Good":     {reason: "a file of the existing controller manager", config: strings.NewReader(good)},
		"Nil":      {reason: "no file at all, which is a nil reader", err: "no vSphere cloud provider config file given"},
		"Empty":    {reason: "an empty file", config: strings.NewReader(""), err: "no vSphere cloud provider config file given"},
		"Other":    {reason: "FW-CONFIG-4: a file for another provider", config: strings.NewReader("[Global]\nprovider = aws\n" + good), err: "aws"},
		"NoCAFile": {reason: "a CA file that is not there", config: strings.NewReader(good + "ca-file = /nowhere/ca.pem\n"), err: "cloud-config:4:1: [VirtualCenter \"10.0.0.1\"] ca-file: "},
		"NoPEM":    {reason: "a CA file without a certificate", config: strings.NewReader(good + "ca-file = " + notPEM + "\n"), err: "ca-file: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud, err := newCloud(tc.config)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("%s: error is %v, want %q", tc.reason, err, tc.err)
				}

				return
			}
			if err != nil || !cloud.HasClusterID() || cloud.ProviderName() != ProviderName {
				t.Fatalf("%s: %v, %v", tc.reason, cloud, err)
			}
		})
	}
}

func TestClonesShareUUID(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
	original := b.fleet.VM("node-1")
	clone, err := original.Clone("copy")
	if err != nil {
		t.Fatal(err)
	}
	node := kubetest.Node("node-1", kubetest.ProviderID(id(original)), old)

	// VS-NODE-4: several VMs share a UUID, and nothing distinguishes them.
	err = b.wantError(node, "2 VMs fit")
	if got := instance.ReasonOf(err); got != instance.ReasonAmbiguousInstance || !errors.Is(err, apierr.ErrConflict) {
		t.Errorf("reason %q of %v, want %q and a conflict", got, err, instance.ReasonAmbiguousInstance)
	}
	if exists, err := b.instances.InstanceExists(t.Context(), node); exists || err == nil {
		t.Errorf("InstanceExists is %t, %v, want an error", exists, err)
	}

	// The host name of the guest does.
	if err := errors.Join(clone.SetHostname("other-host"), clone.SetNICs(sim.NIC{IPs: []string{"10.0.0.6"}})); err != nil {
		t.Fatal(err)
	}
	b.eventually("the original is distinguished from its clone", func() error {
		m, err := b.instances.InstanceMetadata(t.Context(), node)
		if err == nil && m.NodeAddresses[1].Address != "10.0.0.5" {
			err = fmt.Errorf("addresses are %v", m.NodeAddresses)
		}

		return err
	})
}

// TestStates goes through VS-NODE-7 and VS-NODE-8 for a VM that is there: it
// exists whatever its state, and is shut down only where the vCenter sees that.
func TestStates(t *testing.T) {
	t.Parallel()
	const shutDown, running, unknown = "true <nil>", "false <nil>", "error"
	cases := map[string]struct {
		reason string
		change func(vm *sim.VM) error
		want   string
	}{
		"PoweredOff":  {reason: "a VM that is off exists, although its guest reports nothing", change: (*sim.VM).PowerOff, want: shutDown},
		"Suspended":   {reason: "suspended counts as shut down", change: (*sim.VM).Suspend, want: shutDown},
		"NoTools":     {reason: "no guest data needed", change: func(vm *sim.VM) error { return vm.SetTools(false) }, want: running},
		"Unreadable":  {reason: "a VM whose configuration cannot be read", change: func(vm *sim.VM) error { return vm.HideConfig(true) }, want: running},
		"Orphaned":    {reason: "its state in vCenter does not matter", change: connection(types.VirtualMachineConnectionStateOrphaned), want: running},
		"Invalid":     {reason: "its state in vCenter does not matter", change: connection(types.VirtualMachineConnectionStateInvalid), want: running},
		"LostPowered": {reason: "a host that is out of reach may still run it", change: connection(types.VirtualMachineConnectionStateDisconnected), want: running},
		"LostOff": {
			reason: "what the vCenter last had of an inaccessible VM is no proof that it is off",
			change: func(vm *sim.VM) error {
				return errors.Join(vm.PowerOff(), vm.SetConnectionState(types.VirtualMachineConnectionStateInaccessible))
			},
			want: unknown,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
			vm := b.fleet.VM("node-1")
			node := kubetest.Node("node-1", kubetest.ProviderID(id(vm)), kubetest.NotReady(), old)
			b.wantExists(node, true)
			if err := tc.change(vm); err != nil {
				t.Fatal(err)
			}
			b.eventually(tc.reason, func() error {
				shutdown, err := b.instances.InstanceShutdown(t.Context(), node)
				got := fmt.Sprint(shutdown, " ", err)
				if err != nil {
					got = "error"
				}
				if got != tc.want {
					return fmt.Errorf("InstanceShutdown is %t, %v, want %s", shutdown, err, tc.want)
				}

				return nil
			})
			b.wantExists(node, true)
			// An initialized Node keeps its addresses.
			if m, err := b.instances.InstanceMetadata(t.Context(), node); err == nil && name == "PoweredOff" && m.NodeAddresses != nil {
				t.Errorf("addresses of a VM that is off: %v, want none", m.NodeAddresses)
			}
		})
	}
}

func connection(state types.VirtualMachineConnectionState) func(*sim.VM) error {
	return func(vm *sim.VM) error { return vm.SetConnectionState(state) }
}

// TestTwoVCenters: VS-NODE-6, VS-SESSION-5: what one vCenter has is found while
// the other one is away, and nothing is gone that the other one could have.
func TestTwoVCenters(t *testing.T) {
	t.Parallel()
	breaks := map[string]func(vc *sim.VCenter){
		"Down":         (*sim.VCenter).Down,
		"Hanging":      (*sim.VCenter).Hang,
		"RefusesLogin": func(vc *sim.VCenter) { vc.SetPassword("another"); vc.TerminateSessions() },
		"NoPermission": func(vc *sim.VCenter) {
			vc.Inject(simserver.Any, simserver.Always(), sim.Fault(&types.NoPermission{}))
		},
	}
	for name, breakIt := range breaks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, "",
				sim.VCenterSpec{Name: "east", Datacenters: []sim.DatacenterSpec{{Name: "dc", VMs: []sim.VMSpec{{Name: "node-e", NICs: []sim.NIC{{IPs: []string{"10.0.0.1"}}}}}}}},
				sim.VCenterSpec{Name: "west", Datacenters: []sim.DatacenterSpec{{Name: "dc", VMs: []sim.VMSpec{{Name: "node-w", NICs: []sim.NIC{{IPs: []string{"10.0.0.2"}}}}}}}},
			)
			b.cloud = connectTo(t, b.text, kubetest.NewClientset(), hasty()) // a feed that hangs is to be noticed
			east := kubetest.Node("node-e", kubetest.ProviderID(id(b.fleet.VM("node-e"))), old)
			west := kubetest.Node("node-w", kubetest.ProviderID(id(b.fleet.VM("node-w"))), old)
			gone := kubetest.Node("node-x", kubetest.ProviderID("vsphere://00000000-0000-4000-8000-000000000001"), old)
			b.wantExists(east, true)
			b.wantExists(west, true)
			b.wantExists(gone, false)

			breakIt(b.fleet.VCenter("west"))
			b.eventually("what is nowhere is an error", func() error {
				exists, err := b.instances.InstanceExists(t.Context(), gone)
				if err == nil {
					return fmt.Errorf("InstanceExists is %t", exists)
				}

				return nil
			})
			b.wantExists(east, true)
			b.wantExists(west, true) // known, though not fresh
			if shutdown, err := b.instances.InstanceShutdown(t.Context(), west); shutdown {
				t.Errorf("InstanceShutdown is true, %v: nothing is known of that vCenter now", err)
			}
			b.describe(east)
		})
	}
}

// TestGone: VS-NODE-6, VS-NODE-9: a VM that no vCenter has.
func TestGone(t *testing.T) {
	t.Parallel()
	destroyed := func(t *testing.T, extra string) (fixture, string) {
		b := newFixture(t, extra, one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
		vm := b.fleet.VM("node-1")
		providerID := id(vm)
		b.wantExists(kubetest.Node("node-1", kubetest.ProviderID(providerID), old), true)
		if err := vm.Destroy(); err != nil {
			t.Fatal(err)
		}

		return b, providerID
	}
	t.Run("ByProviderID", func(t *testing.T) {
		t.Parallel()
		b, providerID := destroyed(t, "")
		b.wantExists(kubetest.Node("node-1", kubetest.ProviderID(providerID), old), false)
	})
	t.Run("ByNameNever", func(t *testing.T) {
		t.Parallel()
		b, _ := destroyed(t, "")
		node := kubetest.Node("node-1", old)
		b.eventually("the VM of a Node without providerID is missing", func() error {
			if _, err := b.instances.InstanceMetadata(t.Context(), node); !errors.Is(err, cloudprovider.InstanceNotFound) {
				return fmt.Errorf("InstanceMetadata: %w", err)
			}

			return nil
		})
		b.wantExists(node, true)
	})
	t.Run("ByNameIfAllowed", func(t *testing.T) {
		t.Parallel()
		b, _ := destroyed(t, "[NodeDeletion]\nby-name = true\n")
		b.wantExists(kubetest.Node("node-1", old), false)
	})
}

// TestSkipNodeDeletion (VS-NODE-9): with SKIP_NODE_DELETION the Node of a VM that
// is gone stays, without an error at each pass of the framework.
func TestSkipNodeDeletion(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
	keeping := b.tuning.instances
	keeping.KeepMissing = true
	keeper := instance.New(b.source, keeping)
	vm := b.fleet.VM("node-1")
	node := kubetest.Node("node-1", kubetest.ProviderID(id(vm)), old)
	b.wantExists(node, true)
	if err := vm.Destroy(); err != nil {
		t.Fatal(err)
	}
	b.wantExists(node, false)
	if exists, err := keeper.InstanceExists(t.Context(), node); !exists || err != nil {
		t.Errorf("InstanceExists is %t, %v, want true", exists, err)
	}
	cfg := &Config{skipNodeDeletion: true}
	if c, err := newCloudFrom(cfg, environment{}, nil, quick); err != nil || !c.tuning.instances.KeepMissing {
		t.Error("the environment variable does not reach the decision about Nodes")
	}
}

// TestSeveralOfOneName: VS-NODE-3: two VMs whose guests have the Node's name are
// an error with an Event.
func TestSeveralOfOneName(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(
		sim.VMSpec{Name: "a", Hostname: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}},
		sim.VMSpec{Name: "b", Hostname: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.6"}}}},
	))
	events := record.NewFakeRecorder(100)
	b.instances.SetRecorder(events)
	b.wantError(kubetest.Node("node-1", kubetest.Tainted()), "2 VMs fit node-1")
	want := "Warning " + string(instance.ReasonAmbiguousInstance)
	for event := range events.Events {
		if strings.HasPrefix(event, want) {
			return
		}
		if len(events.Events) == 0 {
			t.Fatalf("last Event is %q, want %q", event, want)
		}
	}
}

// TestNoZone: VS-ZONE-3, FW-NODE-11: a Node without the zone that the
// configuration specifies is not initialized, and has an Event. Once it is, a
// missing zone does not keep its addresses from being refreshed.
func TestNoZone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "[Labels]\nzone = k8s-zone\n", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
	err := b.wantError(kubetest.Node("node-1", kubetest.Tainted()), "vSphere zone category k8s-zone does not match any tags for mo")
	if got := instance.ReasonOf(err); got != instance.ReasonNoZone {
		t.Errorf("reason %q, want %q", got, instance.ReasonNoZone)
	}
	if m := b.describe(kubetest.Node("node-1", kubetest.ProviderID(id(b.fleet.VM("node-1"))))); len(m.NodeAddresses) == 0 {
		t.Error("an initialized Node gets no addresses")
	}
}

// TestNodeLabels: --node-labels reach Nodes that are initialized.
func TestNodeLabels(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
	b.cloud = connectLabeled(t, b.text, map[string]string{"example.org/rack": "r7"}, kubetest.NewClientset(), quick)
	got := b.describe(kubetest.Node("node-1", kubetest.Tainted())).AdditionalLabels
	if diff := cmp.Diff(map[string]string{"example.org/rack": "r7", labelVCenter: b.instanceUUID()}, got); diff != "" {
		t.Errorf("labels: -want +got\n%s", diff)
	}
}
