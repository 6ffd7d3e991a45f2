package inventory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

const (
	unswapped = "56492e42-22ad-3911-6d72-59cc8f26bc90"
	asSwapped = "422e4956-ad22-1139-6d72-59cc8f26bc90"
)

// confirming is a vCenter with two datacenters, and an inventory of it.
func confirming(t *testing.T, datacenters ...string) (*cloudsim.VCenter, *Inventory) {
	t.Helper()
	v := simulate(t, cloudsim.VCenterSpec{Datacenters: []cloudsim.DatacenterSpec{
		{Name: "north", VMs: []cloudsim.VMSpec{{Name: "web", Hostname: "web.example.com", UUID: asSwapped, NICs: []cloudsim.NIC{{IPs: []string{"10.0.0.1"}}}}}},
		{Name: "south", VMs: []cloudsim.VMSpec{{Name: "db", UUID: uuid, NICs: []cloudsim.NIC{{IPs: []string{"10.0.0.2"}}}}}},
	}})

	return v, watch(t, v, Config{Datacenters: datacenters, CallTimeout: 5 * time.Second})
}

// VS-NODE-6: which calls the vCenter gets, and what its responses mean.
func TestConfirm(t *testing.T) {
	t.Parallel()
	denied := cloudsim.Fault(&types.NoPermission{})
	cases := map[string]struct {
		reason      string
		datacenters []string
		prepare     func(t *testing.T, v *cloudsim.VCenter)
		query       Query
		want        string
		err         string
		calls       map[string]int
	}{
		"found": {
			reason: "VS-NODE-6: one search without a datacenter when all count, one read",
			query:  byID(uuid), want: "db",
			calls: map[string]int{"FindAllByUuid": 1, "RetrieveProperties": 1},
		},
		"byte-swapped": {
			reason: "VS-NODE-6: both byte orders are searched for",
			query:  byID(unswapped, asSwapped), want: "web",
			calls: map[string]int{"FindAllByUuid": 2, "RetrieveProperties": 1},
		},
		"in several datacenters": {
			reason: "one search, however many datacenters are configured", datacenters: []string{"north", "south"},
			query: byID(uuid), want: "db",
			calls: map[string]int{"FindAllByUuid": 1, "RetrieveProperties": 1},
		},
		"absent": {
			reason: "VS-NODE-6: absent from all reachable scopes", datacenters: []string{"north", "south"},
			query: byID("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"),
			calls: map[string]int{"FindAllByUuid": 2},
		},
		"outside": {
			reason: "VS-NODE-5: other datacenters do not count", datacenters: []string{"north"},
			query: byID(uuid),
			calls: map[string]int{"FindAllByUuid": 1, "RetrieveProperties": 1},
		},
		"one search fails": {
			reason: "VS-NODE-6: a datacenter that may not be read is an error", datacenters: []string{"north", "south"},
			prepare: func(_ *testing.T, v *cloudsim.VCenter) { v.Inject("FindAllByUuid", simserver.Nth(2), denied) },
			query:   byID("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"), err: "NoPermission",
		},
		"one search fails, found by another": {
			reason: "VS-NODE-6: unless it is found in another datacenter", datacenters: []string{"north", "south"},
			prepare: func(_ *testing.T, v *cloudsim.VCenter) { v.Inject("FindAllByUuid", simserver.Nth(1), denied) },
			query:   byID("00000000-0000-0000-0000-000000000001", uuid), want: "db",
		},
		"missing datacenter": {
			reason: "VS-NODE-5: a missing datacenter makes a miss an error", datacenters: []string{"north", "west"},
			query: byID(uuid), err: "datacenter west does not exist",
		},
		"all datacenters missing": {
			reason: "what is found in another datacenter does not count", datacenters: []string{"west"},
			query: byID(uuid), err: "datacenter west does not exist",
			calls: map[string]int{"FindAllByUuid": 1, "RetrieveProperties": 1},
		},
		"missing datacenter, found": {
			reason: "VS-NODE-6: a VM that is found counts", datacenters: []string{"north", "west"},
			query: byID(asSwapped), want: "web",
		},
		"read fails": {
			reason:  "FW-NODE-6: a fault while reading a found VM is an error",
			prepare: func(_ *testing.T, v *cloudsim.VCenter) { v.Inject("RetrieveProperties", simserver.Always(), denied) },
			query:   byID(uuid), err: "NoPermission",
		},
		"deleted between search and read": {
			reason: "a fault while reading is an error, whichever it is",
			prepare: func(_ *testing.T, v *cloudsim.VCenter) {
				v.Inject("RetrieveProperties", simserver.Always(), cloudsim.Fault(&types.ManagedObjectNotFound{}))
			},
			query: byID(uuid), err: "ManagedObjectNotFound",
		},
		"inaccessible": {
			reason: "VS-NODE-10: found only by its last reference",
			prepare: func(t *testing.T, v *cloudsim.VCenter) {
				ok(t, v.VM("db").HideConfig(true))
				ok(t, v.VM("db").SetConnectionState(types.VirtualMachineConnectionStateInaccessible))
			},
			query: byID(uuid), want: "db",
		},
		"inaccessible and unreadable": {
			reason: "FW-NODE-6: any other fault than gone is an error",
			prepare: func(t *testing.T, v *cloudsim.VCenter) {
				ok(t, v.VM("db").HideConfig(true))
				v.Inject("RetrieveProperties", simserver.Always(), denied)
			},
			query: byID(uuid), err: "NoPermission",
		},
		"by name": {
			reason: "VS-NODE-2: FindAllByDnsName, lower case",
			query:  byName("WEB.example.com"), want: "web",
			calls: map[string]int{"FindAllByDnsName": 1, "RetrieveProperties": 1},
		},
		"by short name": {
			reason: "the vCenter finds whole names only",
			query:  byName("web"), want: "web",
		},
		"by long name": {
			reason: "VS-NODE-2: the host name without its domain",
			query:  byName("db.example.com"), want: "db",
			calls: map[string]int{"FindAllByDnsName": 2, "RetrieveProperties": 1},
		},
		"by address": {
			reason: "VS-NODE-2: an IP address after the host name",
			query:  byName("10.0.0.2"), want: "db",
			calls: map[string]int{"FindAllByDnsName": 1, "FindAllByIp": 1, "RetrieveProperties": 1},
		},
		"by unknown name": {
			reason: "every search has responded",
			query:  byName("mail"),
			calls:  map[string]int{"FindAllByDnsName": 1},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, i := confirming(t, tc.datacenters...)
			if tc.prepare != nil {
				tc.prepare(t, v)
			}
			found, err := i.Confirm(t.Context(), tc.query)
			if got := names(found); got != tc.want {
				t.Errorf("%s: found %q, want %q", tc.reason, got, tc.want)
			}
			if (err != nil) != (tc.err != "") || tc.err != "" && !refers(err, tc.err) {
				t.Errorf("%s: error %v, want %q", tc.reason, err, tc.err)
			}
			if tc.calls != nil {
				if diff := cmp.Diff(tc.calls, calls(v)); diff != "" {
					t.Errorf("%s: calls (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// VS-NODE-6: absent means that the VM which once was it is deleted; while the
// feed is away nothing is absent, but what the vCenter finds is found.
func TestConfirmOfDeletedVM(t *testing.T) {
	t.Parallel()
	v, i := confirming(t, "south")
	vm := v.VM("db")
	gone := byID(vm.UUID())
	one(t, i, gone)
	ok(t, vm.Destroy())
	eventually(t, func() string {
		if vms, _ := i.Find(gone); len(vms) > 0 {
			return "still there"
		}

		return ""
	})
	v.Reset()
	if vms, err := i.Confirm(t.Context(), gone); len(vms) != 0 || err != nil {
		t.Fatalf("Confirm = %s, %v, want none", names(vms), err)
	}
	want := map[string]int{"FindAllByUuid": 1, "RetrieveProperties": 1}
	if diff := cmp.Diff(want, calls(v)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}

	broken := v.Inject("WaitForUpdatesEx", simserver.Always(), simserver.Drop())
	ok(t, v.VM("web").SetHostname("new")) // ends the long poll, and the next one fails
	eventually(t, func() string {
		if i.Current() == nil {
			return "still current"
		}

		return ""
	})
	if vms, err := i.Confirm(t.Context(), gone); len(vms) != 0 || !refers(err, "not connected") {
		t.Errorf("Confirm without the feed = %s, %v, want not connected", names(vms), err)
	}
	_, err := v.AddVM("south", cloudsim.VMSpec{Name: "back", UUID: uuid})
	ok(t, err)
	if vms, err := i.Confirm(t.Context(), gone); names(vms) != "back" || err != nil {
		t.Errorf("Confirm without the feed = %s, %v, want the new one", names(vms), err)
	}
	broken.Remove()
	current(t, i)
}

// VS-FEED-7: between the end of a VM and the report of it nothing is certain.
func TestConfirmAheadOfTheFeed(t *testing.T) {
	t.Parallel()
	v, i := confirming(t)
	hold := simserver.NewHold()
	defer hold.Release()
	held := v.Inject("WaitForUpdatesEx", simserver.Always(), hold.After)
	ok(t, v.VM("web").SetHostname("new")) // ends a long poll that began before
	eventually(t, func() string {
		if held.Hits() == 0 {
			return "no long poll"
		}

		return ""
	})
	ok(t, v.VM("db").Destroy())
	if vms, err := i.Confirm(t.Context(), byID(uuid)); len(vms) != 0 || !refers(err, "has just left") {
		t.Errorf("Confirm = %s, %v, want a contradiction", names(vms), err)
	}
}

// VS-SESSION-5: no call outlasts its caller or its deadline.
func TestConfirmIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		v := simulate(t, cloudsim.VCenterSpec{InMemory: true})
		i, _ := run(t, newClientVia(t, v, v.Dial), Config{CallTimeout: time.Second})
		waitSynced(t, i)
		hold := simserver.NewHold()
		defer hold.Release()
		v.Inject("FindAllByUuid", simserver.Always(), hold.Before)
		if _, err := i.Confirm(t.Context(), byID(uuid)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Confirm = %v, want deadline exceeded", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := i.Confirm(ctx, byID(uuid)); !errors.Is(err, context.Canceled) {
			t.Errorf("Confirm = %v, want canceled", err)
		}
	})
}

// VS-SESSION-2: a session that has ended does not make a VM absent.
func TestConfirmAfterEndOfSession(t *testing.T) {
	t.Parallel()
	v, i := confirming(t)
	v.TerminateSessions()
	if vms, err := i.Confirm(t.Context(), byID(uuid)); names(vms) != "db" || err != nil {
		t.Errorf("Confirm = %s, %v, want db", names(vms), err)
	}
}
