package snapshot_test

import (
	"fmt"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/snapshot"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// OS-LB-21: what 100 unchanged Services with two ports cost: 6 lists and their pages, and at
// first one status tree each. Load balancers of others cost pages.
func TestCost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		reason  string
		foreign int
		user    string
		// pages of the list of pools.
		pages int
	}{
		"alone":       {reason: "200 pools, 100 on a page; a full one has a next", user: openstack.UserCCM, pages: 3},
		"with others": {reason: "800 pools", foreign: 300, user: openstack.UserCCM, pages: 9},
		"an operator": {reason: "those of other projects are not listed", user: openstack.UserOperator, pages: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFixture(t, test.user)
				ids := f.addAll(100)
				for i := range test.foreign {
					f.add(fmt.Sprintf("foreign-%d", i))
				}
				for i := range 20 {
					f.AddLoadBalancer(openstack.LoadBalancerSpec{
						Name: fmt.Sprintf("other-%d", i), Project: openstack.ProjectOther, Subnet: f.foreign,
						Listeners: []openstack.ListenerSpec{{Protocol: "TCP", Port: 80, Pool: &openstack.LBPoolSpec{}}},
					})
				}
				f.Interceptor().SetLatency(50 * time.Millisecond)
				f.Interceptor().Reset()
				f.pass(ids)
				total := f.Interceptor().Total()
				f.calls("cold", lists(test.pages, map[string]int{opTree: 100}))
				if pages := test.pages - 1; total > 120+pages {
					t.Errorf("cold: %d calls and %d pages", total-pages, pages)
				}
				time.Sleep(snapshot.DefaultMaxAge)
				f.pass(ids)
				f.calls("warm", lists(test.pages, nil))
				f.pass(ids)
				f.calls("the lists are young", map[string]int{})
				f.onlyProject()
			})
		})
	}
}

// onlyProject checks that each list was requested for the project alone.
func (f *fixture) onlyProject() {
	f.t.Helper()
	project, err := f.client.Project(f.t.Context())
	if err != nil {
		f.t.Fatal(err)
	}
	for _, op := range []string{opBalancers, opListeners, opPools, opMonitors, opAddresses, opGroups} {
		for _, r := range f.Requests(op) {
			if got := r.Query["project_id"]; len(got) != 1 || got[0] != project {
				f.t.Errorf("%s: project %q in %s", op, got, url.Values(r.Query).Encode())
			}
		}
	}
}

// A Node joins: the load balancers have one more member. Each costs a status tree, once.
func TestNodeJoins(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		ids := f.addAll(10)
		f.pass(ids)
		f.addMember(f.LoadBalancer(ids[3]).Pools[0], "10.0.255.4")
		f.Interceptor().Reset()
		time.Sleep(time.Minute)
		f.pass(ids)
		f.calls("one has a member that is not known", lists(1, map[string]int{opTree: 1}))
		time.Sleep(time.Minute)
		f.pass(ids)
		f.calls("all are known", lists(1, nil))
	})
}

// OS-LB-21: the members of each pool are read in full once per hour.
func TestFullLook(t *testing.T) {
	t.Parallel()
	inBubble(t, func(f *fixture) {
		ids := f.addAll(3)
		f.pass(ids)
		for range 5 {
			time.Sleep(10 * time.Minute)
			f.Interceptor().Reset()
			f.pass(ids)
			f.calls("not yet", lists(1, nil))
		}
		for _, m := range f.membersOf(ids[0]) {
			if !m.Partial {
				t.Errorf("the status tree has no monitor ports: %+v", m)
			}
		}
		time.Sleep(10 * time.Minute)
		f.Interceptor().Reset()
		f.pass(ids)
		f.calls("all pools", lists(1, map[string]int{opMembers: 6}))
		for _, m := range f.membersOf(ids[0]) {
			if m.Partial {
				t.Errorf("all settings are known: %+v", m)
			}
		}
		time.Sleep(50 * time.Minute)
		f.Interceptor().Reset()
		f.pass(ids)
		f.calls("it was an hour ago", lists(1, nil))
	})
}
