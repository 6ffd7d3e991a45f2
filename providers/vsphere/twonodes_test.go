package vsphere

import (
	"errors"
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// withAddress returns a Node with an address.
func withAddress(node *v1.Node, ip string) *v1.Node {
	node = node.DeepCopy()
	kubetest.Address(v1.NodeInternalIP, ip)(node)

	return node
}

// wantAddress waits until the Node gets an internal address. No other result but an
// error may come before.
func (b fixture) wantAddress(node *v1.Node, want string) {
	b.t.Helper()
	b.eventually("address of "+node.Name, func() error {
		m, err := b.instances.InstanceMetadata(b.t.Context(), node)
		if err != nil {
			return err
		}
		for _, a := range m.NodeAddresses {
			if a.Type == v1.NodeInternalIP && a.Address != want {
				b.t.Fatalf("%s gets the address %s of another machine, want %s", node.Name, a.Address, want)
			}
		}
		if len(m.NodeAddresses) == 0 {
			return errors.New("no addresses")
		}

		return nil
	})
}

// TestTwoNodesOfOneUUID (VS-NODE-13): a VM that was cloned with its BIOS UUID joins
// as another Node.
func TestTwoNodesOfOneUUID(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// guests are the host names of the guests of the VM and of its clone, empty
		// if the inventory does not have the clone yet.
		guests [2]string
		joins  string // address of the Node of the clone, or empty for an error
	}{
		"NamesFit":        {"the guest's name decides", [2]string{"node-1", "node-9"}, "10.0.0.9"},
		"CloneNotThere":   {"the only VM is that of the other Node", [2]string{"node-1", ""}, ""},
		"OnlyCloneFits":   {"the guest's name decides", [2]string{"template", "node-9"}, "10.0.0.9"},
		"NoNameFits":      {"nothing distinguishes the VMs", [2]string{"localhost", "localhost"}, ""},
		"NoNameFitsAlone": {"it may be that of the other Node", [2]string{"localhost", ""}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, "", pair("vc"))
			vm := b.fleet.VM("node-1")
			node := withAddress(nodeOf(vm), "10.0.0.1")
			joins := kubetest.Node("node-9", kubetest.Tainted(), kubetest.SystemUUID(vm.UUID()))
			b.know(node)
			b.wantAddress(node, "10.0.0.1")
			if err := vm.SetHostname(tc.guests[0]); err != nil {
				t.Fatal(err)
			}
			if tc.guests[1] != "" {
				other, err := vm.Clone("clone")
				if err := errors.Join(err, other.SetHostname(tc.guests[1]), other.SetNICs(sim.NIC{IPs: []string{"10.0.0.9"}})); err != nil {
					t.Fatal(err)
				}
				b.awaitVMs(3)
			}
			for _, process := range []string{"known", "restarted"} {
				if process == "restarted" {
					b = b.restart()
				}
				events := record.NewFakeRecorder(1000)
				b.instances.SetRecorder(events)
				b.know(node, joins)
				b.wantAddress(node, "10.0.0.1")
				if tc.joins != "" {
					b.wantAddress(joins, tc.joins)

					continue
				}
				err := b.wantError(joins, "VMs fit")
				if got := instance.ReasonOf(err); got != instance.ReasonAmbiguousInstance {
					t.Errorf("%s, %s: reason %q of %v, want %q", tc.reason, process, got, err, instance.ReasonAmbiguousInstance)
				}
				b.wantEvent(events, "AmbiguousInstance")
			}
		})
	}
}

// awaitVMs waits until the inventory of the first vCenter has so many VMs.
func (b fixture) awaitVMs(want int) {
	b.t.Helper()
	b.eventually("the inventory", func() error {
		vcenters, err := b.current()
		if err != nil {
			return err
		}
		if n := vcenters[0].Inventory.Status().VMs; n != want {
			return fmt.Errorf("%d VMs, want %d", n, want)
		}

		return nil
	})
}

// TestMachineFailedOver (VS-NODE-4): the VM ran alone and is off now, and its replica
// or restored copy runs with the name of the Node and another address.
func TestMachineFailedOver(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", pair("vc"))
	vm := b.fleet.VM("node-1")
	node := withAddress(nodeOf(vm), "10.0.0.1")
	b.know(node)
	b.wantAddress(node, "10.0.0.1")
	b.wantResult("the VM runs alone", node, "true", "false")
	other, err := vm.Clone("replica")
	if err := errors.Join(err, other.SetNICs(sim.NIC{IPs: []string{"10.9.9.9"}}), vm.PowerOff()); err != nil {
		t.Fatal(err)
	}
	for _, process := range []string{"known", "restarted"} {
		if process == "restarted" {
			b = b.restart()
			b.know(node)
		}
		b.eventually(process+": the Node has the address of the replica", func() error {
			m, err := b.instances.InstanceMetadata(t.Context(), node)
			if err == nil && (len(m.NodeAddresses) < 2 || m.NodeAddresses[1].Address != "10.9.9.9") {
				err = fmt.Errorf("addresses %v", m.NodeAddresses)
			}

			return err
		})
		b.wantResult(process, node, "true", "false")
	}
}

// TestDeletedClone (VS-NODE-13): the VM of another Node does not keep the Node of a
// clone that was deleted.
func TestDeletedClone(t *testing.T) {
	t.Parallel()
	b := newFixture(t, "", pair("vc"))
	vm := b.fleet.VM("node-1")
	other, err := vm.Clone("clone")
	if err := errors.Join(err, other.SetHostname("node-9")); err != nil {
		t.Fatal(err)
	}
	node := withAddress(nodeOf(vm), "10.0.0.1")
	deleted := nodeOf(vm)
	deleted.Name = "node-9"
	b.know(node, deleted)
	b.wantExists(deleted, true)
	if err := other.Destroy(); err != nil {
		t.Fatal(err)
	}
	b.wantExists(deleted, false)
	b.wantExists(node, true)
}
