package inventory

import (
	"fmt"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

const otherUUID = "423740e7-c66e-05e3-9d0b-000000000002"

// A vCenter on which VMs come and go all day must not drop the tombstone of the
// VM that was a Node's.
func TestForeignVMsHaveNoTombstones(t *testing.T) {
	t.Parallel()
	folder := Ref{Type: "Folder", Value: "group-v1"}
	i := stored(nil, []types.ObjectUpdate{withUUID("vm-0", folder, uuid)})
	change(i, leave(typeVM, "vm-0"))
	for n := range 2 * maxTombstones {
		id := fmt.Sprintf("vm-%d", n+1)
		change(i, withUUID(id, folder, fmt.Sprintf("423740e7-0000-05e3-9d0b-%012x", n)))
		change(i, leave(typeVM, id))
	}
	if n := len(i.store.memory.order); n != 1 {
		t.Errorf("%d VMs have tombstones, want that of the Node", n)
	}
	if i.Absence(byID(uuid)).Left.IsZero() {
		t.Error("when the VM of the Node left is not stored any more")
	}
}

// The queried UUIDs are bounded as well, and expire after an hour.
func TestQueriedIsBounded(t *testing.T) {
	t.Parallel()
	a, now := newQueried(), time.Now()
	for n := range maxQueried + 10 {
		a.note(byID(fmt.Sprint(n)), now)
	}
	if n := len(a.at); n != maxQueried || a.has(fmt.Sprint(maxQueried)) {
		t.Errorf("%d UUIDs are kept, want %d", n, maxQueried)
	}
	a.note(byID("late"), now.Add(queriedTTL+time.Second))
	if !a.has("late") || a.has("0") {
		t.Error("an old UUID keeps out a new one")
	}
}

// The time for which a VM has been missing counts from when the inventory is
// complete, and anew after a break.
func TestAbsenceIsCountedFromACompleteInventory(t *testing.T) {
	t.Parallel()
	folder := Ref{Type: "Folder", Value: "group-v1"}
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	read := func(i *Inventory, seconds int, updates ...types.ObjectUpdate) {
		i.store.beginReading(false)
		i.store.apply(updates, at(seconds))
		i.store.endReading()
	}
	node, other := withUUID("vm-1", folder, uuid), withUUID("vm-2", folder, otherUUID)
	cases := map[string]struct {
		reason string
		happen func(i *Inventory)
		want   Absence
	}{
		"Deleted": {
			"it left at a known moment", func(i *Inventory) {
				read(i, 0, node, other)
				i.store.apply([]types.ObjectUpdate{leave(typeVM, "vm-1")}, at(20))
				i.store.apply(nil, at(40))
			},
			Absence{Left: at(20), Complete: at(0), Visible: true, Hosted: true, Proven: true},
		},
		"Unresponsive": {
			"there was no response for more than half a minute", func(i *Inventory) {
				read(i, 0, node, other)
				i.store.apply([]types.ObjectUpdate{leave(typeVM, "vm-1")}, at(20))
				i.store.responded(at(51), 20*time.Second)
				i.store.apply(nil, at(51))
			},
			Absence{Left: at(20), Complete: at(51), Visible: true, Hosted: true, Proven: true},
		},
		"LateResponse": {
			"a poll may take longer than half a minute", func(i *Inventory) {
				read(i, 0, node, other)
				i.store.apply([]types.ObjectUpdate{leave(typeVM, "vm-1")}, at(20))
				i.store.responded(at(60), 40*time.Second)
				i.store.apply(nil, at(60))
			},
			Absence{Left: at(20), Complete: at(0), Visible: true, Hosted: true, Proven: true},
		},
		"ReadAnew": {
			"the vCenter was restarted and no longer has it", func(i *Inventory) {
				read(i, 0, node, other)
				read(i, 100, other)
			},
			Absence{Left: at(100), Complete: at(100), Visible: true, Hosted: true, Proven: true},
		},
		"BeingReadAnew": {
			"the inventory is not complete", func(i *Inventory) {
				read(i, 0, node, other)
				i.store.beginReading(false)
			},
			Absence{Visible: true, Hosted: true},
		},
		"Verified": {
			"the hourly reading is no break", func(i *Inventory) {
				read(i, 0, node, other)
				i.store.beginReading(true)
				i.store.apply([]types.ObjectUpdate{other}, at(10))
				i.store.endReading()
			},
			Absence{Left: at(10), Complete: at(0), Visible: true, Hosted: true, Proven: true},
		},
		"Restored": {
			"the vCenter no longer has any VM of a Node", func(i *Inventory) {
				read(i, 0, node, other)
				read(i, 100)
			},
			Absence{Left: at(100), Complete: at(100), Hosted: true},
		},
		"Last": {
			"the last VM of a Node was deleted", func(i *Inventory) {
				read(i, 0, node)
				i.store.apply([]types.ObjectUpdate{leave(typeVM, "vm-1")}, at(10))
			},
			Absence{Left: at(10), Complete: at(0), Hosted: true, Proven: true},
		},
		"NeverThere": {
			"the vCenter has VMs of others alone", func(i *Inventory) { read(i, 0, withUUID("vm-3", folder, unswapped)) },
			Absence{Complete: at(0)},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := New(nil, Config{Name: "vc"})
			i.store.queried.note(byID(uuid, otherUUID), start)
			tc.happen(i)
			if got := i.Absence(byID(uuid)); got != tc.want {
				t.Errorf("%s: %+v, want %+v", tc.reason, got, tc.want)
			}
		})
	}
}

// VS-NODE-4: Templates and the secondaries of Fault Tolerance groups have the
// UUID of a VM and are none.
func TestTemplatesAndSecondariesDoNotCount(t *testing.T) {
	t.Parallel()
	v, i := confirming(t)
	primary := v.VM("db")
	secondary, err := primary.AddSecondary()
	ok(t, err)
	template, err := primary.Clone("golden")
	ok(t, err)
	ok(t, template.PowerOff())
	ok(t, template.SetTemplate(true))
	check := func(want *cloudsim.VM) {
		t.Helper()
		eventually(t, func() string {
			vms, err := i.Find(byID(uuid))
			if err != nil || len(vms) != 1 || vms[0].Ref != want.Reference() {
				return fmt.Sprintf("Find = %v, %v, want %s alone", vms, err, want.Reference().Value)
			}

			return ""
		})
		vms, err := i.Confirm(t.Context(), byID(uuid))
		if err != nil || len(vms) != 1 || vms[0].Ref != want.Reference() {
			t.Errorf("Confirm = %s, %v, want %s alone", names(vms), err, want.Reference().Value)
		}
	}
	check(primary)
	ok(t, primary.FailOver(secondary))
	check(secondary)
}

// A reference that was a VM's can be that of another VM after a restore.
func TestReferenceOfAnotherVMIsNoProof(t *testing.T) {
	t.Parallel()
	v, i := confirming(t)
	vm := v.VM("db")
	one(t, i, byID(uuid))
	ok(t, v.Restore(vm))
	other, err := v.AddVMAs(vm.Reference(), "south", cloudsim.VMSpec{Name: "other", UUID: otherUUID})
	ok(t, err)
	eventually(t, func() string {
		vms, err := i.Find(byID(uuid))
		if err != nil || len(vms) > 0 {
			return fmt.Sprintf("Find = %s, %v", names(vms), err)
		}

		return ""
	})
	if vms, err := i.Confirm(t.Context(), byID(uuid)); len(vms) != 0 || err != nil {
		t.Errorf("Confirm = %s, %v, want none", names(vms), err)
	}
	if vms, err := i.Confirm(t.Context(), byID(otherUUID)); len(vms) != 1 || vms[0].Ref != other.Reference() || err != nil {
		t.Errorf("Confirm = %s, %v, want the other", names(vms), err)
	}
}

// Nothing that is known of one vCenter is true of another one at its address.
func TestAnotherVCenterStartsWithNothing(t *testing.T) {
	t.Parallel()
	v, i := confirming(t)
	one(t, i, byID(uuid))
	before := i.InstanceUUID()
	if before == "" || !i.Replaced().IsZero() {
		t.Fatalf("instance UUID %q, replaced at %s", before, i.Replaced())
	}
	ok(t, v.Restore(v.VM("db")))
	v.SetInstanceUUID(otherUUID)
	eventually(t, func() string {
		if i.InstanceUUID() != otherUUID {
			return "not noticed"
		}

		return ""
	})
	eventually(t, func() string {
		if _, err := i.Find(byID(uuid)); err != nil {
			return err.Error()
		}

		return ""
	})
	got := i.Absence(byID(uuid))
	if got.Complete.IsZero() || !got.Left.IsZero() || !got.Hosted || got.Proven || got.Visible || i.Replaced().IsZero() {
		t.Errorf("absence is %+v, replaced at %s, want nothing of the vCenter before", got, i.Replaced())
	}
}
