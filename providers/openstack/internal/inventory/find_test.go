package inventory_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
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

// TestShutoffLimit (OS-COST-3): servers that are shut down are read alone, at most ten in one
// pass.
func TestShutoffLimit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{})
	ids := f.addNodes(25)
	for _, id := range ids {
		f.SetServerStatus(id, "SHUTOFF")
	}
	stopped := map[string]bool{}
	for pass := range 3 {
		before := f.calls(opGet)
		for _, id := range ids {
			if f.mustFind(t, id).State() == instance.Stopped {
				stopped[id] = true
			}
		}
		if n := f.calls(opGet) - before; n > certainty.MaxConfirmations {
			t.Errorf("%d requests in pass %d", n, pass)
		}
		f.tick(certainty.Pass)
	}
	if len(stopped) != len(ids) {
		t.Errorf("%d of %d are known to be shut down after three passes", len(stopped), len(ids))
	}
	f.SetServerStatus(ids[0], "ACTIVE")
	f.tick(inventory.DefaultMaxAge)
	if got := f.mustFind(t, ids[0]).State(); got != instance.Running {
		t.Errorf("started again: %s", got)
	}
}

// TestFindFailedPage (OS-NODE-6): servers on the pages that came are used, and the others are
// read alone. The list is read again sooner than a list that is whole.
func TestFindFailedPage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.UserCCM, openstack.Options{PageSize: 20})
	ids := f.addNodes(40)
	f.Interceptor().Inject(opList, simserver.Nth(2), openstack.Error(500, "", "marker"))
	found, failed := 0, 0
	for _, id := range ids {
		_, err := f.Find(bounded(t), id)
		switch {
		case err == nil:
			found++
		case errors.Is(err, inventory.ErrAbsent):
			t.Errorf("server %s is absent, although a page is missing", id)
		default:
			failed++
		}
	}
	if found != 30 || failed != 10 || f.calls(opGet) != 10 || f.calls(opList) != 2 {
		t.Errorf("found %d, failed %d with %d requests of their own and %d pages", found, failed, f.calls(opGet), f.calls(opList))
	}
	f.tick(inventory.DefaultRetryAge)
	for _, id := range ids {
		f.mustFind(t, id)
	}
}

// TestFindFailures (OS-NODE-6): no failure of the list makes a server absent.
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
		"Nova404":   {"no list is missing", openstack.Error(404, "", "not found"), apierr.CodeUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.UserCCM, openstack.Options{})
			id := f.addNodes(1)[0]
			f.Interceptor().Inject(opList, simserver.Always(), tc.fault)
			if _, err := f.Find(bounded(t), id); err == nil || errors.Is(err, inventory.ErrAbsent) || apierr.Code(err) != tc.code {
				t.Errorf("%s: %v, code %s", tc.reason, err, apierr.Code(err))
			}
		})
	}
}

// TestFindByName (OS-NODE-3) over the wire.
func TestFindByName(t *testing.T) {
	t.Parallel()
	// Nova lists the servers of a cell that is down only if there is one page.
	f := newFixture(t, openstack.UserCCM, openstack.Options{PageSize: 1000})
	id := f.addNodes(3)[1]
	f.AddServer(openstack.ServerSpec{Name: "node-2", Project: openstack.ProjectOther})
	found, err := f.FindByName(bounded(t), "node-2")
	if err != nil || found.ID != id {
		t.Fatalf("found %v, %v", found, err)
	}
	if found, err = f.FindByName(bounded(t), "NODE-2"); err != nil || found.ID != id {
		t.Errorf("in capitals: %v, %v", found, err)
	}
	if _, err = f.FindByName(bounded(t), "node-4"); !errors.Is(err, inventory.ErrAbsent) {
		t.Errorf("without a server: %v", err)
	}
	late := f.AddServer(openstack.ServerSpec{Name: "node-4"})
	if _, err = f.ConfirmByName(bounded(t), "node-4"); !errors.Is(err, inventory.ErrAbsent) {
		t.Errorf("the list is not old yet: %v", err)
	}
	f.tick(inventory.DefaultRetryAge)
	if found, err = f.ConfirmByName(bounded(t), "node-4"); err != nil || found.ID != late {
		t.Errorf("with a new list: %v, %v", found, err)
	}
	f.AddServer(openstack.ServerSpec{Name: "node-2"})
	f.tick(inventory.DefaultMaxAge)
	if _, err = f.FindByName(bounded(t), "node-2"); !errors.Is(err, certainty.ErrSeveral) {
		t.Errorf("two servers: %v", err)
	}
	f.AddServer(openstack.ServerSpec{Name: "elsewhere", Cell: "cell2"})
	f.SetCell("", "cell2", openstack.CellDown)
	f.tick(inventory.DefaultMaxAge)
	if _, err = f.FindByName(bounded(t), "node-1"); !errors.Is(err, certainty.ErrPartialList) {
		t.Errorf("a cell is down: %v", err)
	}
	if n := f.calls(opGet); n != 0 {
		t.Errorf("%d requests for single servers", n)
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
