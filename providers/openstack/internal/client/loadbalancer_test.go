package client_test

import (
	"context"
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
	if diff := cmp.Diff(want, lb); diff != "" {
		t.Errorf("load balancer: %s", diff)
	}
	listeners, err := lbs.ListenersByLoadBalancer(ctx, f.lb)
	must(t, err)
	wantListeners := []*client.Listener{{
		LBObject: object(f.listener, "listener_0_lb", listeners[0].Operating, "a", "b"), Protocol: "TCP", Port: 80, ConnectionLimit: -1, DefaultPoolID: f.pool,
		InsertHeaders: map[string]string{}, TimeoutClientData: new(50000), TimeoutMemberConnect: new(5000), TimeoutMemberData: new(50000),
		TimeoutTCPInspect: new(0), LoadBalancers: client.IDs{f.lb}, Policies: client.IDs{},
		ListenerUserSettings: client.ListenerUserSettings{AdminUp: new(true), SNIRefs: []string{}, ClientAuthentication: "NONE"},
	}}
	if diff := cmp.Diff(wantListeners, listeners); diff != "" {
		t.Errorf("listeners: %s", diff)
	}
	pools, err := lbs.PoolsByLoadBalancer(ctx, f.lb)
	must(t, err)
	wantPools := []*client.Pool{{
		LBObject: object(f.pool, "pool_0_lb", pools[0].Operating), Protocol: "TCP", Algorithm: "ROUND_ROBIN", Persistence: &client.SessionPersistence{Type: "SOURCE_IP"},
		MonitorID: f.hm, Listeners: client.IDs{f.listener}, LoadBalancers: client.IDs{f.lb}, Members: client.IDs{f.member},
	}}
	if diff := cmp.Diff(wantPools, pools); diff != "" {
		t.Errorf("pools: %s", diff)
	}
	members, err := lbs.ListMembers(ctx, f.pool)
	must(t, err)
	wantMembers := []*client.Member{{
		LBObject: object(f.member, "node-1", members[0].Operating), Address: "10.0.0.201", Port: 30080, SubnetID: f.subnet,
		Weight: new(5), Backup: new(true), AdminUp: new(true), MonitorPort: new(10256),
	}}
	if diff := cmp.Diff(wantMembers, members); diff != "" {
		t.Errorf("members: %s", diff)
	}
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

// The members of a pool come in pages, too.
func TestPagesOfMembers(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{PageSize: 3})
	ctx, lbs := bounded(t), f.client.LoadBalancer()
	members, err := lbs.ListMembers(ctx, f.pool)
	must(t, err)
	specs := []client.MemberSpec{members[0].Spec()}
	for i := range 7 {
		specs = append(specs, client.MemberSpec{Name: fmt.Sprint(i), Address: fmt.Sprintf("10.0.0.%d", 210+i), Port: 30080})
	}
	must(t, lbs.UpdateMembers(ctx, f.pool, specs))
	before := f.Interceptor().Count("octavia.ListMembers")
	members, err = lbs.ListMembers(ctx, f.pool)
	must(t, err)
	if len(members) != 8 || f.Interceptor().Count("octavia.ListMembers")-before != 3 {
		t.Errorf("%d members in %d calls", len(members), f.Interceptor().Count("octavia.ListMembers")-before)
	}
	if m := members[0]; m.ID != f.member || *m.Weight != 5 || !*m.Backup || *m.MonitorPort != 10256 {
		t.Errorf("the first member was not kept as it was: %+v", m)
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

// A load balancer is made empty, and its parts one after another, which are used, changed
// and deleted.
func TestPartsOneByOne(t *testing.T) {
	t.Parallel()
	f := newLBFixture(t, openstack.Options{})
	lbs, ctx := f.client.LoadBalancer(), bounded(t)
	lb, err := lbs.CreateLoadBalancer(ctx, client.LoadBalancerCreate{Name: "serial", VIPSubnetID: f.subnet})
	must(t, err)
	if !lb.Provisioning.IsPending() || lb.ProjectID == "" || lb.VIPPortID == "" {
		t.Errorf("load balancer = %+v", lb)
	}
	p, err := lbs.CreatePool(ctx, lb.ID, client.PoolCreate{Name: "p", Protocol: "TCP", Algorithm: "ROUND_ROBIN"})
	must(t, err)
	f.sent(t, "a pool", "octavia.CreatePool", "", `{"pool": {"loadbalancer_id": "`+lb.ID+`", "name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}`)
	l, err := lbs.CreateListener(ctx, lb.ID, client.ListenerCreate{Name: "l", Protocol: "TCP", Port: 80, DefaultPoolID: p.ID})
	must(t, err)
	hm, err := lbs.CreateHealthMonitor(ctx, p.ID, client.MonitorCreate{Name: "m", Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1})
	must(t, err)
	f.sent(t, "a monitor", "octavia.CreateHealthMonitor", "", `{"healthmonitor": {"pool_id": "`+p.ID+`", "name": "m", "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1}}`)
	m, err := lbs.CreateMember(ctx, p.ID, client.MemberSpec{Name: "n", Address: "10.0.0.4", Port: 30080})
	must(t, err)
	must(t, lbs.AddMembers(ctx, p.ID, []client.MemberSpec{{Name: "o", Address: "10.0.0.5", Port: 30080}}))
	members, err := lbs.ListMembers(ctx, p.ID)
	must(t, err)
	if got := namesOf(members, func(m *client.Member) string { return m.Name }); !slices.Equal(got, []string{"n", "o"}) {
		t.Errorf("members = %v", got)
	}
	changed, err := lbs.UpdateListener(ctx, l.ID, client.ListenerUpdate{ConnectionLimit: client.Set(3)})
	must(t, err)
	if changed.ConnectionLimit != 3 || changed.DefaultPoolID != p.ID {
		t.Errorf("listener = %+v", changed)
	}
	for range 2 { // the second time nothing is there
		must(t, lbs.DeleteMember(ctx, p.ID, m.ID))
		must(t, lbs.DeleteHealthMonitor(ctx, hm.ID))
		must(t, lbs.DeletePool(ctx, p.ID))
		must(t, lbs.DeleteListener(ctx, l.ID))
		must(t, lbs.DeleteLoadBalancer(ctx, lb.ID, false))
	}
	must(t, is(without(lbs.GetLoadBalancer(ctx, lb.ID)), apierr.ErrNotFound))
}

// What refusals mean, and which object they are about. Nothing is sent again.
func TestRefusalsOfOctavia(t *testing.T) {
	t.Parallel()
	rename := func(ctx context.Context, f *lbFixture) error {
		return without(f.client.LoadBalancer().UpdateLoadBalancer(ctx, f.lb, client.LoadBalancerUpdate{Name: client.Set("n")}))
	}
	setMembers := func(ctx context.Context, f *lbFixture) error {
		return f.client.LoadBalancer().UpdateMembers(ctx, f.pool, nil)
	}
	create := func(lb client.LoadBalancerCreate) func(context.Context, *lbFixture) error {
		return func(ctx context.Context, f *lbFixture) error {
			lb.VIPSubnetID = f.subnet

			return without(f.client.LoadBalancer().CreateLoadBalancer(ctx, lb))
		}
	}
	cases := map[string]struct {
		reason, op string
		options    openstack.Options
		prepare    func(f *lbFixture)
		call       func(context.Context, *lbFixture) error
		want       error
		conflict   func(f *lbFixture) client.Conflict
	}{
		"Quota":   {"403 of a quota", "octavia.CreateLoadBalancer", openstack.Options{Quotas: openstack.Quotas{LoadBalancers: 1}}, nil, create(client.LoadBalancerCreate{}), apierr.ErrQuota, nil},
		"Policy":  {"403 of a policy", "octavia.UpdateLoadBalancer", openstack.Options{}, func(f *lbFixture) { f.SetDenied("octavia.UpdateLoadBalancer") }, rename, apierr.ErrDenied, nil},
		"Invalid": {"400", "octavia.CreateLoadBalancer", openstack.Options{}, nil, create(client.LoadBalancerCreate{Provider: "none"}), apierr.ErrInvalid, nil},
		"Driver": {"501 of a driver is permanent", "octavia.CreatePool", openstack.Options{}, nil, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreatePool(ctx, f.lb, client.PoolCreate{Protocol: "TCP", Algorithm: "SOURCE_IP_PORT"}))
		}, apierr.ErrInvalid, nil},
		"Pending": {"a load balancer that is being changed", "octavia.UpdateLoadBalancer", openstack.Options{}, func(f *lbFixture) { f.SetLoadBalancerStatus(f.lb, "PENDING_UPDATE") }, rename, apierr.ErrConflict, func(f *lbFixture) client.Conflict {
			return client.Conflict{Kind: client.KindLoadBalancer, Reason: client.ReasonImmutable, ID: f.lb}
		}},
		"PendingMembers": {"the same for its members", "octavia.UpdateMembers", openstack.Options{}, func(f *lbFixture) { f.SetLoadBalancerStatus(f.lb, "PENDING_UPDATE") }, setMembers, apierr.ErrConflict, func(f *lbFixture) client.Conflict {
			return client.Conflict{Kind: client.KindLoadBalancer, Reason: client.ReasonImmutable, ID: f.lb}
		}},
		"PendingDelete": {"a deletion, too", "octavia.DeleteLoadBalancer", openstack.Options{}, func(f *lbFixture) { f.SetLoadBalancerStatus(f.lb, "PENDING_UPDATE") }, func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().DeleteLoadBalancer(ctx, f.lb, true)
		}, apierr.ErrConflict, func(f *lbFixture) client.Conflict {
			return client.Conflict{Kind: client.KindLoadBalancer, Reason: client.ReasonImmutable, ID: f.lb}
		}},
		"PoolError": {"a pool in ERROR of an ACTIVE load balancer", "octavia.UpdateMembers", openstack.Options{}, func(f *lbFixture) { f.FailPool(f.pool, false) }, setMembers, apierr.ErrConflict, func(f *lbFixture) client.Conflict {
			return client.Conflict{Kind: client.KindPool, Reason: client.ReasonImmutable, ID: f.pool}
		}},
		"Listener": {"a port that is in use", "octavia.CreateListener", openstack.Options{}, nil, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateListener(ctx, f.lb, client.ListenerCreate{Protocol: "HTTP", Port: 80}))
		}, apierr.ErrConflict, func(*lbFixture) client.Conflict {
			return client.Conflict{Kind: client.KindListener, Reason: client.ReasonDuplicate}
		}},
		"Member": {"a member that exists", "octavia.CreateMember", openstack.Options{}, nil, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateMember(ctx, f.pool, client.MemberSpec{Address: "10.0.0.201", Port: 30080}))
		}, apierr.ErrConflict, func(*lbFixture) client.Conflict {
			return client.Conflict{Kind: client.KindMember, Reason: client.ReasonDuplicate}
		}},
		"Monitor": {"a second monitor", "octavia.CreateHealthMonitor", openstack.Options{}, nil, func(ctx context.Context, f *lbFixture) error {
			return without(f.client.LoadBalancer().CreateHealthMonitor(ctx, f.pool, client.MonitorCreate{Type: "TCP", Delay: 5, Timeout: 3, MaxRetries: 1}))
		}, apierr.ErrConflict, func(*lbFixture) client.Conflict {
			return client.Conflict{Kind: client.KindHealthMonitor, Reason: client.ReasonDuplicate}
		}},
		"Children": {"a deletion without cascade", "octavia.DeleteLoadBalancer", openstack.Options{}, nil, func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().DeleteLoadBalancer(ctx, f.lb, false)
		}, apierr.ErrInvalid, nil},
		"OldVersion": {"additive_only before 2.11", "octavia.UpdateMembers", openstack.Options{OctaviaMinor: 10}, nil, func(ctx context.Context, f *lbFixture) error {
			return f.client.LoadBalancer().AddMembers(ctx, f.pool, []client.MemberSpec{{Address: "10.0.0.4", Port: 1}})
		}, apierr.ErrInvalid, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newLBFixture(t, tc.options)
			if tc.prepare != nil {
				tc.prepare(f)
			}
			err := tc.call(bounded(t), f)
			must(t, is(err, tc.want))
			if client.MayBeApplied(err) {
				t.Errorf("%s: %v may be applied", tc.reason, err)
			}
			f.count(t, tc.op, 1)
			got, found := client.ConflictOf(err)
			want := client.Conflict{}
			if tc.conflict != nil {
				want = tc.conflict(f)
			}
			if got != want || found != (tc.conflict != nil) {
				t.Errorf("%s: conflict %+v, %v, want %+v", tc.reason, got, found, want)
			}
		})
	}
}

// An old service has no tags, timeouts and further addresses, and takes the same calls.
func TestOldOctavia(t *testing.T) {
	t.Parallel()
	f := newFixture(t, openstack.Options{Profile: openstack.Bare, StaleReads: new(openstack.StaleReads)}) // it makes one call each
	network := f.AddNetwork(openstack.NetworkSpec{Name: "private"})
	subnet := f.AddSubnet(openstack.SubnetSpec{Network: network, CIDR: "10.0.0.0/24"})
	id := f.AddLoadBalancer(openstack.LoadBalancerSpec{Name: "lb", Subnet: subnet, Listeners: []openstack.ListenerSpec{{
		Protocol: "TCP", Port: 80, Pool: &openstack.LBPoolSpec{Members: []openstack.LBMemberSpec{{Address: "10.0.0.4", Port: 1}}},
	}}})
	lbs, ctx := f.open(t, nil).LoadBalancer(), bounded(t)
	found, err := lbs.ListLoadBalancers(ctx, client.LoadBalancerQuery{Name: "lb"})
	must(t, err)
	if len(found) != 1 || found[0].ID != id || found[0].Tags != nil {
		t.Errorf("load balancers = %+v", found)
	}
	listeners, err := lbs.ListListeners(ctx)
	must(t, err)
	if len(listeners) != 1 || listeners[0].TimeoutClientData != nil || listeners[0].Tags != nil {
		t.Errorf("listeners = %+v", listeners)
	}
	pool := listeners[0].DefaultPoolID
	members, err := lbs.ListMembers(ctx, pool)
	must(t, err)
	if len(members) != 1 || members[0].Backup != nil {
		t.Fatalf("members = %+v", members)
	}
	must(t, lbs.UpdateMembers(ctx, pool, []client.MemberSpec{members[0].Spec()})) // no field that it does not know
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
