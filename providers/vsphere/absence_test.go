package vsphere

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nodes"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// withAbsence returns quick with other limits.
func withAbsence(p nodes.AbsenceLimits) tuning {
	times := quick
	times.absence = p

	return times
}

// lengthy are limits that no test outlasts.
var lengthy = nodes.AbsenceLimits{Visible: time.Hour, Alone: time.Hour}

// pair is a vCenter whose cluster has two hosts with a VM each.
func pair(name string) sim.VCenterSpec {
	vm := func(vm, host, ip string) sim.VMSpec {
		return sim.VMSpec{Name: vm, Host: host, NICs: []sim.NIC{{IPs: []string{ip}}}}
	}

	return sim.VCenterSpec{Name: name, Datacenters: []sim.DatacenterSpec{{
		Name:     "dc",
		Clusters: []sim.ClusterSpec{{Name: "c", Hosts: []sim.HostSpec{{Name: "host-1"}, {Name: "host-2"}}}},
		VMs:      []sim.VMSpec{vm("node-1", "host-1", "10.0.0.1"), vm("node-2", "host-2", "10.0.0.2")},
	}}}
}

func nodeOf(vm *sim.VM) *v1.Node {
	return kubetest.Node(vm.Name(), kubetest.ProviderID(id(vm)), kubetest.NotReady(), old)
}

// awaitMissing waits until no inventory has the VM of a Node.
func (b fixture) awaitMissing(node *v1.Node) {
	b.t.Helper()
	b.eventually("the VM is missing", func() error {
		result := b.source.Lookup(b.t.Context(), instance.Ref{ProviderID: node.Spec.ProviderID, NodeName: node.Name})
		if !result.IsAbsent() {
			return fmt.Errorf("Lookup: %v", result)
		}

		return nil
	})
}

// wantKept checks for a while that a Node whose VM is missing exists.
func (b fixture) wantKept(node *v1.Node) {
	b.t.Helper()
	for range 15 {
		if exists, err := b.instances.InstanceExists(b.t.Context(), node); !exists && err == nil {
			b.t.Fatal("the Node of a VM that returns would be deleted")
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.wantExists(node, true)
}

// TestVMThatReturnsIsNotGone (VS-NODE-9): a VM leaves the inventory and comes
// back under another reference.
func TestVMThatReturnsIsNotGone(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		leave  func(b fixture, vm *sim.VM) (back func() error, err error)
	}{
		"RegisteredAgain": {"an invalid VM is repaired like that", func(_ fixture, vm *sim.VM) (func() error, error) {
			return vm.Register, errors.Join(vm.PowerOff(), vm.Unregister())
		}},
		"HostAddedAgain": {"its VMs leave with a host", func(b fixture, _ *sim.VM) (func() error, error) {
			add, err := b.fleet.VCenter("vc").RemoveHost("host-1")

			return func() error {
				add()

				return nil
			}, err
		}},
		"Restored": {"the vCenter was restored from a backup without it", func(b fixture, vm *sim.VM) (func() error, error) {
			b.fleet.VCenter("vc").Down()

			return vm.Register, errors.Join(b.fleet.VCenter("vc").Restore(vm), b.fleet.VCenter("vc").Up())
		}},
		"MovedToAnotherVCenter": {"one vCenter does not have it yet and the other no more", func(b fixture, vm *sim.VM) (func() error, error) {
			back := func() error {
				_, err := vm.Arrive(b.fleet.VCenter("other"), "dc")

				return err
			}

			return back, errors.Join(vm.PowerOff(), vm.Unregister())
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixtureWith(t, withAbsence(lengthy), "", pair("vc"), sim.VCenterSpec{Name: "other", Datacenters: []sim.DatacenterSpec{{Name: "dc"}}})
			vm := b.fleet.VM("node-1")
			node := nodeOf(vm)
			b.wantExists(node, true)
			b.wantExists(nodeOf(b.fleet.VM("node-2")), true)
			before := vm.Reference()
			back, err := tc.leave(b, vm)
			if err != nil {
				t.Fatal(err)
			}
			b.awaitMissing(node)
			b.wantKept(node)
			if err := back(); err != nil || vm.Reference() == before {
				t.Fatalf("%v is back as %v, %v", before, vm.Reference(), err)
			}
			b.eventually(tc.reason, func() error {
				_, err := b.instances.InstanceMetadata(t.Context(), node)

				return err
			})
			b.wantExists(node, true)
		})
	}
}

// TestNoVMOfAnyNodeIsNoProof: a vCenter that has none of the VMs of the Nodes any
// more is the wrong one, or was restored from an old backup. Once it has one of them,
// the others are gone.
func TestNoVMOfAnyNodeIsNoProof(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		replace func(vc *sim.VCenter)
		event   string
	}{
		"Restored":       {"it is the same vCenter", func(*sim.VCenter) {}, "no VM of any Node has been found in vCenter vc"},
		"AnotherVCenter": {"it is another one", func(vc *sim.VCenter) { vc.SetInstanceUUID("11111111-2222-4333-8444-555555555555") }, "NoInstanceFound"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newFixture(t, "", pair("vc"))
			events := record.NewFakeRecorder(100)
			b.instances.SetRecorder(events)
			vc, one, two := b.fleet.VCenter("vc"), b.fleet.VM("node-1"), b.fleet.VM("node-2")
			lost, found := nodeOf(one), nodeOf(two)
			b.wantExists(lost, true)
			b.wantExists(found, true)
			vc.Down()
			if err := vc.Restore(one, two); err != nil {
				t.Fatal(err)
			}
			tc.replace(vc)
			if err := vc.Up(); err != nil {
				t.Fatal(err)
			}
			b.awaitMissing(lost)
			b.wantKept(lost)
			b.eventually("an Event", func() error {
				select {
				case event := <-events.Events:
					if strings.Contains(event, "Warning NoInstanceFound") && strings.Contains(event, tc.event) {
						return nil
					}

					return fmt.Errorf("%s: last Event is %q", tc.reason, event)
				default:
					return errors.New("no Event")
				}
			})
			if err := two.Register(); err != nil {
				t.Fatal(err)
			}
			b.eventually("the VM that was registered is found", func() error {
				_, err := b.instances.InstanceMetadata(t.Context(), found)

				return err
			})
			b.wantExists(lost, false)
		})
	}
}

// TestOtherVMWithTheReferenceOfANode: after a restore the reference of a Node's VM
// is that of another VM, whose host name and addresses are not the Node's.
func TestOtherVMWithTheReferenceOfANode(t *testing.T) {
	t.Parallel()
	b := newFixtureWith(t, withAbsence(lengthy), "", pair("vc"))
	vm := b.fleet.VM("node-1")
	node := nodeOf(vm)
	b.describe(node)
	if err := b.fleet.VCenter("vc").Restore(vm); err != nil {
		t.Fatal(err)
	}
	if _, err := b.fleet.VCenter("vc").AddVMAs(vm.Reference(), "dc", sim.VMSpec{
		Name: "other-vm", NICs: []sim.NIC{{IPs: []string{"10.9.9.9"}}},
	}); err != nil {
		t.Fatal(err)
	}
	b.awaitMissing(node)
	for range 5 {
		if m, err := b.instances.InstanceMetadata(t.Context(), node); err == nil {
			t.Fatalf("the Node got %v of another VM", m.NodeAddresses)
		}
	}
	b.wantExists(node, true)
}

// TestMissingVMIsSearchedOnceAtFirst: the lifecycle controller checks every
// five seconds for each Node that is not ready.
func TestMissingVMIsSearchedOnceAtFirst(t *testing.T) {
	t.Parallel()
	b := newFixtureWith(t, withAbsence(lengthy), "", pair("vc"))
	vm := b.fleet.VM("node-1")
	node := nodeOf(vm)
	b.wantExists(node, true)
	if err := vm.Destroy(); err != nil {
		t.Fatal(err)
	}
	b.awaitMissing(node)
	b.fleet.VCenter("vc").Reset()
	b.wantKept(node)
	if n := b.fleet.VCenter("vc").Count("FindAllByUuid"); n != 2 {
		t.Errorf("%d searches, want one for each byte order of the UUID", n)
	}
}

// TestLastNodeOfAVCenterIsDeletedAfterADay (VS-NODE-9): a vCenter that has none of the
// VMs of Nodes since the controller started is the right one after a day, unless another
// one responds at its address.
func TestLastNodeOfAVCenterIsDeletedAfterADay(t *testing.T) {
	t.Parallel()
	const day = 500 * time.Millisecond
	cases := map[string]struct {
		reason   string
		unproven time.Duration
		replaced bool
		gone     bool
	}{
		"Soon":     {"the vCenter may have been restored from a backup", time.Hour, false, false},
		"Later":    {"its VMs would have been registered", day, false, true},
		"Replaced": {"it is not the vCenter of the Node", day, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			times := withAbsence(nodes.AbsenceLimits{Visible: quick.absence.Visible, Alone: quick.absence.Alone, Unproven: tc.unproven})
			b := newFixtureWith(t, times, "", pair("a"), sim.VCenterSpec{Name: "b", Datacenters: []sim.DatacenterSpec{{Name: "dc", VMs: []sim.VMSpec{{Name: "last"}}}}})
			nodes := []*v1.Node{nodeOf(b.fleet.VM("node-1")), nodeOf(b.fleet.VM("last"))}
			b.awaitInventories()
			vcenters, err := b.current()
			if err != nil {
				t.Fatal(err)
			}
			for n, vc := range vcenters {
				b.wantExists(nodes[n], true)
				nodes[n].Labels[labelVCenter] = vc.Inventory.InstanceUUID()
			}
			vc := b.fleet.VCenter("b")
			vc.Down()
			if err := b.fleet.VM("last").Destroy(); err != nil {
				t.Fatal(err)
			}
			if tc.replaced {
				vc.SetInstanceUUID("11111111-2222-4333-8444-555555555555")
				delete(nodes[1].Labels, labelVCenter) // which keeps the Node alone
			}
			if err := vc.Up(); err != nil {
				t.Fatal(err)
			}
			if !tc.replaced {
				b = b.restart()
			}
			b.know(nodes...)
			b.eventually("vCenter b is read anew", func() error {
				vcenters, err := b.current()
				if err != nil {
					return err
				}
				if tc.replaced && vcenters[1].Inventory.Replaced().IsZero() {
					return errors.New("it is not replaced yet")
				}

				return vcenters[1].Inventory.Current()
			})
			b.wantExists(nodes[0], true) // evidence
			b.awaitMissing(nodes[1])
			if tc.gone {
				b.wantExists(nodes[1], false)
			} else {
				b.wantKept(nodes[1])
			}
		})
	}
}
