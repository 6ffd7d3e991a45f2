package inventory_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
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
			for range 2 + certainty.Settle/time.Minute {
				for _, id := range ids {
					f.wantVerdict(t, tc.reason, id, certainty.Uncertain, certainty.ErrNoOther)
				}
				f.tick(time.Minute)
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

// TestManyMissing (OS-NODE-5): if many servers are missing, each needs a record of its own or the
// time.
func TestManyMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(20)
	for _, id := range ids[:5] {
		f.DeleteServer(id)
	}
	f.mustFind(t, ids[19]) // it proves the project
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

// TestManyMissingAlone (OS-NODE-5): servers that were read alone since the list count as missing although
// the list has them, and a list that is too old counts nothing.
func TestManyMissingAlone(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason  string
		deleted int
		old     bool
		want    certainty.Kind
	}{
		"Few":     {"three of twenty", 3, false, certainty.Absent},
		"Many":    {"five of twenty", 5, false, certainty.Kept},
		"OldList": {"it is not known how many", 1, true, certainty.Kept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{})
			ids := f.addNodes(20)
			f.SetDenied(opActions)
			if tc.old {
				f.Interceptor().Inject(opList, simserver.Nth(1), simserver.Before(func() { f.tick(2 * inventory.DefaultMaxAge) }))
			}
			f.mustFind(t, ids[19])
			for _, id := range ids[:tc.deleted] {
				f.DeleteServer(id)
				if _, err := f.Read(bounded(t), id); !errors.Is(err, inventory.ErrAbsent) {
					t.Fatal(err)
				}
			}
			_, verdict, err := f.Confirm(bounded(t), ids[0])
			if err != nil || verdict.Kind != tc.want {
				t.Errorf("%s: %s, %v; want %s", tc.reason, verdict.Kind, err, tc.want)
			}
		})
	}
}

// TestConfirmCost (OS-COST-2): each missing server is confirmed at once if its deletion is
// recorded, and otherwise read again after 30 seconds.
func TestConfirmCost(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(100)
	deleted, unmapped := ids[:40], ids[40:80]
	for _, id := range deleted {
		f.DeleteServer(id)
	}
	for _, id := range unmapped {
		f.SetServerMapped(id, false)
	}
	for _, id := range deleted {
		f.wantVerdict(t, "recorded", id, certainty.Gone, nil)
	}
	if gets, actions := f.calls(opGet), f.calls(opActions); gets != len(deleted) || actions != len(deleted) {
		t.Errorf("%d servers were confirmed with %d requests for them and %d for their actions", len(deleted), gets, actions)
	}
	f.mustFind(t, ids[99]) // it proves the project
	before := f.calls(opGet, opActions, opList)
	for range inventory.DefaultMaxAge / certainty.Pass {
		for _, id := range unmapped {
			f.wantVerdict(t, "it may return", id, certainty.Kept, certainty.ErrSettling)
		}
		f.tick(certainty.Pass)
	}
	if n := f.calls(opGet, opActions, opList) - before; n > 2*len(unmapped)+1 { // and one of another Node
		t.Errorf("%d requests for %d servers in 30 seconds", n, len(unmapped))
	}
}

// TestConfirmRestored (OS-NODE-4): a deletion that was undone later is no record of one.
func TestConfirmRestored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	id := f.addNodes(4)[0]
	f.SetServerMapped(id, false)
	actions := func(names ...string) simserver.Fault {
		return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			var rows []string
			for _, name := range names {
				rows = append(rows, fmt.Sprintf(`{"action":%q,"instance_uuid":%q}`, name, id))
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = fmt.Fprintf(w, `{"instanceActions":[%s]}`, strings.Join(rows, ","))
		}
	}
	rule := f.Interceptor().Inject(opActions, simserver.Always(), actions("restore", "delete", "create"))
	f.wantVerdict(t, "it was restored", id, certainty.Absent, nil)
	rule.Remove()
	f.Interceptor().Inject(opActions, simserver.Always(), actions("delete", "restore", "delete", "create"))
	f.wantVerdict(t, "it was deleted again", id, certainty.Gone, nil)
}

// TestConfirmAfterRead: the response that a lookup has just got is not requested again.
func TestConfirmAfterRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	id := f.addNodes(2)[0]
	f.DeleteServer(id)
	for range 2 {
		if _, err := f.Read(bounded(t), id); !errors.Is(err, inventory.ErrAbsent) {
			t.Fatal(err)
		}
		f.wantVerdict(t, "it was deleted", id, certainty.Gone, nil)
		f.tick(certainty.Pass)
	}
	if gets, actions := f.calls(opGet), f.calls(opActions); gets != 2 || actions != 2 {
		t.Errorf("%d requests for the server, %d for its actions", gets, actions)
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
