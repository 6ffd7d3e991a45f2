package vsphere

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"
)

func TestFeedReportsChanges(t *testing.T) {
	t.Parallel()
	const modify, enter, leave = types.ObjectUpdateKindModify, types.ObjectUpdateKindEnter, types.ObjectUpdateKindLeave
	metadata := func(vm *VM) error {
		return vm.SetExtraConfig(map[string]string{"guestinfo.metadata": "e30=", "unrelated": "x"})
	}
	add := func(vm *VM) error {
		_, err := vm.VCenter().AddVM("dc", VMSpec{Name: "three"})

		return err
	}
	always := []string{
		"guest.hostName", "guest.net", "name", "parent", "resourcePool", "runtime.connectionState", "runtime.host",
		"runtime.powerState", "summary.config.guestId", "summary.config.memorySizeMB", "summary.config.numCpu",
		"summary.config.uuid",
	}
	cases := map[string]struct {
		reason string
		change func(vm *VM) error
		kind   types.ObjectUpdateKind
		paths  []string
	}{
		"PowerOff": {
			"a guest that is off reports nothing", (*VM).PowerOff, modify,
			[]string{"guest.hostName", "guest.net", "runtime.powerState"},
		},
		"SetExtraConfig": {"one key of an array is watched", metadata, modify, []string{`config.extraConfig["guestinfo.metadata"]`}},
		"HideConfig": {
			"the files are inaccessible", func(vm *VM) error { return vm.HideConfig(true) }, modify,
			[]string{"summary.config.guestId", "summary.config.memorySizeMB", "summary.config.numCpu", "summary.config.uuid"},
		},
		"Destroy": {"the VM is gone", (*VM).Destroy, leave, nil},
		"AddVM":   {"a new VM, without metadata", add, enter, always},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := start(t, small()).VCenter("vc")
			w := startWatch(t, login(t, v))
			w.pageIn(t)
			if err := tc.change(v.VM("one")); err != nil {
				t.Fatal(err)
			}
			updates, _, err := w.next(t.Context())
			if err != nil || len(updates) != 1 {
				t.Fatalf("%s: updates %v, %v", tc.reason, updates, err)
			}
			var paths []string
			for _, change := range updates[0].ChangeSet {
				paths = append(paths, change.Name)
			}
			if diff := cmp.Diff(tc.paths, paths); diff != "" || updates[0].Kind != tc.kind {
				t.Errorf("%s: %s with paths (-want +got):\n%s", tc.reason, updates[0].Kind, diff)
			}
		})
	}
}

// isPolling reports whether a long poll has gone to sleep.
func (v *VCenter) isPolling() bool {
	v.mu.Lock()
	defer v.mu.Unlock()

	return len(v.sessions.polling) > 0
}

// A version that was not truncated stays good, a truncated one only until the next
// response.
func TestFeedAcceptsEarlierVersions(t *testing.T) {
	t.Parallel()
	spec := small()
	spec.VCenters[0].Datacenters[0].VMs = Fleet("node", maxUpdates)
	v := start(t, spec).VCenter("vc")
	w := startWatch(t, login(t, v))
	truncated := ""
	for more := true; more; {
		var err error
		if _, more, err = w.next(t.Context()); err != nil {
			t.Fatal(err)
		}
		if more {
			truncated = w.version
		}
	}
	whole := w.version
	for _, vm := range v.VMs()[:2] {
		if err := vm.PowerOff(); err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.next(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	w.version = whole
	if updates, _, err := w.next(t.Context()); err != nil || len(updates) != 2 {
		t.Errorf("from an earlier version: %d updates, %v, want 2", len(updates), err)
	}
	for reason, version := range map[string]string{"truncated, and not the last": truncated, "that never was": "1000"} {
		w.version = version
		if _, _, err := w.next(t.Context()); !isFault(err, &types.InvalidCollectorVersion{}) {
			t.Errorf("from a version %s: %v", reason, err)
		}
	}
}

func TestFeedReportsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	w := startWatch(t, login(t, v))
	w.pageIn(t)
	vm := v.VM("one")
	v.SetUnreadable(vm.Reference(), &types.SystemError{}, "name")
	updates, _, err := w.next(t.Context())
	if err != nil || len(updates) != 1 || len(updates[0].MissingSet) != 1 || updates[0].MissingSet[0].Path != "name" {
		t.Errorf("a property that cannot be read: %+v, %v", updates, err)
	}
	v.SetUnreadable(vm.Reference(), nil)
	updates, _, err = w.next(t.Context())
	if err != nil || len(updates) != 1 || len(updates[0].ChangeSet) != 1 || updates[0].ChangeSet[0].Val != "one" {
		t.Errorf("readable again: %+v, %v", updates, err)
	}
}
