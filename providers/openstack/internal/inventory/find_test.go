package inventory_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// mustFind returns a server that is there.
func (f *fixture) mustFind(t *testing.T, id string) *inventory.Server {
	t.Helper()
	found, err := f.Find(bounded(t), id)
	if err != nil {
		t.Fatalf("find %s: %v", id, err)
	}
	if found.ID != id {
		t.Fatalf("found %s, want %s", found.ID, id)
	}

	return found
}

// TestFindSharesList (OS-COST-1): many callers cost the pages of one list, and foreign
// servers cost pages only.
func TestFindSharesList(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{PageSize: 30})
	ids := f.addNodes(40)
	for range 25 {
		f.AddServer(openstack.ServerSpec{Name: "foreign"})
		f.AddServer(openstack.ServerSpec{Name: "other", Project: openstack.ProjectOther})
	}
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() { f.mustFind(t, id) })
	}
	all.Wait()
	if n := f.calls(opList, opGet); n != 3 {
		t.Errorf("%d calls for 65 servers in pages of 30", n)
	}
	f.tick(29 * time.Second)
	f.mustFind(t, ids[0])
	if n := f.calls(opList, opGet); n != 3 {
		t.Errorf("%d calls, the list is still fresh", n)
	}
	f.tick(time.Second)
	f.mustFind(t, ids[0])
	if n := f.calls(opList, opGet); n != 6 {
		t.Errorf("%d calls, the list is too old", n)
	}
	if query := f.Requests(opList)[0].Query; len(query) != 0 {
		t.Errorf("the first page was requested with %v: servers of a cell that is down are missing then", query)
	}
}

// TestFindAbsent: a list does not have a server, which costs no call of its own.
func TestFindAbsent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	f.addNodes(1)
	for range 3 {
		if _, err := f.Find(bounded(t), missingID); !errors.Is(err, inventory.ErrAbsent) {
			t.Errorf("find: %v", err)
		}
	}
	if n := f.calls(opList, opGet); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// missingID is an ID that no server has.
const missingID = "00000000-1111-4222-8333-444444444444"

// TestFindStates (OS-NODE-7, OS-NODE-8) shows what lists and single requests make of each state.
func TestFindStates(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		change func(f *fixture, id string)
		want   instance.State
		err    error
		gets   int
	}{
		"Active":  {"a list is enough", func(*fixture, string) {}, instance.Running, nil, 0},
		"Build":   {"it may be ready by now", func(f *fixture, id string) { f.SetServerStatus(id, "BUILD") }, instance.Running, nil, 1},
		"Error":   {"ERROR is not shut down", func(f *fixture, id string) { f.SetServerStatus(id, "ERROR") }, instance.Running, nil, 0},
		"Shutoff": {"it is read alone", func(f *fixture, id string) { f.SetServerStatus(id, "SHUTOFF") }, instance.Stopped, nil, 1},
		"ShutoffUnread": {"it exists, and its state is not known", func(f *fixture, id string) {
			f.SetServerStatus(id, "SHUTOFF")
			f.Interceptor().Inject(opGet, simserver.Always(), openstack.Error(503, "", "try later"))
		}, instance.Unknown, nil, 1},
		"DownCell": {"an UNKNOWN row proves nothing", func(f *fixture, _ string) {
			f.SetCell("", "cell1", openstack.CellDown)
		}, 0, certainty.ErrUnknownStatus, 0},
		"SoftDeleted": {"lists do not have it", func(f *fixture, id string) {
			f.SetServerStatus(id, "SOFT_DELETED")
		}, 0, inventory.ErrAbsent, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{})
			id := f.addNodes(1)[0]
			tc.change(f, id)
			found, err := f.Find(bounded(t), id)
			if !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) || f.calls(opGet) != tc.gets {
				t.Fatalf("%s: %v, %d requests of its own", tc.reason, err, f.calls(opGet))
			}
			if err == nil && found.State() != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, found.State(), tc.want)
			}
		})
	}
}

// TestShutoff (OS-COST-3): a server that is shut down is read alone, once in 30 seconds.
func TestShutoff(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(25)
	for _, id := range ids {
		f.SetServerStatus(id, "SHUTOFF")
	}
	for range inventory.DefaultMaxAge / certainty.Pass {
		for _, id := range ids {
			if got := f.mustFind(t, id).State(); got != instance.Stopped {
				t.Errorf("%s", got)
			}
		}
		f.tick(certainty.Pass)
	}
	if n := f.calls(opGet); n != len(ids) {
		t.Errorf("%d requests for %d servers", n, len(ids))
	}
	f.SetServerStatus(ids[0], "ACTIVE")
	if got := f.mustFind(t, ids[0]).State(); got != instance.Running {
		t.Errorf("started again: %s", got)
	}
}

// TestFindWithoutList (OS-NODE-6, OS-COST-1): while the list, or a page of it, fails, servers are
// read alone. The list is requested again after five seconds.
func TestFindWithoutList(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		when   simserver.When
		fault  simserver.Fault
	}{
		"Denied":    {"a role lacks it", simserver.Always(), openstack.Denied()},
		"Proxy404":  {"a proxy has lost the path", simserver.Always(), openstack.Proxy(404, "")},
		"Proxy504":  {"a gateway does not wait for it", simserver.Always(), openstack.Proxy(504, "")},
		"Broken":    {"a bug of Nova", simserver.Always(), openstack.Error(500, "", "unexpected")},
		"Nova404":   {"no list is missing", simserver.Always(), openstack.Error(404, "", "not found")},
		"LastPages": {"the marker is in a cell that is down", simserver.From(2), openstack.Error(500, "", "marker")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{PageSize: 20})
			ids := f.addNodes(30)
			rule := f.Interceptor().Inject(opList, tc.when, tc.fault)
			for _, id := range ids {
				f.mustFind(t, id)
			}
			if _, err := f.Find(bounded(t), missingID); !errors.Is(err, inventory.ErrAbsent) {
				t.Errorf("%s: a server that is missing: %v", tc.reason, err)
			}
			if rule.Hits() != 1 || f.calls(opGet) != len(ids)+1 {
				t.Errorf("%s: %d lists failed, and %d servers were read alone", tc.reason, rule.Hits(), f.calls(opGet))
			}
			f.tick(inventory.DefaultRetryAge)
			f.mustFind(t, f.addNodes(1)[0])
			if rule.Hits() != 2 {
				t.Errorf("%s: %d lists after five seconds", tc.reason, rule.Hits())
			}
		})
	}
}

// TestFindBesideBadServer (OS-NODE-6, OS-COST-1): in place of a list, a server that Nova refuses to show does
// not stop the lookup of the others. An error of Nova itself does, for five seconds.
func TestFindBesideBadServer(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		stops  bool
	}{
		"Denied":   {"a policy denies this one", openstack.Denied(), false},
		"Conflict": {"Nova is busy with it", openstack.Error(409, "", "conflict"), false},
		"Broken":   {"a bug of Nova", openstack.Error(500, "", "unexpected"), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{})
			ids := f.addNodes(2)
			f.Interceptor().Inject(opList, simserver.Always(), openstack.Denied())
			f.Interceptor().Inject(opGet, simserver.Nth(1), tc.fault)
			if _, err := f.Find(bounded(t), ids[0]); err == nil || errors.Is(err, inventory.ErrAbsent) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			if _, err := f.Find(bounded(t), ids[1]); (err != nil) != tc.stops {
				t.Errorf("%s: another server: %v", tc.reason, err)
			}
		})
	}
}

// TestFindWithLateList (OS-COST-1): a list is waited for up to its limit from its begin on, not from each
// call on, and a page that times out is replaced by requests for single servers.
func TestFindWithLateList(t *testing.T) {
	t.Parallel()

	t.Run("Late", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openstack.UserCCM, openstack.Options{})
		ids := f.addNodes(2)
		hold := simserver.NewHold()
		defer hold.Release()
		f.Interceptor().Inject(opList, simserver.Always(), hold.Before)
		first, cancel := context.WithCancel(bounded(t))
		left := make(chan error, 1)
		go func() {
			_, err := f.Find(first, ids[0])
			left <- err
		}()
		openstacktest.Must(t, f.Interceptor().WaitFor(bounded(t), opList, 1))
		cancel()
		openstacktest.Is(t, <-left, context.Canceled)
		f.tick(openstacktest.Timeout) // that of a list
		f.mustFind(t, ids[1])
		if n := f.calls(opGet); n != 1 {
			t.Errorf("%d requests for single servers", n)
		}
	})
	t.Run("TimesOut", func(t *testing.T) {
		t.Parallel()
		f := newFixture(t, openstack.UserCCM, openstack.Options{})
		id := f.addNodes(1)[0]
		cfg := f.ClientConfig()
		cfg.Timeout = 2 * time.Second
		f.connect(t, openstack.UserCCM, cfg)
		hold := simserver.NewHold()
		defer hold.Release()
		f.Interceptor().Inject(opList, simserver.Always(), hold.Before)
		f.mustFind(t, id)
	})
}

// TestFindFailures (OS-NODE-6): no failure makes a server absent.
func TestFindFailures(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		code   string
	}{
		"Denied":    {"a role was removed", openstack.Denied(), apierr.CodeDenied},
		"Proxy404":  {"a proxy has lost the path", openstack.Proxy(404, ""), apierr.CodeUnavailable},
		"Proxy502":  {"the service is down", openstack.Proxy(502, ""), apierr.CodeUnavailable},
		"Throttled": {"too many requests", openstack.Throttled("1"), apierr.CodeThrottled},
		"Broken":    {"a bug of Nova", openstack.Error(500, "", "unexpected"), apierr.CodeUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{})
			id := f.addNodes(1)[0]
			f.Interceptor().Inject("nova", simserver.Always(), tc.fault)
			for _, find := range []func(context.Context, string) (*inventory.Server, error){f.Find, f.Read} {
				if _, err := find(bounded(t), id); err == nil || errors.Is(err, inventory.ErrAbsent) || apierr.Code(err) != tc.code {
					t.Errorf("%s: %v, code %s", tc.reason, err, apierr.Code(err))
				}
			}
		})
	}
}

// TestRead (OS-COST-1): one of few servers costs a request of its own, which serves the callers
// of the same moment, and no list.
func TestRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	id := f.addNodes(3)[0]
	for range 3 {
		if found, err := f.Read(bounded(t), id); err != nil || found.ID != id || found.State() != instance.Running {
			t.Errorf("%+v, %v", found, err)
		}
	}
	f.SetServerStatus(id, "SHUTOFF")
	f.tick(certainty.Pass)
	if found, err := f.Read(bounded(t), id); err != nil || found.State() != instance.Stopped {
		t.Errorf("shut down: %+v, %v", found, err)
	}
	f.DeleteServer(id)
	f.tick(certainty.Pass)
	if _, err := f.Read(bounded(t), id); !errors.Is(err, inventory.ErrAbsent) {
		t.Errorf("deleted: %v", err)
	}
	if gets, listed := f.calls(opGet), f.calls(opList); gets != 3 || listed != 0 {
		t.Errorf("%d requests and %d lists", gets, listed)
	}
}

// wanted is a Node of which nothing but the name is known.
func wanted(name string) inventory.Wanted { return inventory.Wanted{Name: name} }

// TestFindByName (OS-NODE-3, OS-NODE-16) over the wire, from the list and by a request for the name.
func TestFindByName(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	id := f.addNodes(3)[1]
	f.AddServer(openstack.ServerSpec{Name: "node-2", Project: openstack.ProjectOther})
	for _, find := range []func(context.Context, inventory.Wanted) (*inventory.Server, error){f.FindByName, f.ReadByName} {
		for _, name := range []string{"node-2", "NODE-2"} {
			if found, err := find(bounded(t), wanted(name)); err != nil || found.ID != id {
				t.Fatalf("%s: %v, %v", name, found, err)
			}
		}
		if _, err := find(bounded(t), wanted("node-4")); !errors.Is(err, inventory.ErrAbsent) {
			t.Errorf("without a server: %v", err)
		}
	}
	f.AddServer(openstack.ServerSpec{Name: "node-2"})
	if _, err := f.ReadByName(bounded(t), wanted("node-2")); !errors.Is(err, certainty.ErrSeveral) {
		t.Errorf("two servers: %v", err)
	}
	f.tick(inventory.DefaultMaxAge)
	if _, err := f.FindByName(bounded(t), wanted("node-2")); !errors.Is(err, certainty.ErrSeveral) {
		t.Errorf("two servers in the list: %v", err)
	}
	if n := f.calls(opGet); n != 1 { // for the server that nothing but the list confirms
		t.Errorf("%d requests for single servers", n)
	}
}

// TestFindByNameReplaced (OS-NODE-16): a server of the list is not that of a Node once it is deleted,
// also if another one has its name. One that the Node confirms needs no request while the list is new.
func TestFindByNameReplaced(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason         string
		confirmed, old bool
		deleted, again bool
		gets           int
	}{
		"Confirmed":    {"the list is enough", true, false, false, false, 0},
		"Unconfirmed":  {"it is read alone", false, false, false, false, 1},
		"Deleted":      {"no server has the name", false, false, true, false, 1},
		"Replaced":     {"the new one is that of the Node", false, false, true, true, 1},
		"OldList":      {"the list took longer than it counts", true, true, false, false, 1},
		"OldListGone":  {"the confirmed server may be deleted, too", true, true, true, false, 1},
		"OldListAgain": {"and replaced", true, true, true, true, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{})
			id := f.addNodes(2)[0]
			node := wanted("node-1")
			if tc.confirmed {
				node.SystemUUID = id
			}
			if tc.old {
				f.Interceptor().Inject(opList, simserver.Nth(1), simserver.Before(func() { f.tick(2 * inventory.DefaultMaxAge) }))
			}
			f.mustFind(t, f.nodes[1]) // in the list
			want := id
			if tc.deleted {
				f.DeleteServer(id)
				want = ""
			}
			if tc.again {
				want = f.AddServer(openstack.ServerSpec{Name: "node-1"})
			}
			found, err := f.FindByName(bounded(t), node)
			if want == "" && !errors.Is(err, inventory.ErrAbsent) || want != "" && (err != nil || found.ID != want) {
				t.Errorf("%s: %+v, %v", tc.reason, found, err)
			}
			if n := f.calls(opGet); n != tc.gets {
				t.Errorf("%s: %d requests for single servers", tc.reason, n)
			}
		})
	}
}

// TestFindByNameInDownCell (OS-NODE-16): while a cell is down, or the list fails, a server is found by
// its name if the Node confirms that it is its own.
func TestFindByNameInDownCell(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		// node returns the Node of a server.
		node func(id string) inventory.Wanted
		// err is that while the cell is down. If the list is refused, the name is enough.
		err error
	}{
		"Name":       {"the server in the other cell may have the name", func(string) inventory.Wanted { return inventory.Wanted{} }, certainty.ErrPartialList},
		"SystemUUID": {"KVM has the ID of the server", func(id string) inventory.Wanted { return inventory.Wanted{SystemUUID: strings.ToUpper(id)} }, nil},
		"Address":    {"the kubelet knows it", func(string) inventory.Wanted { return inventory.Wanted{Addresses: []string{"node-1", "10.0.0.5"}} }, nil},
		"Others": {"it is another machine", func(string) inventory.Wanted {
			return inventory.Wanted{SystemUUID: missingID, Addresses: []string{"10.0.0.6"}}
		}, certainty.ErrPartialList},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refuse := func(f *fixture) {
				f.Interceptor().Inject(opList, simserver.Always(), openstack.Without("name", openstack.Proxy(504, "")))
			}
			for _, way := range []struct {
				breaks func(*fixture)
				err    error
			}{
				{func(f *fixture) { f.SetCell("", "cell2", openstack.CellDown) }, tc.err},
				{refuse, nil},
				{func(f *fixture) {
					f.SetCell("", "cell2", openstack.CellDown)
					_, _ = f.Find(bounded(t), missingID) // the last list shows that the cell is down
					f.tick(inventory.DefaultMaxAge)
					refuse(f)
				}, tc.err},
			} {
				// Nova lists the servers of a cell that is down only if there is one page.
				f := newFixture(t, openstack.UserCCM, openstack.Options{PageSize: 1000})
				id := f.AddServer(openstack.ServerSpec{Name: "node-1", Networks: []openstack.ServerNetwork{{Name: "net", IPs: []string{"10.0.0.5"}}}})
				f.AddServer(openstack.ServerSpec{Name: "of others", Cell: "cell2"})
				way.breaks(f)
				node := tc.node(id)
				node.Name = "node-1"
				for _, find := range []func(context.Context, inventory.Wanted) (*inventory.Server, error){f.FindByName, f.ReadByName} {
					found, err := find(bounded(t), node)
					if !errors.Is(err, way.err) || (err == nil) != (found != nil && found.ID == id) {
						t.Errorf("%s: %v, %v", tc.reason, found, err)
					}
				}
			}
		})
	}
}

// TestOtherProject (OS-NODE-5): an operator reads the servers of all projects, which are none
// of the cluster.
func TestOtherProject(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserOperator, openstack.Options{})
	f.addNodes(2)
	id := f.AddServer(openstack.ServerSpec{Name: "other", Project: openstack.ProjectOther})
	if _, err := f.Find(bounded(t), id); !errors.Is(err, inventory.ErrAbsent) {
		t.Errorf("find: %v", err)
	}
	_, verdict, err := f.Confirm(bounded(t), id)
	if err == nil || verdict.Kind != certainty.Uncertain || !strings.Contains(err.Error(), "another project") {
		t.Errorf("confirm: %s, %v", verdict.Kind, err)
	}
}
