package vsphere

import (
	"errors"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

const sharedUUID = "42000000-0000-4000-8000-000000000001"

// newCopied is vCenter a with the VM of node-1, and vCenter b with a copy of it
// that has another guest name, and with the VM of node-b.
func newCopied(t *testing.T) fixture {
	t.Helper()
	vcenter := func(name string, vms ...sim.VMSpec) sim.VCenterSpec {
		return sim.VCenterSpec{Name: name, Datacenters: []sim.DatacenterSpec{{Name: "dc", VMs: vms}}}
	}

	return newFixture(t, "",
		vcenter("a", sim.VMSpec{Name: "node-1", UUID: sharedUUID, NICs: []sim.NIC{{IPs: []string{"10.0.0.1"}}}}),
		vcenter("b",
			sim.VMSpec{Name: "copy", UUID: sharedUUID, Hostname: "other-host", NICs: []sim.NIC{{IPs: []string{"10.9.9.9"}}}},
			sim.VMSpec{Name: "node-b", NICs: []sim.NIC{{IPs: []string{"10.0.0.2"}}}}))
}

// nodeOfCopied is the Node of the VM that has a copy.
func nodeOfCopied(options ...kubetest.NodeOption) *v1.Node {
	return kubetest.Node("node-1", append([]kubetest.NodeOption{kubetest.ProviderID("vsphere://" + sharedUUID), old}, options...)...)
}

// wantOriginal waits for the address of the VM of node-1. None of the copy is
// accepted meanwhile.
func (b fixture) wantOriginal(node *v1.Node) {
	b.t.Helper()
	b.eventually("the VM of the Node is described", func() error {
		m, err := b.instances.InstanceMetadata(b.t.Context(), node)
		if err == nil && m.NodeAddresses[1].Address != "10.0.0.1" {
			b.t.Fatalf("the Node got the addresses of a copy: %v", m.NodeAddresses)
		}

		return err
	})
}

// TestCopyIsNotUsedWhileAVCenterDoesNotRespond: the VM of the Node may be in the vCenter
// that does not respond.
func TestCopyIsNotUsedWhileAVCenterDoesNotRespond(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]bool{"CopyRuns": false, "CopyOff": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCopied(t)
			a := b.fleet.VCenter("a")
			a.Down()
			if copied := b.fleet.VM("copy"); off {
				if err := copied.PowerOff(); err != nil {
					t.Fatal(err)
				}
			}
			b = b.restart()
			b.describe(kubetest.Node("node-b", old)) // by its name
			node := nodeOfCopied()
			for range 5 {
				if shutdown, err := b.instances.InstanceShutdown(t.Context(), node); err == nil {
					t.Fatalf("InstanceShutdown is %t, want an error", shutdown)
				}
				if m, err := b.instances.InstanceMetadata(t.Context(), node); err == nil {
					t.Fatalf("the Node got %v of a copy", m.NodeAddresses)
				}
				if exists, err := b.instances.InstanceExists(t.Context(), node); err == nil && !exists {
					t.Fatal("the Node would be deleted")
				}
			}
			if err := a.Up(); err != nil {
				t.Fatal(err)
			}
			b.wantOriginal(node)
		})
	}
}

// TestCopyIsNotUsedBeforeEveryInventoryIsRead: at each start one vCenter is read
// before the other.
func TestCopyIsNotUsedBeforeEveryInventoryIsRead(t *testing.T) {
	t.Parallel()
	b := newCopied(t)
	b.fleet.VCenter("a").Inject("WaitForUpdatesEx", simserver.Always(), simserver.Slow(time.Second))
	b = b.restart()
	b.eventually("vCenter b is read", func() error {
		vcenters, err := b.current()
		if err != nil {
			return err
		}

		return vcenters[1].Inventory.Current()
	})
	b.wantOriginal(nodeOfCopied())
}

// TestVMThatIsOffWhileAVCenterDoesNotRespond: a VM that has the name of the Node and is off
// may be a copy as well.
func TestVMThatIsOffWhileAVCenterDoesNotRespond(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		restart bool
		want    string
	}{
		"Known":     {"it ran when no other VM had its UUID", false, "true"},
		"Restarted": {"the one that runs may be in the other vCenter", true, "error"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCopied(t)
			vm, node := b.fleet.VM("node-b"), kubetest.Node("node-b", kubetest.ProviderID(id(b.fleet.VM("node-b"))), old)
			if err := vm.KeepHostname(); err != nil {
				t.Fatal(err)
			}
			b.wantExists(nodeOfCopied(), true) // both inventories are read
			b.describe(node)
			if err := vm.PowerOff(); err != nil {
				t.Fatal(err)
			}
			b.fleet.VCenter("a").Down()
			if tc.restart {
				b = b.restart()
			}
			b.wantResult(tc.reason, node, "true", tc.want)
		})
	}
}

// TestNodeOfAHealthyVCenterIsFound: while another vCenter does not respond, the host
// name of the guest or what was found before confirms the VM.
func TestNodeOfAHealthyVCenterIsFound(t *testing.T) {
	t.Parallel()
	const yes, no = true, false
	cases := map[string]struct {
		reason         string
		node           string // whose VM is node-b
		label, restart bool
		want           bool
	}{
		"Name":           {"the guest has the name of the Node", "node-b", no, yes, yes},
		"FullName":       {"the Node has a domain", "node-b.example.org", no, yes, yes},
		"Before":         {"it was found before", "other", no, no, yes},
		"Label":          {"the label of the Node names its vCenter", "other", yes, yes, yes},
		"NothingIsKnown": {"the other vCenter may have the VM of the Node", "other", no, yes, no},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newCopied(t)
			providerID := kubetest.ProviderID(id(b.fleet.VM("node-b")))
			node := b.initialize(kubetest.Node(tc.node, kubetest.Tainted(), providerID, old))
			if !tc.label {
				delete(node.Labels, labelVCenter)
			}
			b.fleet.VCenter("a").Down()
			if tc.restart {
				b = b.restart()
			}
			b.know(node)
			var err error
			for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
				if _, err = b.instances.InstanceMetadata(t.Context(), node); err == nil {
					break
				}
				if !tc.want {
					copied := kubetest.Node("other-host", kubetest.ProviderID("vsphere://"+sharedUUID), old)
					if _, errCopy := b.instances.InstanceMetadata(t.Context(), copied); errCopy == nil {
						break // the inventory is read
					}
				}
			}
			if got := err == nil; got != tc.want {
				t.Errorf("%s: found is %t, %v", tc.reason, got, err)
			}
			if !tc.want {
				return
			}
			if exists, err := b.instances.InstanceExists(t.Context(), node); !exists || err != nil {
				t.Error(fmt.Errorf("InstanceExists is %t, %w", exists, errors.Join(err)))
			}
		})
	}
}
