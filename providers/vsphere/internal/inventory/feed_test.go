package inventory

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// VS-FEED-1: the start costs three calls and one page per hundred objects; then
// looking up costs none.
func TestInitialSyncOfThousandVMs(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{Name: "dc", VMs: cloudsim.Fleet("vm", 1000)}}})

	began := time.Now()
	i, _ := start(t, v, Config{})
	waitSynced(t, i)
	took := time.Since(began)

	status := i.Status()
	if status.VMs != 1000 || status.Incomplete != nil {
		t.Errorf("Status() = %+v, want 1000 VMs and nothing missing", status)
	}
	t.Logf("%d VMs and %d places in %s: %v", status.VMs, status.Ancestors, took.Round(time.Millisecond), v.Calls())
	pages := (status.VMs+status.Ancestors+99)/100 + 1 // and the long poll that may have begun
	if got := v.Polls(); got > pages {
		t.Errorf("WaitForUpdatesEx was called %d times, want at most %d", got, pages)
	}
	want := map[string]int{"CreatePropertyCollector": 1, "CreateContainerView": 1, "CreateFilter": 1}
	if diff := cmp.Diff(want, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	v.Reset()
	for _, vm := range v.VMs() {
		if got := one(t, i, byID(vm.UUID())).Name; got != vm.Name() {
			t.Fatalf("found %s, want %s", got, vm.Name())
		}
	}
	if got := calls(v); len(got) != 0 {
		t.Errorf("finding made calls: %v", got)
	}
}

// VS-FEED-2: whatever matters of a VM arrives with the feed.
func TestVMHasWhatTheVCenterReports(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{Name: "dc", VMs: []cloudsim.VMSpec{{
		Name: "web-0", Hostname: "Web-0.example.com", UUID: "423740E7-C66E-05E3-9D0B-9E1205B24D43",
		NICs: []cloudsim.NIC{
			{IPs: []string{"10.0.0.7", "fe80::1"}},
			{Network: "bridge", IPs: []string{"172.17.0.1"}, DeviceConfigID: new(int32(-1))},
		},
		ExtraConfig: map[string]string{
			"guestinfo.metadata": "bmV0d29yazoge30=", "guestinfo.metadata.encoding": "base64", "guestinfo.userdata": "secret",
		},
	}}}}})
	i := watch(t, v, Config{})

	got := *one(t, i, byID("423740E7-C66E-05E3-9D0B-9E1205B24D43"))
	for name, r := range map[string]Ref{"Host": got.Host, "Pool": got.Pool, "Parent": got.Parent, "Datacenter": got.Datacenter} {
		if r == (Ref{}) {
			t.Errorf("%s is not set", name)
		}
	}
	if got.Observed.IsZero() {
		t.Error("Observed is not set")
	}
	got.Host, got.Pool, got.Parent, got.Datacenter, got.Observed = Ref{}, Ref{}, Ref{}, Ref{}, time.Time{}
	want := VM{
		Ref: v.VM("web-0").Reference(), Name: "web-0", UUID: "423740e7-c66e-05e3-9d0b-9e1205b24d43",
		HostName: "Web-0.example.com", IPAddress: "10.0.0.7", InScope: true,
		Power: types.VirtualMachinePowerStatePoweredOn, Connection: types.VirtualMachineConnectionStateConnected,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("VM (-want +got):\n%s", diff)
	}
	if got := calls(v); len(got) != 0 {
		t.Errorf("it took calls: %v", got)
	}

	details, err := i.Details(t.Context(), &got)
	ok(t, err)
	wantDetails := &Details{
		NICs: []NIC{
			{Network: "VM Network", IPs: []string{"10.0.0.7", "fe80::1"}, DeviceConfigID: 4000},
			{DeviceConfigID: noDevice},
		},
		GuestID: "ubuntu64Guest", NumCPU: 2, MemoryMB: 4096,
		Metadata: Setting{Text: "bmV0d29yazoge30="}, MetadataEncoding: Setting{Text: "base64"}, uuid: got.UUID,
	}
	if diff := cmp.Diff(wantDetails, details, cmp.AllowUnexported(Details{})); diff != "" {
		t.Errorf("Details (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"RetrieveProperties": 1}, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// VS-FEED-2: changes arrive by the feed, without any other call.
func TestFollowsChanges(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{
		Name: "dc", Hosts: []cloudsim.HostSpec{{Name: "esx-1"}, {Name: "esx-2"}},
		VMs: []cloudsim.VMSpec{{Name: "web-0", Host: "esx-1", NICs: []cloudsim.NIC{{IPs: []string{"10.0.0.1"}}}}},
	}}})
	i := watch(t, v, Config{})
	vm := v.VM("web-0")
	before := *one(t, i, byID(vm.UUID()))

	steps := []struct {
		name   string
		change func() error
		seen   func(vm *VM) bool
	}{
		{"power off", vm.PowerOff, func(vm *VM) bool {
			return vm.Power == types.VirtualMachinePowerStatePoweredOff && vm.HostName == ""
		}},
		{"suspend", vm.Suspend, func(vm *VM) bool { return vm.Power == types.VirtualMachinePowerStateSuspended }},
		{"power on", vm.PowerOn, func(vm *VM) bool {
			return vm.Power == types.VirtualMachinePowerStatePoweredOn && vm.HostName == "web-0"
		}},
		{"NICs", func() error { return vm.SetNICs(cloudsim.NIC{IPs: []string{"10.1.1.1"}}) }, func(vm *VM) bool {
			return vm.IPAddress == "10.1.1.1"
		}},
		{"host name", func() error { return vm.SetHostname("other") }, func(vm *VM) bool { return vm.HostName == "other" }},
		{
			"host", func() error { return vm.Migrate("esx-2") },
			func(vm *VM) bool { return vm.Host != before.Host && vm.Pool != before.Pool },
		},
		{"folder", func() error { return vm.MoveTo("k8s/prod") }, func(vm *VM) bool { return vm.Parent != before.Parent }},
		{
			"connection", func() error { return vm.SetConnectionState(types.VirtualMachineConnectionStateDisconnected) },
			func(vm *VM) bool { return vm.Connection == types.VirtualMachineConnectionStateDisconnected },
		},
	}
	for _, step := range steps {
		ok(t, step.change())
		eventually(t, func() string {
			if vm := one(t, i, byID(vm.UUID())); !step.seen(vm) {
				return step.name + " was not noticed"
			}

			return ""
		})
	}
	if got := calls(v); len(got) != 0 {
		t.Errorf("following made calls: %v", got)
	}
	if got := one(t, i, byName("other")); got.UUID != vm.UUID() {
		t.Errorf("found %s by its new host name", got.Name)
	}
	if vms, err := i.Find(byName("web-9")); len(vms) != 0 || err != nil {
		t.Errorf("Find of an unknown name = %s, %v, want none", names(vms), err)
	}
}

// VS-FEED-2, VS-NODE-4: a VM that comes is found, one that goes is absent, and
// clones with one UUID are all found.
func TestVMsComeAndGo(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{})
	i := watch(t, v, Config{})
	vm := v.VM("web-0")
	expect := func(want string) {
		t.Helper()
		eventually(t, func() string {
			found, err := i.Find(byID(vm.UUID()))
			if err != nil {
				return err.Error()
			}
			if got := names(found); got != want {
				return "found " + got + ", want " + want
			}

			return ""
		})
	}
	uuid := vm.UUID()
	clone, err := vm.Clone("copy")
	ok(t, err)
	expect("web-0 copy")
	ok(t, clone.Destroy())
	expect("web-0")
	late, err := v.AddVM("dc", cloudsim.VMSpec{Name: "late", UUID: uuid})
	ok(t, err)
	ok(t, vm.Destroy())
	expect("late")
	ok(t, late.Destroy())
	expect("")
}

// VS-FEED-4, VS-SESSION-5: while the vCenter is away, what was found is still
// found and a miss is an error; afterwards, what vanished meanwhile is absent. A
// vCenter that does not respond at all is noticed.
func TestReconnects(t *testing.T) {
	t.Parallel()
	cases := map[string]func(v *cloudsim.VCenter){
		"connections are refused": (*cloudsim.VCenter).Down,
		"there is no response":    (*cloudsim.VCenter).Hang,
	}
	for name, fail := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, cloudsim.VCenterSpec{})
			i := watch(t, v, Config{MaxWait: time.Second, Margin: 3 * time.Second, CallTimeout: 3 * time.Second})
			gone, stays := v.VM("web-0"), v.VM("web-1")

			fail(v)
			eventually(t, func() string {
				if i.Status().Connected {
					return "still connected"
				}

				return ""
			})
			if err := i.Current(); !refers(err, "not connected") {
				t.Errorf("Current() = %v, want not connected", err)
			}
			one(t, i, byID(gone.UUID()))
			if _, err := i.Find(byID("unknown")); !refers(err, "not connected") {
				t.Errorf("Find of an unknown VM: %v, want not connected", err)
			}
			ok(t, gone.Destroy())
			_, err := v.AddVM("dc", cloudsim.VMSpec{Name: "late"})
			ok(t, err)

			v.Reset()
			ok(t, v.Up())
			current(t, i)
			if n := v.Count("CreatePropertyCollector") + v.Count("CreateFilter"); n != 0 {
				t.Errorf("%d objects were made, want the same feed to go on", n)
			}
			one(t, i, byID(stays.UUID()))
			one(t, i, byID(v.VM("late").UUID()))
			none(t, "Find", func() ([]*VM, error) { return i.Find(byID(gone.UUID())) })
			none(t, "Confirm", func() ([]*VM, error) { return i.Confirm(t.Context(), byID(gone.UUID())) })
		})
	}
}

// none checks that a VM is not found. A feed with such short timeouts may be disconnected again
// for a moment, which is an error.
func none(t *testing.T, what string, look func() ([]*VM, error)) {
	t.Helper()
	eventually(t, func() string {
		vms, err := look()
		if len(vms) != 0 {
			t.Errorf("%s of the vanished VM = %s, want none", what, names(vms))
		}
		switch {
		case err == nil:
			return ""
		case !refers(err, "not connected"):
			t.Errorf("%s of the vanished VM: %v, want none", what, err)

			return ""
		}

		return what + " of the vanished VM: " + err.Error()
	})
}

// VS-SESSION-2, VS-FEED-6: when the session ends in the middle of a long poll,
// the feed starts over in the next one and leaves nothing behind.
func TestSurvivesEndOfSession(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{})
	i := watch(t, v, Config{})
	v.TerminateSessions()
	ok(t, v.VM("web-0").SetHostname("renamed"))
	eventually(t, func() string {
		vms, err := i.Find(byName("renamed"))
		if err != nil {
			return err.Error()
		}
		if len(vms) != 1 {
			return "the change was not noticed"
		}

		return ""
	})
	collectors := 0
	for _, s := range v.Sessions() {
		collectors += s.Collectors
	}
	if collectors != 1 {
		t.Errorf("%d property collectors, want 1", collectors)
	}
}

// VS-FEED-3: the first pages are no inventory. What a search finds is there, and what it
// does not find is not known to be absent.
func TestPartOfTheInventoryIsNone(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{Name: "dc", VMs: cloudsim.Fleet("vm", 150)}}})
	second := v.Inject("WaitForUpdatesEx", simserver.From(2), simserver.Status(http.StatusServiceUnavailable))
	i, _ := start(t, v, Config{})
	eventually(t, func() string {
		if i.Status().Err == nil {
			return "no failure yet"
		}

		return ""
	})
	if status := i.Status(); status.Synced || status.VMs != 0 {
		t.Errorf("Status() = %+v, want nothing", status)
	}
	vm := v.VMs()[0]
	if vms, err := i.Find(byID(vm.UUID())); len(vms) != 0 || !errors.Is(err, errNotSynced) || !refers(err, "503") {
		t.Errorf("Find = %s, %v, want not synced and the reason", names(vms), err)
	}
	if vms, err := i.Confirm(t.Context(), byID(vm.UUID())); names(vms) != vm.Name() || err != nil {
		t.Errorf("Confirm = %s, %v, want %s", names(vms), err, vm.Name())
	}
	if vms, err := i.Confirm(t.Context(), byID(uuid)); len(vms) != 0 || !errors.Is(err, errNotSynced) {
		t.Errorf("Confirm = %s, %v, want not synced", names(vms), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := i.WaitSynced(ctx); !errors.Is(err, context.DeadlineExceeded) || !refers(err, "503") {
		t.Errorf("WaitSynced() = %v, want the deadline and the reason", err)
	}

	second.Remove()
	waitSynced(t, i)
	one(t, i, byID(vm.UUID()))
}

// VS-FEED-3: a partial set of pages after a reconnect does not replace what was
// there.
func TestPartOfTheInventoryReplacesNothing(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{{Name: "dc", VMs: cloudsim.Fleet("vm", 150)}}})
	i := watch(t, v, Config{})
	hold := simserver.NewHold()
	defer hold.Release()
	v.Reset()
	// The first poll of the new session finds out that the collector is gone, and
	// the second one reads the first page.
	v.Inject("WaitForUpdatesEx", simserver.From(3), hold.Before)
	v.TerminateSessions()
	if err := v.WaitFor(t.Context(), "WaitForUpdatesEx", 3); err != nil {
		t.Fatal(err)
	}
	for _, vm := range v.VMs() {
		one(t, i, byID(vm.UUID()))
	}
	if err := i.Current(); !refers(err, "not connected") {
		t.Errorf("Current() = %v, want not connected", err)
	}
}

// VS-FEED-6: nothing is left in the session, however often the feed had to start
// over.
func TestRunClearsUp(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{})
	v.Inject("WaitForUpdatesEx", simserver.First(2), cloudsim.Fault(&types.InvalidCollectorVersion{}))
	i, stop := start(t, v, Config{})
	waitSynced(t, i)
	stop()

	if err := i.Current(); !errors.Is(err, context.Canceled) {
		t.Errorf("Current() after the end = %v, want canceled", err)
	}
	if made := v.Count("CreatePropertyCollector"); made != 1 {
		t.Errorf("%d property collectors were made, want the same to be used again", made)
	}
	for _, s := range v.Sessions() {
		if s.Collectors+s.Filters+s.Views > 0 {
			t.Errorf("session has %d collectors, %d filters and %d views left", s.Collectors, s.Filters, s.Views)
		}
	}
}

// What cannot be removed does not keep the feed from starting over.
func TestReopensWithoutClearingUp(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{})
	v.Inject("WaitForUpdatesEx", simserver.First(1), cloudsim.Fault(&types.ManagedObjectNotFound{}))
	for _, op := range []string{"DestroyPropertyCollector", "DestroyView"} {
		v.Inject(op, simserver.Always(), cloudsim.Fault(&types.NoPermission{}))
	}
	i, _ := start(t, v, Config{})
	waitSynced(t, i)
	want := map[string]int{
		"CreatePropertyCollector": 2, "CreateContainerView": 2, "CreateFilter": 2,
		"DestroyPropertyCollector": 1, "DestroyView": 1,
	}
	if diff := cmp.Diff(want, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// recorder keeps the last request, and responds to none.
type recorder struct{ last any }

var errRecorded = errors.New("recorded")

func (r *recorder) RoundTrip(_ context.Context, req, _ soap.HasFault) error {
	r.last = req

	return errRecorded
}

func (r *recorder) SOAP(ctx context.Context, fn func(context.Context, *vim25.Client) error) error {
	return fn(ctx, &vim25.Client{RoundTripper: r})
}

func (r *recorder) REST(context.Context, func(context.Context, *rest.Client) error) error {
	return errRecorded
}

// VS-FEED-5: neither the wait nor the size of a response is without bounds.
func TestResponsesOfTheFeedAreBounded(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	f := newFeed(New(r, Config{MaxWait: 7 * time.Second}))
	f.objects.collector, f.version = Ref{Type: "PropertyCollector", Value: "session-1"}, "3"
	if _, err := f.poll(t.Context(), 7*time.Second); !errors.Is(err, errRecorded) {
		t.Fatalf("poll() = %v, want %v", err, errRecorded)
	}
	want := &types.WaitForUpdatesEx{
		This: f.objects.collector, Version: "3",
		Options: &types.WaitOptions{MaxWaitSeconds: new(int32(7)), MaxObjectUpdates: 500},
	}
	body, ok := r.last.(*methods.WaitForUpdatesExBody)
	if !ok {
		t.Fatalf("requested %T", r.last)
	}
	if diff := cmp.Diff(want, body.Req); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

// A vCenter that does not respond does not delay the end.
func TestRunEndsWithoutResponse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := simulate(t, cloudsim.VCenterSpec{InMemory: true})
		i, stop := run(t, newClientVia(t, v, v.Dial), Config{})
		waitSynced(t, i)
		v.Hang()
		begun := time.Now()
		stop()
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("the end took %s", took)
		}
		ok(t, v.Up())
	})
}

// FW-NODE-7, VS-FEED-5: a feed without a response for too long is not current.
func TestUnresponsiveIsNotCurrent(t *testing.T) {
	t.Parallel()
	now := clocktesting.NewFakePassiveClock(time.Now())
	i := New(nil, Config{Clock: now})
	if err := i.Current(); !errors.Is(err, errNotSynced) {
		t.Errorf("Current() at the start = %v, want not synced", err)
	}
	resync(i)
	i.health.markCurrent(now.Now())
	if err := i.Current(); err != nil {
		t.Errorf("Current() = %v, want nil", err)
	}
	now.SetTime(now.Now().Add(76 * time.Second))
	if err := i.Current(); !refers(err, "no response for 1m16s") {
		t.Errorf("Current() = %v, want no response", err)
	}
}

// VS-NODE-7: a VM that was inaccessible from the start may be any VM, until it
// reports its UUID.
func TestInaccessibleFromTheStart(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{})
	vm := v.VM("web-0")
	ok(t, vm.HideConfig(true))
	ok(t, vm.SetConnectionState(types.VirtualMachineConnectionStateInaccessible))
	i := watch(t, v, Config{})
	for _, q := range []Query{byID(vm.UUID()), byID("unknown")} {
		if vms, err := i.Find(q); len(vms) != 0 || !refers(err, `VM "web-0"`) || !refers(err, "inaccessible") || !errors.Is(err, ErrUnreadableVM) {
			t.Errorf("Find(%s) = %s, %v, want a doubt", q, names(vms), err)
		}
		if vms, err := i.Confirm(t.Context(), q); len(vms) != 0 || !refers(err, "does not report its UUID") || !errors.Is(err, ErrUnreadableVM) {
			t.Errorf("Confirm(%s) = %s, %v, want a doubt", q, names(vms), err)
		}
	}

	ok(t, vm.HideConfig(false))
	eventually(t, func() string {
		if vms, err := i.Find(byID("unknown")); len(vms) != 0 || err != nil {
			return err.Error()
		}

		return ""
	})
	one(t, i, byID(vm.UUID()))
}

// VS-NODE-7: an object that is there and cannot be read is there.
func TestUnreadableVMIsThere(t *testing.T) {
	t.Parallel()
	set := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{
		MissingSet: []types.MissingObject{{Obj: machine("vm-1"), Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{}}}},
	}}}
	updates, _ := updatesOf(set)
	i := stored(nil, append(twoDatacenters(), updates...))
	if vms, err := i.Find(byID(uuid)); len(vms) != 0 || !refers(err, "does not report its UUID") {
		t.Errorf("Find = %s, %v, want a doubt", names(vms), err)
	}
}

// Responses of the property collector that end the feed.
func TestUpdatesThatEndTheFeed(t *testing.T) {
	t.Parallel()
	f := &feed{objects: objects{view: Ref{Type: "ContainerView", Value: "view-1"}}}
	lost := types.LocalizedMethodFault{Fault: &types.NotAuthenticated{}}
	cases := map[string]struct {
		reason string
		set    *types.UpdateSet
		want   string
	}{
		"nothing": {reason: "no change within MaxWait"},
		"view is gone": {
			reason: "no change would ever be reported again",
			set: &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{
				MissingSet: []types.MissingObject{{Obj: f.objects.view, Fault: types.LocalizedMethodFault{Fault: &types.ManagedObjectNotFound{}}}},
			}}},
			want: "ManagedObjectNotFound",
		},
		"not logged in": {
			reason: "values that were not read must not look unset",
			set: &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{
				ObjectSet: []types.ObjectUpdate{{MissingSet: []types.MissingProperty{{Path: "name", Fault: lost}}}},
			}}},
			want: "NotAuthenticated",
		},
		"no permission": {
			reason: "one object that cannot be read does not affect the others",
			set: &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{
				MissingSet: []types.MissingObject{{Obj: Ref{Type: typeVM, Value: "vm-1"}, Fault: types.LocalizedMethodFault{Fault: &types.NoPermission{}}}},
			}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := f.usable(tc.set)
			if (err != nil) != (tc.want != "") || tc.want != "" && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: usable() = %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}
