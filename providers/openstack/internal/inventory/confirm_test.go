package inventory_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// wantVerdict checks what Confirm returns for a server.
func (f *fixture) wantVerdict(t *testing.T, reason, id string, want certainty.Kind, because error) {
	t.Helper()
	_, verdict, err := f.Confirm(bounded(t), id)
	if err == nil {
		err = verdict.Reason
	}
	if verdict.Kind != want || !errors.Is(err, because) || because == nil && err != nil {
		t.Errorf("%s: %s, %v; want %s, %v", reason, verdict.Kind, err, want, because)
	}
}

// TestConfirm (OS-NODE-4, OS-NODE-5, OS-NODE-6) shows what is proven about a server among four
// Nodes.
func TestConfirm(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason  string
		options openstack.Options
		change  func(f *fixture, id string)
		want    certainty.Kind
		// err is nil if only the kind counts.
		err error
	}{
		"Deleted":     {"the deletion is recorded", openstack.Options{}, func(f *fixture, id string) { f.DeleteServer(id) }, certainty.Gone, nil},
		"Present":     {"it is there", openstack.Options{}, func(*fixture, string) {}, certainty.Present, nil},
		"SoftDeleted": {"it can be restored", openstack.Options{}, func(f *fixture, id string) { f.SetServerStatus(id, "SOFT_DELETED") }, certainty.Present, nil},
		"Archived": {"nothing is recorded any more", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.ArchiveServers()
		}, certainty.Kept, certainty.ErrSettling},
		"Unmapped":    {"it lives, and Nova responds with 404", openstack.Options{}, func(f *fixture, id string) { f.SetServerMapped(id, false) }, certainty.Kept, certainty.ErrSettling},
		"UnknownCell": {"all of them live", openstack.Options{}, func(f *fixture, _ string) { f.SetCell("", "cell1", openstack.CellUnknown) }, certainty.Uncertain, certainty.ErrNoOther},
		"DownCell":    {"its row is UNKNOWN", openstack.Options{}, func(f *fixture, _ string) { f.SetCell("", "cell1", openstack.CellDown) }, certainty.Uncertain, certainty.ErrUnknownStatus},
		"OldDownCell": {"Nova responds with 500", openstack.Options{Microversion: "2.60"}, func(f *fixture, _ string) {
			f.SetCell("", "cell1", openstack.CellDown)
		}, certainty.Uncertain, nil},
		"DeniedActions": {"the other servers must do", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.SetDenied(opActions)
		}, certainty.Absent, nil},
		"OldNova": {"it has no actions of deleted servers", openstack.Options{Microversion: "2.20"}, func(f *fixture, id string) {
			f.DeleteServer(id)
		}, certainty.Absent, nil},
		"DeniedWithoutOthers": {"nothing proves the project", openstack.Options{}, func(f *fixture, _ string) {
			for _, id := range f.nodes {
				f.RemoveServer(id)
			}
			f.SetDenied(opActions)
		}, certainty.Uncertain, certainty.ErrNoOther},
		"ActionsFailed": {"they may say anything", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.Interceptor().Inject(opActions, simserver.Always(), openstack.Error(500, "", "x"))
		}, certainty.Uncertain, nil},
		"Proxy404": {"a proxy is not Nova", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.Interceptor().Inject(opGet, simserver.Always(), openstack.Proxy(404, ""))
		}, certainty.Uncertain, nil},
		"Denied": {"a role was removed", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.SetDenied(opGet)
		}, certainty.Uncertain, nil},
		"Refused": {"no token is accepted", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.Interceptor().Inject(opGet, simserver.Always(), openstack.Unauthorized())
		}, certainty.Uncertain, nil},
		"Throttled": {"no response about the server", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.Interceptor().Inject(opGet, simserver.Always(), openstack.Throttled(""))
		}, certainty.Uncertain, nil},
		"NotAcceptable": {"an older Nova was installed", openstack.Options{}, func(f *fixture, id string) {
			f.DeleteServer(id)
			f.Interceptor().Inject(opGet, simserver.Always(), openstack.Error(406, "", "version"))
		}, certainty.Uncertain, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, tc.options)
			id := f.addNodes(4)[0]
			tc.change(f, id)
			_, verdict, err := f.Confirm(bounded(t), id)
			if err == nil {
				err = verdict.Reason
			}
			switch {
			case verdict.Kind != tc.want:
				t.Errorf("%s: %s, %v; want %s", tc.reason, verdict.Kind, err, tc.want)
			case tc.err != nil && !errors.Is(err, tc.err):
				t.Errorf("%s: %v, want %v", tc.reason, err, tc.err)
			case (verdict.Kind == certainty.Uncertain || verdict.Kind == certainty.Kept) != (err != nil):
				t.Errorf("%s: %s with %v", tc.reason, verdict.Kind, err)
			}
		})
	}
}

// TestOtherCluster (OS-NODE-5): with the credentials of another project, or the endpoints of
// another region, all servers are missing and none is gone.
func TestOtherCluster(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		user   string
		region string
	}{
		"Project": {"the servers of another project are 404", openstack.UserOther, "RegionOne"},
		"Region":  {"another region has none of them", openstack.UserCCM, "RegionTwo"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{Regions: []string{"RegionOne", "RegionTwo"}})
			ids := f.addNodes(5)
			f.AddServer(openstack.ServerSpec{Name: "theirs", Project: openstack.ProjectOther})
			cfg := f.ClientConfig()
			cfg.Region = tc.region
			f.connect(t, tc.user, cfg)
			for range 200 { // more than 13 minutes
				for _, id := range ids {
					f.wantVerdict(t, tc.reason, id, certainty.Uncertain, certainty.ErrNoOther)
				}
				f.tick(certainty.Pass)
			}
		})
	}
}

// TestSettling (OS-NODE-5): a server without a record is absent after 13 minutes of 404 in
// which another one was found, and each other response begins them anew.
func TestSettling(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(4)
	wait := func(d time.Duration) {
		for end := f.clock.Now().Add(d); f.clock.Now().Before(end); f.tick(time.Minute) {
			f.wantVerdict(t, "it may return", ids[0], certainty.Kept, certainty.ErrSettling)
		}
	}
	f.SetServerMapped(ids[0], false)
	wait(10 * time.Minute)
	f.SetServerMapped(ids[0], true)
	f.wantVerdict(t, "the upgrade has ended", ids[0], certainty.Present, nil)
	f.tick(certainty.Pass)
	f.DeleteServer(ids[0])
	f.ArchiveServers()
	wait(certainty.Settle)
	f.wantVerdict(t, "it has not returned", ids[0], certainty.Absent, nil)
	f.tick(certainty.SettleGap + time.Second)
	f.wantVerdict(t, "nothing is known about the time between", ids[0], certainty.Kept, certainty.ErrSettling)
}

// TestSettlingInterrupted (OS-NODE-5): time in which nothing proves the project does not count, and
// the time before it does.
func TestSettlingInterrupted(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(4)
	f.DeleteServer(ids[0])
	f.ArchiveServers()
	wait := func(minutes int, want certainty.Kind, because error) {
		t.Helper()
		for range minutes {
			f.wantVerdict(t, "it is missing", ids[0], want, because)
			f.tick(time.Minute)
		}
	}
	wait(12, certainty.Kept, certainty.ErrSettling)
	f.setNodes(ids[:1])
	wait(3, certainty.Uncertain, certainty.ErrNoOther)
	f.setNodes(ids)
	wait(2, certainty.Kept, certainty.ErrSettling) // since the 12th minute
	wait(1, certainty.Absent, nil)
}

// TestSettlingFound (OS-NODE-5): a list that has the server begins the 13 minutes anew, unless
// it is older than the response that it is missing.
func TestSettlingFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(4)
	f.mustFind(t, ids[0])
	f.SetServerMapped(ids[0], false)
	f.tick(time.Second)
	f.wantVerdict(t, "first", ids[0], certainty.Kept, certainty.ErrSettling)
	f.mustFind(t, ids[0]) // in the old list
	f.tick(7 * time.Minute)
	f.wantVerdict(t, "seven minutes", ids[0], certainty.Kept, certainty.ErrSettling)
	f.tick(7 * time.Minute)
	f.wantVerdict(t, "fourteen minutes", ids[0], certainty.Absent, nil)
	f.SetServerMapped(ids[0], true)
	f.tick(time.Minute)
	f.mustFind(t, ids[0])
	f.SetServerMapped(ids[0], false)
	f.tick(time.Minute)
	f.wantVerdict(t, "it was found in between", ids[0], certainty.Kept, certainty.ErrSettling)
}

// TestSettlingInLargeCluster (OS-NODE-5, OS-COST-2): servers without a record settle also if
// reading each of them once takes longer than ten minutes, as with more than 1,200 of them or
// with passes that take longer than five seconds.
func TestSettlingInLargeCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	const missing, pass = 150, 50 * time.Second // each is read every 750 seconds
	ids := f.addNodes(missing + 10)
	for _, id := range ids[:missing] {
		f.DeleteServer(id)
	}
	f.ArchiveServers()
	began := f.clock.Now()
	left := ids[:missing]
	for len(left) > 0 && f.clock.Since(began) < time.Hour {
		var kept []string
		for _, id := range left {
			_, verdict, _ := f.Confirm(bounded(t), id)
			switch {
			case verdict.Kind != certainty.Absent:
				kept = append(kept, id)
			case f.clock.Since(began) < certainty.Settle:
				t.Fatalf("server %s is absent after %v", id, f.clock.Since(began))
			}
		}
		left = kept
		f.tick(pass)
	}
	if len(left) > 0 {
		t.Errorf("%d of %d servers are not absent after %v", len(left), missing, f.clock.Since(began))
	}
}

// TestManyMissing (OS-NODE-5): if many servers are missing, each needs a record of its own or the
// time.
func TestManyMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(20)
	for _, id := range ids[:5] {
		f.DeleteServer(id)
	}
	f.wantVerdict(t, "recorded", ids[0], certainty.Gone, nil)
	f.SetDenied(opActions)
	f.wantVerdict(t, "five of twenty", ids[1], certainty.Kept, certainty.ErrSettling)
	f.setNodes(ids[2:]) // two of them are deleted
	f.tick(inventory.DefaultMaxAge)
	f.wantVerdict(t, "three of eighteen", ids[2], certainty.Absent, nil)
	f.mu.Lock()
	f.unknown = true
	f.mu.Unlock()
	f.wantVerdict(t, "the number of Nodes is not known", ids[3], certainty.Kept, certainty.ErrSettling)
}

// TestConfirmLimit (OS-COST-2): at most ten missing servers are confirmed in one pass, all are in the
// end, and a loss of half the cluster is detected in time.
func TestConfirmLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(1000)
	lost := ids[:500]
	for _, id := range lost {
		f.DeleteServer(id)
	}
	gone := map[string]bool{}
	passes := 0
	for ; len(gone) < len(lost) && passes < 100; passes++ {
		before := f.calls(opGet)
		for _, id := range lost {
			if gone[id] {
				continue
			}
			_, verdict, err := f.Confirm(bounded(t), id)
			switch {
			case verdict.Kind == certainty.Gone:
				gone[id] = true
			case !errors.Is(err, inventory.ErrBusy):
				t.Fatalf("%s, %v", verdict.Kind, err)
			}
		}
		if n := f.calls(opGet) - before; n > certainty.MaxConfirmations {
			t.Fatalf("%d requests in one pass", n)
		}
		f.tick(certainty.Pass)
	}
	if passes != 50 { // four minutes
		t.Errorf("%d passes", passes)
	}
}

// TestConfirmIsFair (OS-COST-2): each missing server is read once before one is read twice,
// however long a pass takes.
func TestConfirmIsFair(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(140)
	missing := ids[:100]
	for _, id := range missing {
		f.SetServerMapped(id, false)
	}
	read := map[string]int{}
	for pass := range 20 {
		n := 0
		for _, id := range missing {
			if _, verdict, err := f.Confirm(bounded(t), id); err == nil && verdict.Kind == certainty.Kept {
				read[id]++
				n++
			}
		}
		if n != certainty.MaxConfirmations {
			t.Errorf("%d servers read in pass %d", n, pass)
		}
		f.tick(4 * certainty.Pass)
	}
	for _, id := range missing {
		if read[id] != 2 {
			t.Errorf("server %s was read %d times, and 100 of them in 20 passes", id, read[id])
		}
	}
}

// TestConfirmWithFailedPage (OS-NODE-6, OS-COST-2): while a page of the list fails, deletions are
// detected as before: finding a server does not take the request that confirms it.
func TestConfirmWithFailedPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{PageSize: 20})
	ids := f.addNodes(50)
	missing := ids[20:45]
	for _, id := range missing {
		f.DeleteServer(id)
	}
	f.Interceptor().Inject(opList, simserver.Always(), func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		if r.URL.Query().Has("marker") {
			openstack.Error(500, "", "marker")(w, r, apply)
		} else {
			apply.ServeHTTP(w, r)
		}
	})
	gone := map[string]bool{}
	for pass := range 6 { // 25 servers in a list of 25 that may be on the page
		before := f.calls(opGet)
		for _, id := range missing {
			if gone[id] {
				continue
			}
			if _, err := f.Find(bounded(t), id); !errors.Is(err, inventory.ErrAbsent) {
				continue // not allowed now
			}
			if _, verdict, _ := f.Confirm(bounded(t), id); verdict.Kind == certainty.Gone {
				gone[id] = true
			}
		}
		if n := f.calls(opGet) - before; n > 2*certainty.MaxConfirmations {
			t.Errorf("%d requests in pass %d", n, pass)
		}
		f.tick(certainty.Pass)
	}
	if len(gone) != len(missing) {
		t.Errorf("%d of %d deletions detected", len(gone), len(missing))
	}
}

// TestConfirmPastCaches: Confirm makes a request whatever was read just before.
func TestConfirmPastCaches(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	id := f.addNodes(2)[0]
	f.mustFind(t, id)
	f.wantVerdict(t, "it is there", id, certainty.Present, nil)
	f.wantVerdict(t, "it is still there", id, certainty.Present, nil)
	if n := f.calls(opGet); n != 2 {
		t.Errorf("%d requests", n)
	}
	f.DeleteServer(id)
	f.wantVerdict(t, "it was deleted", id, certainty.Gone, nil)
	late := f.addNodes(1)[0]
	if _, err := f.Find(bounded(t), late); !errors.Is(err, inventory.ErrAbsent) {
		t.Errorf("a server that is newer than the list: %v", err)
	}
	f.wantVerdict(t, "it is new", late, certainty.Present, nil)
	f.mustFind(t, late)
}
