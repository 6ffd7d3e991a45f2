package inventory

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// large is an inventory of 10,000 VMs, 100 on each of 100 hosts, in two folders and
// one resource pool.
func large() *Inventory {
	updates := append(twoDatacenters(),
		enter("ResourcePool", "pool", "name", "Resources", "parent", Ref{Type: "ClusterComputeResource", Value: "cluster"}),
		enter("ClusterComputeResource", "cluster", "name", "c", "parent", Ref{Type: typeDatacenter, Value: "datacenter-1"}),
		enter("Folder", "group-v3", "name", "tenant", "parent", north),
	)
	for n := range 100 {
		updates = append(updates, enter("HostSystem", fmt.Sprintf("host-%d", n), "name", "esx",
			"parent", Ref{Type: "ClusterComputeResource", Value: "cluster"}))
	}
	for n := range 10_000 {
		in := north
		if n%1000 == 0 {
			in = folder("group-v3")
		}
		updates = append(updates, vm(fmt.Sprintf("vm-%d", n), in, "summary.config.uuid", fmt.Sprintf("u-%d", n),
			"runtime.host", Ref{Type: "HostSystem", Value: fmt.Sprintf("host-%d", n%100)},
			"resourcePool", Ref{Type: "ResourcePool", Value: "pool"}))
	}

	return stored([]string{"north"}, updates)
}

// changesOfAncestors are changes as a busy vCenter has them, with the VMs that have to
// be looked at for them.
var changesOfAncestors = map[string]struct {
	update  types.ObjectUpdate
	settled int
}{
	"new pool":        {enter("ResourcePool", "new", "name", "new", "parent", Ref{Type: "ResourcePool", Value: "pool"}), 0},
	"renamed pool":    {modify("ResourcePool", "pool", "name", "other"), 0},
	"renamed folder":  {modify("Folder", "group-v1", "name", "other"), 0},
	"moved host":      {modify("HostSystem", "host-7", "parent", Ref{Type: "ComputeResource", Value: "alone"}), 100},
	"moved folder":    {modify("Folder", "group-v3", "parent", south), 10},
	"other tenant's":  {enter("Folder", "group-v9", "name", "x", "parent", south), 0},
	"same host again": {enter("HostSystem", "host-8", "name", "esx", "parent", Ref{Type: "ClusterComputeResource", Value: "cluster"}), 0},
}

// A change of an ancestor concerns the VMs below it and no others.
func TestChangesOfAncestorsConcernVMsBelow(t *testing.T) {
	t.Parallel()
	i := large()
	for name, tc := range changesOfAncestors {
		before := i.store.live.scopeUpdates
		change(i, tc.update)
		if got := i.store.live.scopeUpdates - before; got != tc.settled {
			t.Errorf("%s: %d of 10,000 VMs were looked at, want %d", name, got, tc.settled)
		}
	}
	if vms, err := i.Find(byID("u-1000")); len(vms) != 1 || vms[0].Datacenter.Value != "datacenter-2" {
		t.Errorf("VM in the folder that moved: %v, %v", names(vms), err)
	}
}

func BenchmarkChangesOfAncestors(b *testing.B) {
	i := large()
	for name, tc := range changesOfAncestors {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				i.store.apply([]types.ObjectUpdate{tc.update}, time.Now())
			}
		})
	}
}
