package client_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/features"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// namesOf returns the names of objects.
func namesOf[T any](rows []*T, name func(*T) string) []string {
	names := []string{}
	for _, row := range rows {
		names = append(names, name(row))
	}
	slices.Sort(names)

	return names
}

func lbName(lb *client.LoadBalancerInfo) string { return lb.Name }

// Objects are read with all that decides something.
func TestReadLoadBalancer(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	ctx, lbs := bounded(t), f.client.LoadBalancer()
	project := f.ProjectID(openstack.ProjectCCM)
	lb, err := lbs.GetLoadBalancer(ctx, f.lb)
	must(t, err)
	object := func(id, name, operating string, tags ...string) client.LBObject {
		return client.LBObject{ID: id, Name: name, ProjectID: project, Provisioning: client.ProvisioningActive, Operating: operating, Tags: append([]string{}, tags...)}
	}
	want := &client.LoadBalancerInfo{
		LBObject: object(f.lb, "lb", lb.Operating, "a", "b"), Provider: "amphora", VIPAddress: f.LoadBalancer(f.lb).VIPAddress, VIPPortID: f.vipPort,
		VIPSubnetID: f.subnet, VIPNetworkID: f.network, AdditionalVIPs: []client.VIP{}, Zone: client.Optional[string]{Known: true}, CreatedAt: lb.CreatedAt,
		Listeners: client.IDs{f.listener}, Pools: client.IDs{f.pool},
	}
	openstacktest.Check(t, "load balancer", want, lb)
	listeners, err := lbs.ListenersByLoadBalancer(ctx, f.lb)
	must(t, err)
	wantListeners := []*client.Listener{{
		LBObject: object(f.listener, "listener_0_lb", listeners[0].Operating, "a", "b"), Protocol: "TCP", Port: 80, ConnectionLimit: -1, DefaultPoolID: f.pool,
		InsertHeaders: map[string]string{}, TimeoutClientData: new(50000), TimeoutMemberConnect: new(5000), TimeoutMemberData: new(50000),
		TimeoutTCPInspect: new(0), LoadBalancers: client.IDs{f.lb}, Policies: client.IDs{},
		ListenerUserSettings: client.ListenerUserSettings{AdminUp: new(true), SNIRefs: []string{}, ClientAuthentication: "NONE"},
	}}
	openstacktest.Check(t, "listeners", wantListeners, listeners)
	pools, err := lbs.PoolsByLoadBalancer(ctx, f.lb)
	must(t, err)
	wantPools := []*client.Pool{{
		LBObject: object(f.pool, "pool_0_lb", pools[0].Operating), Protocol: "TCP", Algorithm: "ROUND_ROBIN", Persistence: &client.SessionPersistence{Type: "SOURCE_IP"},
		MonitorID: f.hm, Listeners: client.IDs{f.listener}, LoadBalancers: client.IDs{f.lb}, Members: client.IDs{f.member},
	}}
	openstacktest.Check(t, "pools", wantPools, pools)
	members, err := lbs.ListMembers(ctx, f.pool)
	must(t, err)
	wantMembers := []*client.Member{{
		LBObject: object(f.member, "node-1", members[0].Operating), Address: "10.0.0.201", Port: 30080, SubnetID: f.subnet,
		Weight: new(5), Backup: new(true), AdminUp: new(true), MonitorPort: new(10256),
	}}
	openstacktest.Check(t, "members", wantMembers, members)
	monitor, err := lbs.GetHealthMonitor(ctx, f.hm)
	must(t, err)
	if monitor.Type != "TCP" || monitor.Name != "monitor_0_lb" || !slices.Equal(monitor.Pools, client.IDs{f.pool}) {
		t.Errorf("monitor = %+v", monitor)
	}
	tree, err := lbs.GetStatusTree(ctx, f.lb)
	must(t, err)
	pool := tree.Listeners[0].Pools[0]
	if tree.ID != f.lb || tree.Provisioning != client.ProvisioningActive || tree.Listeners[0].ID != f.listener || pool.ID != f.pool ||
		pool.Monitor.ID != f.hm || pool.Monitor.Type != "TCP" || pool.Members[0].Address != "10.0.0.201" || pool.Members[0].Port != 30080 {
		t.Errorf("status tree = %+v", tree)
	}
}

// Lists are read in pages of what the service sends, with the filters kept.
func TestPagesOfLoadBalancers(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{PageSize: 3})
	for i := range 6 {
		f.addLB(fmt.Sprintf("lb-%d", i), "a")
	}
	f.addLB("LB")
	f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "lb", Subnet: f.subnet, Project: openstack.ProjectOther, Tags: []string{"a", "b"}})
	// An operator may list all projects.
	lbs := f.open(t, credential.NewInFile(f.Credentials(openstack.UserOperator), nil)).LoadBalancer()
	if project, err := f.open(t, nil).Project(bounded(t)); err != nil || project != f.ProjectID(openstack.ProjectCCM) {
		t.Fatalf("project = %s, %v", project, err)
	}
	ctx := bounded(t)
	each := func(call func(fn func(name string)) error) ([]string, error) {
		names := []string{}
		err := call(func(name string) { names = append(names, name) })
		slices.Sort(names)

		return names, err
	}
	nine := func(prefix string) []string {
		names := []string{prefix + "LB", prefix + "lb"}
		for i := range 6 {
			names = append(names, fmt.Sprintf("%slb-%d", prefix, i))
		}
		slices.Sort(names)

		return names
	}
	cases := map[string]struct {
		reason, op string
		list       func() ([]string, error)
		want       []string
		calls      int
	}{
		"All": {"all of the project", "octavia.ListLoadBalancers", func() ([]string, error) {
			rows, err := lbs.ListLoadBalancers(ctx, client.LoadBalancerQuery{})

			return namesOf(rows, lbName), err
		}, nine(""), 3},
		"Tag": {"those with a tag, on every page", "octavia.ListLoadBalancers", func() ([]string, error) {
			rows, err := lbs.ListLoadBalancers(ctx, client.LoadBalancerQuery{Tags: []string{"a"}})

			return namesOf(rows, lbName), err
		}, slices.DeleteFunc(nine(""), func(name string) bool { return name == "LB" }), 3},
		"Tags": {"those with both tags", "octavia.ListLoadBalancers", func() ([]string, error) {
			rows, err := lbs.ListLoadBalancers(ctx, client.LoadBalancerQuery{Tags: []string{"a", "b"}})

			return namesOf(rows, lbName), err
		}, []string{"lb"}, 1},
		"Name": {"the name exactly, though the service ignores case", "octavia.ListLoadBalancers", func() ([]string, error) {
			rows, err := lbs.ListLoadBalancers(ctx, client.LoadBalancerQuery{Name: "lb"})

			return namesOf(rows, lbName), err
		}, []string{"lb"}, 1},
		"Listeners": {"listeners of the project", "octavia.ListListeners", func() ([]string, error) {
			rows, err := lbs.ListListeners(ctx)

			return namesOf(rows, func(l *client.Listener) string { return l.Name }), err
		}, nine("listener_0_"), 3},
		"Pools": {"pools, one by one", "octavia.ListPools", func() ([]string, error) {
			return each(func(fn func(string)) error { return lbs.EachPool(ctx, func(p *client.Pool) { fn(p.Name) }) })
		}, nine("pool_0_"), 3},
		"Monitors": {"health monitors", "octavia.ListHealthMonitors", func() ([]string, error) {
			rows, err := lbs.ListHealthMonitors(ctx)

			return namesOf(rows, func(m *client.HealthMonitor) string { return m.Name }), err
		}, nine("monitor_0_"), 3},
	}
	for name, tc := range cases {
		before := f.Interceptor().Count(tc.op)
		got, err := tc.list()
		must(t, err)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: %s: %s", name, tc.reason, diff)
		}
		if calls := f.Interceptor().Count(tc.op) - before; calls != tc.calls {
			t.Errorf("%s: %d calls, want %d", name, calls, tc.calls)
		}
		for _, r := range f.Requests(tc.op)[before:] {
			if r.Query.Get("project_id") != f.ProjectID(openstack.ProjectCCM) || len(r.Query["fields"]) == 0 || len(r.Query["tags"]) > 1 {
				t.Errorf("%s: query = %v", name, r.Query)
			}
		}
	}
}

// Rows that do not fit are left out, whatever the service filters.
func TestForeignRowsOfLoadBalancers(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	project := f.ProjectID(openstack.ProjectCCM)
	of := func(id, project, name, lb string) map[string]any {
		return map[string]any{"id": id, "project_id": project, "name": name, "tags": []string{name}, "loadbalancers": []any{map[string]any{"id": lb}}}
	}
	rows := []any{of("1", "other", "lb", f.lb), of("2", project, "LB", f.lb), of("3", project, "lb", missingID), of("", project, "lb", f.lb), of("5", project, "lb", f.lb)}
	f.serve("octavia", func(w http.ResponseWriter, r *http.Request) bool {
		key := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		reply(w, http.StatusOK, map[string]any{key: rows})

		return true
	})
	lbs, ctx := f.client.LoadBalancer(), bounded(t)
	for what, q := range map[string]client.LoadBalancerQuery{"name": {Name: "lb"}, "tags": {Tags: []string{"lb"}}} {
		found, err := lbs.ListLoadBalancers(ctx, q)
		if ids := namesOf(found, func(lb *client.LoadBalancerInfo) string { return lb.ID }); err != nil || !slices.Equal(ids, []string{"3", "5"}) {
			t.Errorf("by %s: %v, %v", what, ids, err)
		}
	}
	listeners, err := lbs.ListenersByLoadBalancer(ctx, f.lb)
	if ids := namesOf(listeners, func(l *client.Listener) string { return l.ID }); err != nil || !slices.Equal(ids, []string{"2", "5"}) {
		t.Errorf("listeners %v, %v", ids, err)
	}
	pools, err := lbs.PoolsByLoadBalancer(ctx, f.lb)
	if ids := namesOf(pools, func(p *client.Pool) string { return p.ID }); err != nil || !slices.Equal(ids, []string{"2", "5"}) {
		t.Errorf("pools %v, %v", ids, err)
	}
	members, err := lbs.ListMembers(ctx, f.pool)
	if ids := namesOf(members, func(m *client.Member) string { return m.ID }); err != nil || !slices.Equal(ids, []string{"2", "3", "5"}) {
		t.Errorf("members %v, %v", ids, err)
	}
	for _, bad := range []client.LoadBalancerQuery{{Tags: []string{"a,b"}}, {Tags: []string{""}}} {
		_, err := lbs.ListLoadBalancers(ctx, bad)
		must(t, is(err, apierr.ErrInvalid))
	}
}

// TestHiddenVersionOfOctavia (OS-LB-13): a version document that a gateway hides is no error. It is
// read again after ten minutes.
func TestHiddenVersionOfOctavia(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]simserver.Fault{"404": openstack.Proxy(http.StatusNotFound, ""), "403": openstack.Denied()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, openstack.Options{})
			f.Interceptor().Inject("octavia.ListVersions", simserver.Nth(1), fault)
			lbs, ctx := f.open(t, nil).LoadBalancer(), bounded(t)
			for range 2 {
				if v, err := lbs.Version(ctx); err != nil || v != (features.Version{}) {
					t.Errorf("version %v, %v, want none", v, err)
				}
			}
			f.count(t, "octavia.ListVersions", 1)
			f.clock.Step(10 * time.Minute)
			if v, err := lbs.Version(ctx); err != nil || v != (features.Version{Major: 2, Minor: 26}) {
				t.Errorf("version %v, %v, and the document is there again", v, err)
			}
		})
	}
}

// A list that fails on a later page has what came before.
func TestFailureOnLaterPage(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{PageSize: 3})
	for i := range 4 {
		f.addLB(fmt.Sprint(i))
	}
	f.serve("octavia", func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("marker") == "" {
			return false
		}
		reply(w, http.StatusForbidden, map[string]any{"faultstring": "Policy does not allow this request to be performed."})

		return true
	})
	lbs, ctx := f.client.LoadBalancer(), bounded(t)
	found, err := lbs.ListLoadBalancers(ctx, client.LoadBalancerQuery{})
	must(t, is(err, apierr.ErrDenied))
	if len(found) != 3 {
		t.Errorf("%d load balancers, want 3", len(found))
	}
}

// What a read that finds nothing means.
func TestReadsOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	foreign := f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "lb", Subnet: f.subnet, Project: openstack.ProjectOther})
	operator := f.open(t, credential.NewInFile(f.Credentials(openstack.UserOperator), nil)).LoadBalancer()
	lbs, ctx := f.client.LoadBalancer(), bounded(t)
	get := func(s *client.LoadBalancerService, id string) error { return without(s.GetLoadBalancer(ctx, id)) }
	must(t, is(get(lbs, missingID), apierr.ErrNotFound))
	must(t, is(get(lbs, foreign), apierr.ErrDenied))
	must(t, is(get(operator, foreign), client.ErrOtherProject))
	must(t, is(get(lbs, "x"), apierr.ErrInvalid))
	must(t, is(without(lbs.GetStatusTree(ctx, missingID)), apierr.ErrNotFound))
	must(t, is(without(lbs.GetStatusTree(ctx, "x")), apierr.ErrInvalid))
	must(t, is(without(lbs.GetHealthMonitor(ctx, missingID)), apierr.ErrNotFound))
	must(t, is(without(lbs.GetHealthMonitor(ctx, "x")), apierr.ErrInvalid))
	must(t, is(without(lbs.ListMembers(ctx, missingID)), apierr.ErrUnavailable)) // proves nothing about its members
	must(t, is(without(lbs.ListMembers(ctx, "x")), apierr.ErrInvalid))
	must(t, is(without(lbs.ListenersByLoadBalancer(ctx, "")), apierr.ErrInvalid))
	must(t, is(without(lbs.PoolsByLoadBalancer(ctx, "")), apierr.ErrInvalid))
	for _, body := range []string{`{}`, `{"loadbalancer": {"id": "` + missingID + `"}}`, `{"statuses": {}}`} {
		f.Interceptor().Clear()
		f.Interceptor().Inject("octavia", simserver.Always(), raw(200, body))
		must(t, is(get(lbs, f.lb), apierr.ErrUnavailable))
		must(t, is(without(lbs.GetStatusTree(ctx, f.lb)), apierr.ErrUnavailable))
	}
}

// Which statuses end a wait.
func TestProvisioningStatus(t *testing.T) {
	t.Parallel()
	for status, pending := range map[client.ProvisioningStatus]bool{
		client.ProvisioningActive: false, client.ProvisioningError: false, client.ProvisioningDeleted: false, "NEW": false,
		client.ProvisioningPendingCreate: true, client.ProvisioningPendingUpdate: true, client.ProvisioningPendingDelete: true,
	} {
		if status.IsPending() != pending || status.IsDeleted() != (status == client.ProvisioningDeleted) {
			t.Errorf("%s: pending %v, deleted %v", status, status.IsPending(), status.IsDeleted())
		}
	}
}
