package nodes

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/cache"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// VCenter is one configured vCenter.
type VCenter struct {
	// Name is that of its section.
	Name string
	// Retired means that nothing waits for it, and that it need not respond for a VM
	// to be missing.
	Retired   bool
	Snapshot  *metrics.Snapshot
	Rules     AddressRules
	Inventory *inventory.Inventory

	// searches limits those that are made before the first inventory is read.
	searches *rate.Limiter
	warnings *warnings
}

// arrives reports whether the first inventory is still being read.
func (vc *VCenter) arrives() bool {
	status := vc.Inventory.Status()

	return !vc.Retired && !status.Synced && status.Err == nil
}

// awaitInventory waits until then for the first inventory, while it is being read.
func (vc *VCenter) awaitInventory(ctx context.Context, until time.Time) {
	if !vc.arrives() {
		return
	}
	ctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	_ = vc.Inventory.WaitSynced(ctx) // what is not read then is an error of the lookup
}

// find looks VMs up in the inventory.
func (vc *VCenter) find(q inventory.Query) ([]vm, error) {
	current := vc.Inventory.Current() == nil
	found, err := vc.Inventory.Find(q)
	if len(found) > 0 {
		vc.Snapshot.Observe(cache.Hit)
	}

	return vc.own(found, current), err
}

// confirm queries the vCenter itself.
func (vc *VCenter) confirm(ctx context.Context, q inventory.Query) ([]vm, error) {
	vc.Snapshot.Observe(cache.Miss)
	found, err := vc.Inventory.Confirm(ctx, q)

	return vc.own(found, true), err
}

func (vc *VCenter) own(found []*inventory.VM, current bool) []vm {
	return lists.Map(found, func(v *inventory.VM) vm { return vm{VM: v, vcenter: vc, current: current} })
}
