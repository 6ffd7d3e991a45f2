package vsphere

import (
	"fmt"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
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
	delete(unlabeled.Labels, LabelVCenter)
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
		if got := instance.ReasonOf(err); got != reasonVCenterUnavailable {
			return fmt.Errorf("reason %q of %w, want %q", got, err, reasonVCenterUnavailable)
		}

		return nil
	})
	b.wantEvent(events, "VCenterUnavailable the VM is missing in vCenter a. The Node is kept, since vCenter b cannot be searched")
	if err := b.fleet.VCenter("b").Up(); err != nil {
		t.Fatal(err)
	}
	b.wantExists(node, false)
}

// TestRetiredVCenter (VS-NODE-15): nothing waits for a retired vCenter, and it need
// not respond for a Node to be deleted. Its Nodes are kept, and found while it does.
func TestRetiredVCenter(t *testing.T) {
	t.Parallel()
	b := newPlaces(t)
	node, inB, all := b.initializeAll()
	vc := b.fleet.VCenter("b")
	vc.Hang()
	b.text = strings.Replace(b.text, section("b", vc), section("b", vc)+"retired = true\n", 1)
	b = b.restart()
	b.know(all...)
	events := record.NewFakeRecorder(1000)
	b.instances.SetRecorder(events)
	b.wantExists(node, true)
	if err := b.fleet.VM("node-a").PowerOff(); err != nil {
		t.Fatal(err)
	}
	unlabeled := node.DeepCopy()
	delete(unlabeled.Labels, LabelVCenter)
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
