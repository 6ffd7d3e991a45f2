package inventory

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vim25/types"

	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// What a feed lost comes back when the whole inventory is read again, which takes
// no call but polls and is counted.
func TestReadingAgainCorrectsTheInventory(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{})
	var corrected atomic.Int32
	i := watch(t, v, Config{
		RereadPeriod: 300 * time.Millisecond, MaxWait: time.Second,
		Corrected: func(objects int) { corrected.Add(int32(objects)) },
	})
	v.SetEarlyNull(50 * time.Millisecond)
	lost := v.VM("web-0").Reference()
	change(i, leave(lost.Type, lost.Value), vm("vm-999", north, "summary.config.uuid", uuid))
	eventually(t, func() string {
		here, err := i.Find(byID(v.VM("web-0").UUID()))
		if len(here) != 1 {
			return "the VM that was lost is not back: " + errorText(err)
		}
		if gone, err := i.Find(byID(uuid)); len(gone) != 0 || err != nil {
			return "the VM that never was is still there: " + errorText(err)
		}

		return ""
	})
	if got := corrected.Load(); got < 2 {
		t.Errorf("%d corrections, want 2", got)
	}
	if got := calls(v); len(got) != 0 {
		t.Errorf("it took calls: %v", got)
	}
}

// pagewise is a vCenter whose whole inventory has so many pages, each of which takes a
// time.
func pagewise(pages int, each *atomic.Int64) *scripted {
	page := 0

	return &scripted{poll: func(ctx context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error) {
		if req.Version == "" {
			page = 0
		}
		if page == pages {
			sleep(ctx, time.Duration(*req.Options.MaxWaitSeconds)*time.Second)

			return nil, ctx.Err()
		}
		page++
		sleep(ctx, time.Duration(each.Load()))

		return &types.UpdateSet{Version: strconv.Itoa(page), Truncated: new(page < pages)}, ctx.Err()
	}}
}

// An inventory of 11,000 objects, whose vCenter takes 0.7 s for each page, is current
// while it is read again (VS-FEED-5), unless no page arrives.
func TestInventoryIsCurrentWhileItIsReadAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		each   time.Duration
		stale  bool
	}{
		"slow":   {"each page shows that the vCenter responds", 700 * time.Millisecond, false},
		"silent": {"a page arrives after two minutes", 2 * time.Minute, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var each atomic.Int64
				each.Store(int64(700 * time.Millisecond))
				rereads := 0
				i := New(pagewise(111, &each), Config{Margin: time.Hour, Corrected: func(int) { rereads++ }})
				ctx, stop := context.WithTimeout(t.Context(), 2*time.Hour)
				defer stop()
				go i.Run(ctx)
				if err := i.WaitSynced(ctx); err != nil {
					t.Fatal(err)
				}
				each.Store(int64(tc.each))
				var stale error
				for sleep(ctx, time.Second) {
					if err := i.Current(); err != nil && stale == nil && ctx.Err() == nil {
						stale = err
					}
				}
				synctest.Wait()
				if (stale != nil) != tc.stale || rereads == 0 && !tc.stale {
					t.Errorf("%s: read again %d times, not current: %v", tc.reason, rereads, stale)
				}
			})
		})
	}
}

// An object that the vCenter cannot read for a moment keeps what was known of it,
// but for its state.
func TestUnreadableObjectsKeepWhatWasKnown(t *testing.T) {
	t.Parallel()
	v := simulate(t, cloudsim.VCenterSpec{})
	i := watch(t, v, Config{Datacenters: []string{"dc"}})
	known := one(t, i, byID(v.VM("web-0").UUID()))
	v.SetUnreadable(known.Datacenter, &types.SystemError{})
	v.SetUnreadable(known.Ref, &types.SystemError{})
	eventually(t, func() string {
		if one(t, i, byID(known.UUID)).Power != "" {
			return "the missing set has not arrived"
		}

		return ""
	})
	want := *known
	want.Power, want.Connection, want.Observed = "", "", time.Time{}
	got := *one(t, i, byID(known.UUID))
	got.Observed = time.Time{}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("VM (-want +got):\n%s", diff)
	}
	if vms, err := i.Find(byID("unknown")); len(vms) != 0 || err != nil {
		t.Errorf("Find of an unknown VM = %s, %v, want none: the datacenter is known", names(vms), err)
	}
}

// What the faults of missing objects and properties mean.
func TestMissingSets(t *testing.T) {
	t.Parallel()
	object := func(fault types.BaseMethodFault) types.PropertyFilterUpdate {
		return types.PropertyFilterUpdate{MissingSet: []types.MissingObject{{
			Obj: machine("vm-1"), Fault: types.LocalizedMethodFault{Fault: fault},
		}}}
	}
	property := func(fault types.BaseMethodFault) types.PropertyFilterUpdate {
		return types.PropertyFilterUpdate{ObjectSet: []types.ObjectUpdate{{
			Kind: types.ObjectUpdateKindModify, Obj: machine("vm-1"),
			MissingSet: []types.MissingProperty{{Path: "summary.config.uuid", Fault: types.LocalizedMethodFault{Fault: fault}}},
		}}}
	}
	cases := map[string]struct {
		reason string
		filter types.PropertyFilterUpdate
		found  string
		again  bool // worth another look
	}{
		"object is gone":             {"it has left, and proves nothing of others", object(&types.ManagedObjectNotFound{}), "", false},
		"object cannot be read":      {"a moment later it may be", object(&types.SystemError{}), "vm-1", true},
		"object may not be read":     {"that lasts", object(&types.NoPermission{}), "vm-1", false},
		"property cannot be read":    {"a moment later it may be", property(&types.SystemError{}), "vm-1", true},
		"property may not be read":   {"that lasts", property(&types.NoPermission{}), "vm-1", false},
		"nothing is wrong, or empty": {"", types.PropertyFilterUpdate{}, "vm-1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			updates, again := updatesOf(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{tc.filter}})
			i := stored(nil, append(twoDatacenters(), withUUID("vm-1", north, uuid)), updates)
			vms, err := i.Find(byID(uuid))
			if got := names(vms); got != tc.found || err != nil || again != tc.again {
				t.Errorf("%s: found %q, %v, again %t, want %q and %t", tc.reason, got, err, again, tc.found, tc.again)
			}
			if vms, err := i.Find(byID("unknown")); len(vms) != 0 || err != nil {
				t.Errorf("%s: Find of an unknown VM = %s, %v, want none", tc.reason, names(vms), err)
			}
		})
	}
}

// Reading again is planned for soon while something cannot be read, and less and
// less soon while that lasts.
func TestRereadsAreSoonAfterWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := rereads{period: time.Hour}
	next := func(unreadable bool) time.Duration {
		r.unreadable = unreadable
		r.done(now)

		return r.at.Sub(now)
	}
	for step, tc := range []struct {
		unreadable bool
		want       time.Duration
	}{{false, time.Hour}, {true, time.Minute}, {true, 2 * time.Minute}, {true, 4 * time.Minute}, {false, time.Hour}} {
		if got := next(tc.unreadable); got < tc.want*95/100 || got > tc.want*105/100 {
			t.Errorf("step %d: again in %s, want about %s", step, got, tc.want)
		}
	}
	r.unreadable = true
	if r.due(now) || r.at.Sub(now) > 2*time.Minute {
		t.Errorf("something that cannot be read: again in %s, want about a minute", r.at.Sub(now))
	}
}
