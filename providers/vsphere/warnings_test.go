package vsphere

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/client-go/tools/record"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// TestUnreadableMetadataIsAWarning: it is logged by default, once for each Node,
// and is an Event.
func TestUnreadableMetadataIsAWarning(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, metadata string
		fault            types.BaseMethodFault
		want             string
	}{
		"not to decode":  {"it is not base64", "!", nil, "decode"},
		"not to be read": {"the account has no permission", "e30=", &types.NoPermission{}, "read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, "", one(sim.VMSpec{
				Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}},
				ExtraConfig: map[string]string{"guestinfo.metadata": tc.metadata, "guestinfo.metadata.encoding": "base64"},
			}))
			vm := b.fleet.VM("node-1")
			b.fleet.VCenters()[0].SetUnreadable(vm.Reference(), tc.fault, `config.extraConfig["guestinfo.metadata"]`)
			events := record.NewFakeRecorder(100)
			b.source.SetRecorder(events)
			var out bytes.Buffer
			ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&out))))
			node := kubetest.Node("node-1", kubetest.ProviderID(id(vm)))
			b.eventually("the Node has addresses", func() error {
				_, err := b.instances.InstanceMetadata(ctx, node)

				return err
			})
			for range 3 {
				if _, err := b.instances.InstanceMetadata(ctx, node); err != nil {
					t.Error(err)
				}
			}
			if n := strings.Count(out.String(), "Ignoring network settings"); n != 1 {
				t.Errorf("%s: %d warnings, want 1:\n%s", tc.reason, n, out.String())
			}
			if n := len(events.Events); n != 1 {
				t.Fatalf("%s: %d Events, want 1", tc.reason, n)
			}
			want := "Warning InvalidGuestMetadata the addresses in guestinfo.metadata of the VM are ignored: " + tc.want
			if event := <-events.Events; !strings.HasPrefix(event, want) {
				t.Errorf("%s: Event is %q, want %q", tc.reason, event, want)
			}
		})
	}
}

// TestUnreadableVMIsNotInitialized: a label that is written once does not come from
// properties that cannot be read.
func TestUnreadableVMIsNotInitialized(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.5"}}}}))
	vm := b.fleet.VM("node-1")
	b.fleet.VCenters()[0].SetUnreadable(vm.Reference(), &types.SystemError{},
		"summary.config.guestId", "summary.config.numCpu", "summary.config.memorySizeMB")
	node := kubetest.Node("node-1", kubetest.Tainted(), kubetest.ProviderID(id(vm)))
	b.wantError(node, "read property summary.config.guestId")
}

// TestExcludedNodeIP: a Node is not initialized with an address that is excluded,
// and gets an Event.
func TestExcludedNodeIP(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "[Nodes]\nexclude-internal-network-subnet-cidr = 10.0.0.5/32\n",
		one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.100", "10.0.0.5"}}}}))
	node := kubetest.Node("node-1", kubetest.Tainted(), kubetest.ProviderID(id(b.fleet.VM("node-1"))))
	node.Annotations = map[string]string{"alpha.kubernetes.io/provided-node-ip": "10.0.0.5"}
	err := b.wantError(node, "correct its --node-ip or the cloud-config: 10.0.0.5")
	if got := instance.ReasonOf(err); got != instance.ReasonNoAddress {
		t.Errorf("reason %q, want %q", got, instance.ReasonNoAddress)
	}
}
