package snapshot_test

import (
	"net/url"
	"testing"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
)

// onlyProject checks that each list was requested for the project alone.
func (f *fixture) onlyProject() {
	f.t.Helper()
	project, err := f.client.Project(f.t.Context())
	openstacktest.Must(f.t, err)
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
	openstacktest.CountsCalls(t)
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
		f.pass(ids)
		f.calls("the lists are young", map[string]int{})
		f.onlyProject()
	})
}

// OS-LB-21: the members of each pool are read in full once per hour.
func TestFullLook(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
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
