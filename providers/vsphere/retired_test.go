package vsphere

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// initializeAll initializes the Nodes of newPlaces.
func (b fixture) initializeAll() (a, inB *v1.Node, all []*v1.Node) {
	b.t.Helper()
	for _, name := range []string{"node-a", "node-b", "node-c"} {
		all = append(all, b.initialize(kubetest.Node(name, kubetest.Tainted(), kubetest.NotReady(), old)))
	}

	return all[0], all[1], all
}

// TestLabelProvesShutdown (VS-NODE-14): a process that starts while one of two
// vCenters does not respond knows from the label of a Node that its VM, which is in
// the other one, is off. It does not delete the Node, and an Event says why.
func TestLabelProvesShutdown(t *testing.T) {
	t.Parallel()
	b := newPlaces(t)
	node, _, all := b.initializeAll()
	unlabeled := node.DeepCopy()
	delete(unlabeled.Labels, labelVCenter)
	unlabeled.Name = "another-name"
	b.fleet.VCenter("b").Down()
	if err := b.fleet.VM("node-a").PowerOff(); err != nil {
		t.Fatal(err)
	}
	b = b.restart()
	b.know(all...)
	b.wantResult("the label proves it", node, "true", "true")
	b.know(unlabeled)
	if shutdown, err := b.instances.InstanceShutdown(t.Context(), unlabeled); err == nil {
		t.Errorf("InstanceShutdown of a Node without the label is %t, want an error", shutdown)
	}
	b.know(all...)
	if err := b.fleet.VM("node-a").Destroy(); err != nil {
		t.Fatal(err)
	}
	events := record.NewFakeRecorder(1000)
	b.instances.SetRecorder(events)
	b.eventually("deletion is blocked", func() error {
		exists, err := b.instances.InstanceExists(t.Context(), node)
		if err == nil {
			return fmt.Errorf("InstanceExists is %t", exists)
		}
		if got := instance.ReasonOf(err); got != "VCenterUnavailable" {
			return fmt.Errorf("reason %q of %w, want VCenterUnavailable", got, err)
		}

		return nil
	})
	b.wantEvent(events, "VCenterUnavailable the VM is missing in vCenter a. The Node is kept, since vCenter b cannot be searched")
	if err := b.fleet.VCenter("b").Up(); err != nil {
		t.Fatal(err)
	}
	b.wantExists(node, false)
}

// retire is another process whose cloud-config has a retired vCenter.
func (b fixture) retire(name string) fixture {
	b.text = strings.Replace(b.text, section(name, b.fleet.VCenter(name)), section(name, b.fleet.VCenter(name))+"retired = true\n", 1)

	return b.restart()
}

// TestRetiredVCenter (VS-NODE-15, VS-NODE-16): nothing waits for a retired vCenter, and it need
// not respond for a Node to be deleted. Its Nodes are kept, and found while it does.
func TestRetiredVCenter(t *testing.T) {
	t.Parallel()
	b := newPlaces(t)
	node, inB, all := b.initializeAll()
	vc := b.fleet.VCenter("b")
	vc.Hang()
	b = b.retire("b")
	b.know(all...)
	events := record.NewFakeRecorder(1000)
	b.instances.SetRecorder(events)
	b.wantExists(node, true)
	if err := b.fleet.VM("node-a").PowerOff(); err != nil {
		t.Fatal(err)
	}
	unlabeled := node.DeepCopy()
	delete(unlabeled.Labels, labelVCenter)
	b.wantResult("no doubt because of the other vCenter", unlabeled, "true", "true")
	b.wantExists(inB, true)
	b.wantEvent(events, "UnknownVCenter")
	if err := b.fleet.VM("node-a").Destroy(); err != nil {
		t.Fatal(err)
	}
	b.wantExists(node, false)
	if err := vc.Up(); err != nil {
		t.Fatal(err)
	}
	if m := b.describe(inB); len(m.NodeAddresses) == 0 {
		t.Error("a Node in the retired vCenter has no addresses")
	}
	if err := b.fleet.VM("node-b").Destroy(); err != nil {
		t.Fatal(err)
	}
	b.awaitMissing(inB)
	b.wantKept(inB)
}

// TestRetiredVCenterThatWasRead (VS-NODE-15, VS-NODE-16): what a retired vCenter had counts only while it responds, also in the
// process that has read it. A Node whose VM that process found there is kept, also without the label.
func TestRetiredVCenterThatWasRead(t *testing.T) {
	t.Parallel()
	b := newPlaces(t).retire("b")
	inA, moved, all := b.initializeAll()
	left := all[2]
	for _, node := range all {
		delete(node.Labels, labelVCenter)
	}
	b.know(all...)
	b.wantExists(inA, true)
	b.wantExists(moved, true)
	b.wantExists(left, true)
	events := record.NewFakeRecorder(1000)
	b.instances.SetRecorder(events)
	uuid := b.fleet.VM("node-b").UUID()
	b.fleet.VCenter("b").Down()
	vm, err := b.fleet.VCenter("a").AddVM("dc", sim.VMSpec{Name: "node-b", UUID: uuid, NICs: []sim.NIC{{IPs: []string{"10.0.0.22"}}}})
	if err != nil {
		t.Fatal(err)
	}
	b.eventually("the Node follows its VM", func() error {
		if m := b.describe(moved); m.NodeAddresses[1].Address != "10.0.0.22" {
			return fmt.Errorf("addresses %v", m.NodeAddresses)
		}

		return nil
	})
	if err := vm.PowerOff(); err != nil {
		t.Fatal(err)
	}
	b.eventually("the Node is shut down", func() error {
		if shutdown, err := b.instances.InstanceShutdown(t.Context(), moved); !shutdown {
			return fmt.Errorf("InstanceShutdown is false, %w", err)
		}

		return nil
	})
	if err := vm.Destroy(); err != nil {
		t.Fatal(err)
	}
	b.wantExists(moved, false)
	b.awaitMissing(left)
	b.wantKept(left)
	b.wantEvent(events, "UnknownVCenter")
}

// TestRetiredVCenterIsLoggedInToLast (VS-NODE-15): a retired vCenter that refuses the account does not delay the login to
// the others.
func TestRetiredVCenterIsLoggedInToLast(t *testing.T) {
	t.Parallel()
	vc := startVCenter(t, one(sim.VMSpec{Name: "node-1", NICs: []sim.NIC{{IPs: []string{"10.0.0.1"}}}}))
	retired := startVCenter(t, sim.VCenterSpec{Name: "retired", Password: "another"})
	vc.Inject("RetrieveServiceContent", simserver.Always(), simserver.Slow(time.Second))
	var first atomic.Bool
	retired.Inject("Login", simserver.Always(), simserver.Before(func() { first.CompareAndSwap(false, len(vc.Sessions()) == 0) }))
	b := fixture{t: t, cloud: connect(t, configOf(vc)+section("retired", retired)+"retired = true\n")}
	b.eventually("the retired vCenter refuses the password", func() error {
		if len(retired.RefusedLogins()) == 0 {
			return errors.New("no login")
		}

		return nil
	})
	if first.Load() {
		t.Error("the retired vCenter was tried before the other one had a session")
	}
	b.describe(kubetest.Node("node-1", kubetest.ProviderID(id(vc.VM("node-1"))), kubetest.Tainted()))
}
