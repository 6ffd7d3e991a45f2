package vsphere

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// arriving is a provider with the times of production that starts in a vCenter whose
// inventory has 30 pages, of 0.7 s each.
func arriving(t *testing.T, vms ...sim.VMSpec) (fixture, *sim.VCenter) {
	t.Helper()
	const objects = 10
	spec := one(append(sim.Fleet("foreign", 30*objects), vms...)...)
	spec.InMemory, spec.Latency = true, 30*time.Millisecond
	vc := startVCenter(t, spec)
	vc.SetUpdatePage(objects)
	vc.SetCalculationTime(700 * time.Millisecond)

	return fixture{t: t, cloud: connectTo(t, configOf(vc), kubetest.NewClientset(), tuning{session: session.Options{Dial: vc.Dial}})}, vc
}

// members are the VMs of so many Nodes, and their Nodes as kubelets register them.
func members(count int) ([]sim.VMSpec, []*v1.Node) {
	var vms []sim.VMSpec
	var nodes []*v1.Node
	for n := range count {
		uuid := fmt.Sprintf("%08x-0000-4000-8000-42d0c0ffee00", n)
		vms = append(vms, sim.VMSpec{Name: fmt.Sprint("node-", n), UUID: uuid, NICs: []sim.NIC{{IPs: []string{fmt.Sprintf("10.0.%d.%d", n/250, n%250+1)}}}})
		nodes = append(nodes, kubetest.Node(vms[n].Name, kubetest.Tainted(), kubetest.SystemUUID(firmwareUUID(uuid))))
	}

	return vms, nodes
}

// VS-FEED-9: a Node is initialized while the inventory is being read for the first time,
// from the VM that is its own, and not from a copy that the feed reports before.
func TestFirstNodeDoesNotWaitForTheInventory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		vms, nodes := members(1)
		clone := vms[0]
		clone.Name, clone.NICs = "clone", []sim.NIC{{IPs: []string{"10.9.9.9"}}}
		b, vc := arriving(t, append([]sim.VMSpec{clone}, vms...)...)
		began := time.Now()
		if got := b.describe(nodes[0]).NodeAddresses[1].Address; got != vms[0].NICs[0].IPs[0] {
			t.Errorf("it has the address %s of another VM", got)
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it is described after %s", took)
		}
		if vcenters, err := b.current(); err != nil || vcenters[0].Inventory.Status().Synced {
			t.Errorf("the inventory has been read, or %v", err)
		}
		// A search, the VMs and what is above them, and the details.
		if got := vc.Count("RetrieveProperties") + vc.Count("RetrievePropertiesEx"); vc.Count("FindAllByUuid") != 1 || got > 3 {
			t.Errorf("calls %v, want a search and 3 reads at most", vc.Calls())
		}
	})
}

// VS-FEED-9: when many Nodes are looked up, most of them wait for the inventory, and
// all that are initialized already. None is gone meanwhile.
func TestManyNodesWaitForTheInventory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		vms, nodes := members(40)
		old := kubetest.CreatedAt(time.Now().Add(-time.Hour))
		for n := range nodes[:20] {
			nodes[n] = kubetest.Node(nodes[n].Name, old, kubetest.NotReady(), kubetest.ProviderID("vsphere://"+vms[n].UUID))
		}
		gone := kubetest.Node("gone", old, kubetest.NotReady(), kubetest.ProviderID("vsphere://"+sharedUUID))
		b, vc := arriving(t, vms...)
		b.know(append(nodes, gone)...)
		var all sync.WaitGroup
		for _, node := range append(nodes, gone) {
			all.Go(func() {
				exists, err := b.instances.InstanceExists(t.Context(), node)
				if err == nil && !exists {
					t.Errorf("%s is gone before the inventory was read", node.Name)
				}
				if node != gone {
					b.describe(node)
				}
			})
		}
		all.Wait()
		if vcenters, err := b.current(); err != nil || !vcenters[0].Inventory.Status().Synced {
			t.Errorf("the inventory has not been read, or %v", err)
		}
		// One, and another one every ten of 21 seconds.
		if got := vc.Count("FindAllByUuid"); got < 1 || got > 3 {
			t.Errorf("%d searches, want 3 at most; calls %v", got, vc.Calls())
		}
	})
}
