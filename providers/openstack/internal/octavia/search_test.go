package octavia_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/change"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/octavia"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// refusing is a fault that refuses requests with these Nodes as members, without naming them,
// and counts them. It lets others pass.
func refusing(refused *int, nodes ...int) simserver.Fault {
	return func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		for _, n := range nodes {
			if strings.Contains(string(body), fmt.Sprintf("%q", fmt.Sprintf("10.0.0.%d", 100+n))) {
				*refused++
				openstack.Error(http.StatusBadRequest, "", "A member is not acceptable to the provider.")(w, r, apply)

				return
			}
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		apply.ServeHTTP(w, r)
	}
}

// between are the numbers of Nodes.
func between(first, last int) []int {
	var all []int
	for n := first; n <= last; n++ {
		all = append(all, n)
	}

	return all
}

// refuseNodes has requests with these Nodes as members refused, and returns how many were.
func (f *writeFixture) refuseNodes(nodes ...int) *int {
	refused := new(int)
	for _, op := range []string{opMembers, opCreateMember} {
		f.Interceptor().Inject(op, simserver.Always(), refusing(refused, nodes...))
	}

	return refused
}

// servedNodes checks which Nodes get the traffic of TCP/80.
func (f *writeFixture) servedNodes(reason string, nodes ...int) {
	f.t.Helper()
	var want []string
	for _, n := range nodes {
		want = append(want, fmt.Sprintf("10.0.0.%d:30080", 100+n))
	}
	slices.Sort(want)
	f.serves(reason, "TCP", 80, want...)
}

// search is a sync of a pool with two members, to which a hundred are to be added.
type search struct{ refused, batches, singles, warnings int }

// OS-LB-36: members that Octavia refuses without naming them are found in few requests, with
// an Event that names the Nodes. The next syncs leave them out for an hour.
func TestSearchForRefusedMembers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		bad []int
		// additive are the syncs with additive updates, full those without.
		additive, full []search
	}{
		"the first": {[]int{1}, []search{{7, 13, 0, 1}, {0, 0, 0, 1}}, []search{{7, 12, 1, 1}, {0, 0, 0, 1}}},
		"the last":  {[]int{100}, []search{{7, 14, 0, 1}, {0, 0, 0, 1}}, []search{{7, 11, 3, 1}, {0, 0, 0, 1}}},
		"three":     {[]int{1, 50, 100}, []search{{12, 23, 0, 1}, {0, 0, 0, 1}}, []search{{12, 18, 5, 1}, {0, 0, 0, 1}}},
		"all": {
			between(1, 100),
			[]search{{28, 28, 0, 2}, {28, 28, 0, 3}},
			[]search{{28, 16, 12, 2}, {28, 16, 12, 3}},
		},
	} {
		for profile, want := range map[openstack.Profile][]search{openstack.Amphora: c.additive, openstack.OVN: c.full} {
			t.Run(fmt.Sprint(name, " with ", profile), func(t *testing.T) {
				t.Parallel()
				inBubble(t, openstack.Options{Profile: profile}, func(f *writeFixture) {
					f.addNodes(101, 102)
					svc := web(kubetest.Port(v1.ProtocolTCP, 80))
					f.ensure(svc)
					refused := f.refuseNodes(c.bad...)
					f.addNodes(between(1, 102)...)
					for i, want := range want {
						*refused = 0
						f.Interceptor().Reset()
						warnings := f.warningsOf(svc)
						got := search{*refused, f.Interceptor().Count(opMembers), f.Interceptor().Count(opCreateMember), len(warnings)}
						if got != want {
							t.Errorf("sync %d: %+v, want %+v", i, got, want)
						}
						if !strings.Contains(warnings[0].Message, fmt.Sprintf("node-%d 10.0.0.%d:30080", c.bad[0], 100+c.bad[0])) {
							t.Errorf("sync %d: the Node is not named: %v", i, warnings)
						}
					}
					f.servedNodes("the others are added", lists.Without(between(1, 102), c.bad)...)
				})
			})
		}
	}
}

// warningsOf syncs a Service, and returns all warnings.
func (f *writeFixture) warningsOf(svc *v1.Service) []service.Warning {
	f.t.Helper()
	d := f.desired(svc)
	steps, found := octavia.Diff(f.observe(d.Names), d)
	warnings, err := f.apply(steps)
	openstacktest.Must(f.t, err)

	return slices.Concat(found.Warnings, warnings)
}

// OS-LB-36: all Nodes are tried after some syncs, even if Octavia refuses most of them; those
// that it has refused before come last. One that changes is tried at once.
func TestSearchGoesOn(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		f.addNodes(101, 102)
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		refused := f.refuseNodes(between(1, 99)...)
		f.addNodes(between(1, 102)...)
		for range 10 { // a minute each
			f.warningsOf(svc)
		}
		f.servedNodes("the only one that Octavia takes", 100, 101, 102)
		*refused = 0
		for range 60 {
			f.warningsOf(svc)
		}
		if *refused > 900 { // a search from scratch each time: 199 a minute
			t.Errorf("%d requests were refused in an hour", *refused)
		}
		f.Interceptor().Clear()
		time.Sleep(time.Hour)
		f.warningsOf(svc)
		f.servedNodes("the cloud has changed", between(1, 102)...)
		f.unchanged("nothing is refused any more", svc)
	})
}

// OS-LB-36: a member that serves is not removed because Octavia refuses it by now: not from
// its pool, and not by a pool that would have to do without it.
func TestRefusedMemberServesOn(t *testing.T) {
	t.Parallel()
	inBubble(t, openstack.Options{}, func(f *writeFixture) {
		svc := web(kubetest.Port(v1.ProtocolTCP, 80))
		f.ensure(svc)
		f.WatchServing(f.LoadBalancer(f.lb).VIPAddress, "TCP", 80, "10.0.0.102:30080")
		f.refuseNodes(2)
		proxied := web(kubetest.Port(v1.ProtocolTCP, 80), with(request.AnnotationProxyProtocol, "v1"))
		for range 2 {
			warnings, err := f.try(proxied)
			f.fails("the new pool lacks it", err, apierr.ErrInvalid, "node-2 10.0.0.102:30080")
			f.warned("it is refused", warnings, change.TargetRefused)
			f.servedNodes("the old pool", 1, 2, 3)
		}
		if pools := f.LoadBalancer(f.lb).Pools; len(pools) != 2 {
			t.Errorf("pools %v: the new one is not used again", pools)
		}
		f.addNodes(1, 2, 3, 4)
		f.try(svc)
		f.servedNodes("its pool", 1, 2, 3, 4)
		if outages := f.Outages(); len(outages) > 0 {
			t.Errorf("the member does not serve after %q", outages)
		}
		f.Interceptor().Clear()
		f.ensure(proxied)
		f.unchanged("it is taken again", proxied)
		f.servedNodes("the new pool", 1, 2, 3, 4)
	})
}
