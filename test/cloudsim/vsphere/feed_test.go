package vsphere

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

func TestFeedPagesIn(t *testing.T) {
	t.Parallel()
	const n = 1000
	spec := small()
	spec.VCenters[0].Datacenters[0].VMs = Fleet("node", n)
	v := start(t, spec).VCenter("vc")
	w := startWatch(t, login(t, v))
	v.Reset()
	kinds := make(map[string]int)
	for _, update := range w.pageIn(t) {
		if update.Kind != types.ObjectUpdateKindEnter {
			t.Fatalf("%s of %s, want enter", update.Kind, update.Obj)
		}
		kinds[update.Obj.Type]++
	}
	want := map[string]int{
		"VirtualMachine": n, "HostSystem": 2, "ClusterComputeResource": 1, "ResourcePool": 1, "Folder": 4, "Datacenter": 1,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
	if v.Polls() != (n+9+maxUpdates-1)/maxUpdates || v.Total() != 0 {
		t.Errorf("%d polls and %d other calls to page %d objects in", v.Polls(), v.Total(), n+9)
	}
	const burst = 300
	for _, vm := range v.VMs()[:burst] { // is delivered, each VM once or more
		if err := vm.SetHostname("new-" + vm.Name()); err != nil {
			t.Fatal(err)
		}
	}
	changed := make(map[types.ManagedObjectReference]bool)
	for len(changed) < burst {
		updates, _, err := w.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, update := range updates {
			changed[update.Obj] = true
		}
	}
}

func TestFeedReportsChanges(t *testing.T) {
	t.Parallel()
	const modify, enter, leave = types.ObjectUpdateKindModify, types.ObjectUpdateKindEnter, types.ObjectUpdateKindLeave
	nics := func(vm *VM) error { return vm.SetNICs(NIC{IPs: []string{"10.0.0.1", "10.0.0.9"}}) }
	metadata := func(vm *VM) error {
		return vm.SetExtraConfig(map[string]string{"guestinfo.metadata": "e30=", "unrelated": "x"})
	}
	disconnect := func(vm *VM) error { return vm.SetConnectionState(types.VirtualMachineConnectionStateDisconnected) }
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
		"Suspend":     {"a suspended guest keeps its networks", (*VM).Suspend, modify, []string{"runtime.powerState"}},
		"SetHostname": {"the guest is renamed", func(vm *VM) error { return vm.SetHostname("other") }, modify, []string{"guest.hostName"}},
		"SetNICs":     {"an address is added", nics, modify, []string{"guest.net"}},
		"SetTools": {
			"tools stop", func(vm *VM) error { return vm.SetTools(false) }, modify,
			[]string{"guest.hostName", "guest.net"},
		},
		"SetExtraConfig":     {"one key of an array is watched", metadata, modify, []string{`config.extraConfig["guestinfo.metadata"]`}},
		"SetConnectionState": {"the host is disconnected", disconnect, modify, []string{"runtime.connectionState"}},
		"HideConfig": {
			"the files are inaccessible", func(vm *VM) error { return vm.HideConfig(true) }, modify,
			[]string{"summary.config.guestId", "summary.config.memorySizeMB", "summary.config.numCpu", "summary.config.uuid"},
		},
		"Migrate": {"vMotion", func(vm *VM) error { return vm.Migrate("host-2") }, modify, []string{"runtime.host"}},
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

func TestFeedReportsNewFolderOfVM(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	w := startWatch(t, login(t, v))
	w.pageIn(t)
	if err := v.VM("one").MoveTo("k8s/prod"); err != nil {
		t.Fatal(err)
	}
	updates, _, err := w.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, update := range updates {
		got = append(got, string(update.Kind)+" "+update.Obj.Type)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"enter Folder", "enter Folder", "modify VirtualMachine"}, got); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}

func TestFeedUnsetIsAssignedNil(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	w := startWatch(t, login(t, v))
	w.pageIn(t)
	if err := v.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	updates, _, err := w.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]types.AnyType)
	for _, change := range updates[0].ChangeSet {
		if values[change.Name] = change.Val; change.Op != types.PropertyChangeOpAssign {
			t.Errorf("%s: op %s, want assign", change.Name, change.Op)
		}
	}
	nics, ok := values["guest.net"].(types.ArrayOfGuestNicInfo)
	if !ok || len(nics.GuestNicInfo) != 0 || values["guest.hostName"] != nil {
		t.Errorf("values after power off: %#v", values)
	}
}

func TestFeedLostResponseIsSentAgain(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	w := startWatch(t, login(t, v))
	w.pageIn(t)
	rule := v.Inject("WaitForUpdatesEx", simserver.Nth(1), simserver.DropResponse())
	if err := v.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.next(t.Context()); err == nil || rule.Hits() != 1 {
		t.Fatalf("the response arrived, or failed otherwise: %v", err)
	}
	updates, _, err := w.next(t.Context())
	if err != nil || len(updates) != 1 || updates[0].Obj != v.VM("one").Reference() {
		t.Errorf("requested again: %v, %v", updates, err)
	}
	w.version = "7"
	if _, _, err := w.next(t.Context()); !isFault(err, &types.InvalidCollectorVersion{}) {
		t.Errorf("a version that never was: %v", err)
	}
	w.version = ""
	if all := w.pageIn(t); len(all) != 11 {
		t.Errorf("from the start again: %d objects, want 11", len(all))
	}
}

func TestFeedWaits(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := login(t, v)
	w := startWatch(t, client)
	w.pageIn(t)
	set, err := w.poll(t.Context(), 0)
	if set != nil || err != nil {
		t.Errorf("without waiting: %v, %v", set, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if set, err = w.poll(ctx, 1); set != nil || err != nil {
		t.Errorf("an idle wait of a second: %v, %v, want no response and no error", set, err)
	}
	waiting := func(end func()) error {
		v.Reset()
		done := make(chan error)
		go func() {
			_, _, err := w.next(t.Context())
			done <- err
		}()
		if err := v.WaitFor(t.Context(), "WaitForUpdatesEx", 1); err != nil {
			t.Fatal(err)
		}
		end()

		return <-done
	}
	err = waiting(func() {
		eventually(t, v.isPolling)
		if err := w.collector.CancelWaitForUpdates(t.Context()); err != nil {
			t.Error(err)
		}
	})
	if !isFault(err, &types.RequestCanceled{}) {
		t.Errorf("canceled: %v", err)
	}
	err = waiting(func() {
		eventually(t, v.isPolling)
		v.TerminateSessions()
	})
	if !isFault(err, &types.NotAuthenticated{}) {
		t.Errorf("session ended while waiting: %v", err)
	}
}

// isPolling reports whether a long poll has gone to sleep.
func (v *VCenter) isPolling() bool {
	v.mu.Lock()
	defer v.mu.Unlock()

	return len(v.sessions.polling) > 0
}

func TestFeedClientGivesUp(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	w := startWatch(t, login(t, v))
	w.pageIn(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, _, err := w.next(ctx)
		done <- err
	}()
	eventually(t, v.isPolling)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	eventually(t, func() bool { return !v.isPolling() }) // the server notices
	if err := v.VM("one").PowerOff(); err != nil {
		t.Fatal(err)
	}
	if updates, _, err := w.next(t.Context()); err != nil || len(updates) != 1 {
		t.Errorf("nothing is lost: %v, %v", updates, err)
	}
}

func TestFeedOfHostView(t *testing.T) {
	t.Parallel()
	v := start(t, small()).VCenter("vc")
	client := login(t, v)
	host := v.dcs[0].hosts[0].Self
	made, err := view.NewManager(client.Client).CreateContainerView(t.Context(), host, []string{"VirtualMachine"}, false)
	if err != nil {
		t.Fatal(err)
	}
	collector := property.DefaultCollector(client.Client)
	if _, err := collector.CreateFilter(t.Context(), viewFilter(made.Reference(),
		types.PropertySpec{Type: "VirtualMachine", PathSet: []string{"name"}})); err != nil {
		t.Fatal(err)
	}
	w := &watch{client: client, collector: collector}
	if all := w.pageIn(t); len(all) != 1 {
		t.Fatalf("VMs on host-1: %v", all)
	}
	for _, step := range []struct{ vm, host, kind string }{{"two", "host-1", "enter"}, {"one", "host-2", "leave"}} {
		if err := v.VM(step.vm).Migrate(step.host); err != nil {
			t.Fatal(err)
		}
		updates, _, err := w.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprint(len(updates), updates[0].Kind, updates[0].Obj)
		if want := fmt.Sprint(1, step.kind, v.VM(step.vm).Reference()); got != want {
			t.Errorf("after %s went to %s: %s, want %s", step.vm, step.host, got, want)
		}
	}
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
	w.version = truncated
	if _, _, err := w.next(t.Context()); !isFault(err, &types.InvalidCollectorVersion{}) {
		t.Errorf("from a truncated version that is not the last: %v", err)
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
