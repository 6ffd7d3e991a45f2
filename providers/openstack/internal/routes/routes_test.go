package routes

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	opAdd     = "neutron.AddExtraroutes"
	opRemove  = "neutron.RemoveExtraroutes"
	opRouter  = "neutron.ShowRouter"
	opRewrite = "neutron.UpdateRouter"
	opPorts   = "neutron.ListPorts"
	opPair    = "neutron.UpdatePort"
)

// TestRoutesOffered (OS-ROUTE-1): there are routes if there is a router-id. A failed list of
// extensions is an error of each call, until it succeeds.
func TestRoutesOffered(t *testing.T) {
	t.Parallel()
	if New(Config{}, nil) != nil {
		t.Error("without a router-id there are routes")
	}
	r := newRouting(t, 1, openstack.Options{})
	rule := r.Interceptor().Inject("neutron.ListExtensions", simserver.Always(), openstack.Error(http.StatusInternalServerError, "", "database"))
	for what, call := range map[string]func() error{
		"ListRoutes": func() error {
			_, err := r.routes.ListRoutes(bounded(t), "east")

			return err
		},
		"CreateRoute": func() error { return r.create(routeTo(1)) },
		"DeleteRoute": func() error { return r.remove(routeTo(1)) },
	} {
		if err := call(); !errors.Is(err, apierr.ErrUnavailable) {
			t.Errorf("%s while the extensions are unknown: %v", what, err)
		}
	}
	rule.Remove()
	r.mustCreate(routeTo(1))
	r.want("the extensions are known", []string{"10.244.1.0/24 10.9.0.11"}, map[string][]string{"node-1": {"10.244.1.0/24"}})
}

// TestRoutesWithoutExtension (OS-ROUTE-1): without the extension of Neutron all calls fail,
// and no route is deleted because none is listed.
func TestRoutesWithoutExtension(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{Profile: openstack.Bare})
	if _, err := r.routes.ListRoutes(bounded(t), "east"); !errors.Is(err, apierr.ErrInvalid) {
		t.Errorf("ListRoutes: %v", err)
	}
	if err := r.create(routeTo(1)); !errors.Is(err, apierr.ErrInvalid) {
		t.Errorf("CreateRoute: %v", err)
	}
	if writes := r.Writes(); len(writes) != 0 {
		t.Errorf("writes: %v", writes)
	}
}

// TestListRoutes (OS-ROUTE-2, OS-ROUTE-3): what routes of the router are listed as.
func TestListRoutes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*v1.Node)
		routes [][2]string
		want   []string
	}{
		"node": {"the next hop is an address of the Node", nil, [][2]string{{"10.244.1.0/24", "10.9.0.11"}}, []string{"10.244.1.0/24 10.244.1.0/24 node-1"}},
		"any address": {
			"an ExternalIP counts as well",
			func(n *v1.Node) { kubetest.Address(v1.NodeExternalIP, "10.9.7.7")(n) },
			[][2]string{{"10.244.1.0/24", "10.9.7.7"}},
			[]string{"10.244.1.0/24 10.244.1.0/24 node-1"},
		},
		"two addresses": {
			"both lead to the Node, which is one route", nil,
			[][2]string{{"10.244.1.0/24", "10.9.0.11"}, {"10.244.1.0/24", "fd00:9::11"}},
			[]string{"10.244.1.0/24 10.244.1.0/24 node-1"},
		},
		"IPv6": {
			"the destination is the text of the Node, which the route controller compares",
			func(n *v1.Node) { n.Spec.PodCIDRs = []string{"fd00:244:0:0::/64"} },
			[][2]string{{"fd00:244::/64", "fd00:9::11"}},
			[]string{"fd00:244::/64 fd00:244:0:0::/64 node-1"},
		},
		"black hole":    {"no Node has the address", nil, [][2]string{{"10.244.9.0/24", "10.9.0.99"}}, []string{"10.244.9.0/24 10.244.9.0/24 10.9.0.99 blackhole"}},
		"another range": {"the Node does not have the range", nil, [][2]string{{"10.244.9.0/24", "10.9.0.11"}}, []string{"10.244.9.0/24 10.244.9.0/24 node-1"}},
		"only an old address": {
			"it would be deleted before the Node has a route", nil,
			[][2]string{{"10.244.1.0/24", "10.9.0.99"}},
			nil,
		},
		"old address": {
			"the Node has a route", nil,
			[][2]string{{"10.244.1.0/24", "10.9.0.99"}, {"10.244.1.0/24", "10.9.0.11"}},
			[]string{"10.244.1.0/24 10.244.1.0/24 10.9.0.99 blackhole", "10.244.1.0/24 10.244.1.0/24 node-1"},
		},
		"invalid": {
			"they are skipped", nil,
			[][2]string{{"10.244.1.0/24", "somewhere"}, {"everywhere", "10.9.0.11"}, {"10.244.1.0/24", "10.9.0.11"}},
			[]string{"10.244.1.0/24 10.244.1.0/24 node-1"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouting(t, 1, openstack.Options{})
			if tc.change != nil {
				r.change(1, tc.change)
			}
			r.SetRouterRoutes(r.router, tc.routes...)
			if diff := cmp.Diff(tc.want, r.list()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if writes := r.Writes(); len(writes) != 0 {
				t.Errorf("writes: %v", writes)
			}
		})
	}
}

// TestListRoutesUnknown (OS-ROUTE-2): without Nodes, and with a router that lacks its
// routes, nothing is listed.
func TestListRoutesUnknown(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{})
	nodes := r.routes.nodes.Swap(nil)
	if _, err := r.routes.ListRoutes(bounded(t), "east"); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("before Nodes are known: %v", err)
	}
	r.routes.nodes.Store(nodes)
	r.Interceptor().Inject(opRouter, simserver.Always(), func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"router": {"id": %q}}`, r.router)
	})
	if _, err := r.routes.ListRoutes(bounded(t), "east"); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("without routes in the response: %v", err)
	}
}

// TestListRoutesOldState (OS-ROUTE-11): a state before the last change is read again.
func TestListRoutesOldState(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{StaleReads: &openstack.StaleReads{Every: 1, Reads: 2}})
	r.mustCreate(routeTo(1))
	if diff := cmp.Diff([]string{"10.244.1.0/24 10.244.1.0/24 node-1"}, r.list()); diff != "" {
		t.Errorf("two old states (-want +got):\n%s", diff)
	}
	r.SetStaleReads(openstack.StaleReads{Every: 1, Reads: 1000})
	if err := r.remove(routeTo(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.routes.ListRoutes(bounded(t), "east"); !errors.Is(err, errOldState) {
		t.Errorf("only old states: %v", err)
	}
}

// TestRestoredRouter (OS-ROUTE-11): a router that stays as it was before the last change, as after
// its database was restored, is used after five minutes, and changes go on.
func TestRestoredRouter(t *testing.T) {
	t.Parallel()
	for _, without := range [][]string{nil, {"extraroute-atomic"}} {
		r := newRouting(t, 2, openstack.Options{}, without...)
		r.routes.config.Clock = r.clock
		r.mustCreate(routeTo(1))
		r.Interceptor().Inject("neutron", simserver.Always(), lowerRevisions)
		if _, err := r.routes.ListRoutes(bounded(t), "east"); !errors.Is(err, errOldState) {
			t.Errorf("just after the change: %v", err)
		}
		r.clock.SetTime(r.clock.Now().Add(revisionAge))
		want := []string{"10.244.1.0/24 10.244.1.0/24 node-1"}
		if diff := cmp.Diff(want, r.list()); diff != "" {
			t.Errorf("after five minutes (-want +got):\n%s", diff)
		}
		r.mustCreate(routeTo(2))
		want = append(want, "10.244.2.0/24 10.244.2.0/24 node-2")
		if diff := cmp.Diff(want, r.list()); diff != "" {
			t.Errorf("after a change (-want +got):\n%s", diff)
		}
	}
}

var revisionField = regexp.MustCompile(`"revision_number": *([0-9]+)`)

// lowerRevisions returns objects with revisions that are lower by one.
func lowerRevisions(w http.ResponseWriter, req *http.Request, apply http.Handler) {
	if match := req.Header.Get("If-Match"); match != "" {
		n, _ := strconv.Atoi(strings.TrimPrefix(match, "revision_number="))
		req.Header.Set("If-Match", fmt.Sprintf("revision_number=%d", n+1))
	}
	response := httptest.NewRecorder()
	apply.ServeHTTP(response, req)
	lowered := revisionField.ReplaceAllFunc(response.Body.Bytes(), func(field []byte) []byte {
		n, _ := strconv.Atoi(string(revisionField.FindSubmatch(field)[1]))

		return fmt.Appendf(nil, `"revision_number": %d`, n-1)
	})
	response.Body = bytes.NewBuffer(lowered)
	response.Header().Del("Content-Length")
	simserver.Replay(w, response)
}

// TestRouteCalls (OS-ROUTE-9): what routes cost.
func TestRouteCalls(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 2, openstack.Options{})
	r.wantCalls("the first list", map[string]int{"neutron.ListExtensions": 1, opRouter: 1}, func() { r.list() })
	r.wantCalls("a list", map[string]int{opRouter: 1}, func() { r.list() })
	r.wantCalls("the first route", map[string]int{opPorts: 2, opPair: 1, opAdd: 1}, func() { r.mustCreate(routeTo(1)) })
	r.wantCalls("a route", map[string]int{opPorts: 1, opPair: 1, opAdd: 1}, func() { r.mustCreate(routeTo(2)) })
	r.wantCalls("the same route", map[string]int{opPorts: 1, opAdd: 1}, func() { r.mustCreate(routeTo(2)) })
	r.list()
	r.wantCalls("a deletion", map[string]int{opPorts: 1, opPair: 1, opRemove: 1}, func() {
		if err := r.remove(routeTo(1)); err != nil {
			t.Error(err)
		}
	})
	r.want("one is left", []string{"10.244.2.0/24 10.9.0.12"}, map[string][]string{"node-2": {"10.244.2.0/24"}})
}

// TestRewriteCalls (OS-ROUTE-8, OS-ROUTE-9): what routes cost if all are replaced. One that
// exists is no change.
func TestRewriteCalls(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 2, openstack.Options{}, "extraroute-atomic")
	r.list()
	r.mustCreate(routeTo(1))
	r.wantCalls("a route", map[string]int{opPorts: 1, opPair: 1, opRouter: 1, opRewrite: 1}, func() { r.mustCreate(routeTo(2)) })
	r.wantCalls("the same route", map[string]int{opPorts: 1, opRouter: 1}, func() { r.mustCreate(routeTo(2)) })
}

// TestChangedAddress (OS-ROUTE-5): the route to the new address of a Node is there before
// the one to its old address is removed, also if the router has no room for one more.
func TestChangedAddress(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		limit   int
		without []string
		removed int // calls that remove a route
	}{
		"atomic":  {"a second next hop, then the first is removed", 0, nil, 1},
		"rewrite": {"one change after the other", 0, []string{"extraroute-atomic"}, 0},
		"full":    {"in one change, as there is no room", 1, nil, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// No limit of a case is above the default.
			r := newRouting(t, 1, openstack.Options{Quotas: openstack.Quotas{Routes: tc.limit}}, tc.without...)
			r.mustCreate(routeTo(1))
			// The server gets another port, and leaves the old one.
			r.ports["new"] = r.AddPort(openstack.PortSpec{Network: r.NetworkOf(r.router), IPs: []string{"10.9.0.77"}})
			r.change(1, func(n *v1.Node) { n.Status.Addresses[1].Address = "10.9.0.77" })
			if got := r.list(); got != nil {
				t.Errorf("the old route is listed: %v", got)
			}
			removed := r.Interceptor().Count(opRemove)
			r.Interceptor().Inject(opRemove, simserver.Always(), simserver.Before(func() {
				if !slices.Contains(r.RouterRoutes(r.router), [2]string{"10.244.1.0/24", "10.9.0.77"}) {
					t.Error("the old route is removed first")
				}
			}))
			r.mustCreate(routeTo(1))
			if n := r.Interceptor().Count(opRemove) - removed; n != tc.removed {
				t.Errorf("%s: %d calls to remove routes", tc.reason, n)
			}
			r.want(tc.reason, []string{"10.244.1.0/24 10.9.0.77"}, map[string][]string{"new": {"10.244.1.0/24"}})
		})
	}
}

// TestRouteQuota (OS-ROUTE-7): a router without room is an Event of each Node and a few calls
// for all; the pair is removed again. Once there is room, routes are created.
func TestRouteQuota(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 3, openstack.Options{Quotas: openstack.Quotas{Routes: 1}})
	r.mustCreate(routeTo(1))
	r.list()
	if err := r.create(routeTo(2)); !errors.Is(err, apierr.ErrQuota) {
		t.Errorf("the second route: %v", err)
	}
	r.want("the pair is removed again", []string{"10.244.1.0/24 10.9.0.11"}, map[string][]string{"node-1": {"10.244.1.0/24"}})
	r.wantEvents(routeQuotaReason)
	r.list()
	r.wantCalls("a full router", map[string]int{}, func() {
		for range 3 {
			for _, n := range []int{2, 3} {
				if err := r.create(routeTo(n)); !errors.Is(err, apierr.ErrQuota) {
					t.Errorf("route %d: %v", n, err)
				}
			}
		}
	})
	r.wantEvents(routeQuotaReason)
	if err := r.remove(routeTo(1)); err != nil {
		t.Fatal(err)
	}
	r.list()
	r.mustCreate(routeTo(2))
	if err := r.create(routeTo(3)); !errors.Is(err, apierr.ErrQuota) {
		t.Errorf("full again: %v", err)
	}
	r.SetQuotas("", openstack.Quotas{Routes: 2})
	r.clock.SetTime(r.clock.Now().Add(refusalAge))
	r.mustCreate(routeTo(3))
}

// TestPairQuota (OS-ROUTE-7): without room for a pair there is no route.
func TestPairQuota(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{Quotas: openstack.Quotas{AddressPairs: 1}})
	r.SetPortSecurity(r.ports["node-1"], true, "192.168.0.0/24")
	r.wantCalls("a full port", map[string]int{"neutron.ListExtensions": 1, opPorts: 2, opPair: 1}, func() {
		for range 3 {
			if err := r.create(routeTo(1)); !errors.Is(err, apierr.ErrQuota) {
				t.Errorf("the route: %v", err)
			}
		}
	})
	r.wantEvents(routeQuotaReason)
	r.want("nothing was made", nil, map[string][]string{"node-1": {"192.168.0.0/24"}})
}

// TestRefusedRoute (OS-ROUTE-7): an address outside of the subnets of the router is an Event
// and requested once.
func TestRefusedRoute(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{})
	r.change(1, func(n *v1.Node) { n.Status.Addresses[1].Address = "192.0.2.7" })
	for range 3 {
		if err := r.create(routeTo(1)); !errors.Is(err, apierr.ErrInvalid) {
			t.Errorf("the route: %v", err)
		}
	}
	if n := r.Interceptor().Count(opAdd); n != 1 {
		t.Errorf("%d requests", n)
	}
	r.wantEvents(noPairReason, routeRefusedReason)
}

// TestAddressPairs (OS-ROUTE-6): what happens to the port of a Node.
func TestAddressPairs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(r *routing)
		pairs  []string
		after  []string // once the route is deleted
		events []string
	}{
		"appended": {
			"others stay", func(r *routing) { r.SetPortSecurity(r.ports["node-1"], true, "192.168.0.0/24") },
			[]string{"10.244.1.0/24", "192.168.0.0/24"},
			[]string{"192.168.0.0/24"},
			nil,
		},
		"there": {
			"it is used", func(r *routing) { r.SetPortSecurity(r.ports["node-1"], true, "10.244.1.0/24") },
			[]string{"10.244.1.0/24"},
			nil, nil,
		},
		"no port security": {"nothing is needed", func(r *routing) { r.SetPortSecurity(r.ports["node-1"], false) }, nil, nil, nil},
		"denied": {
			"a port that may not be changed is an Event, and the route stays", func(r *routing) { r.SetDenied(opPair) },
			nil, nil,
			[]string{noPairReason},
		},
		"no port": {
			"a port of others is an Event, and the route stays", func(r *routing) {
				r.DeletePort(r.ports["node-1"])
				delete(r.ports, "node-1")
			}, nil, nil, []string{noPairReason},
		},
		"overtaken": {
			"the port is read again, and the pair of another user stays", func(r *routing) {
				r.Interceptor().Inject(opPair, simserver.First(3), simserver.Before(func() { r.SetPortSecurity(r.ports["node-1"], true, "192.168.0.0/24") }))
			}, []string{"10.244.1.0/24", "192.168.0.0/24"}, []string{"192.168.0.0/24"}, nil,
		},
		"lost": {
			"whether it was changed is read", func(r *routing) {
				r.Interceptor().Inject(opPair, simserver.Nth(1), openstack.ProxyAfter(http.StatusGatewayTimeout))
			}, []string{"10.244.1.0/24"}, nil, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouting(t, 1, openstack.Options{})
			tc.change(r)
			r.mustCreate(routeTo(1))
			r.want(tc.reason, []string{"10.244.1.0/24 10.9.0.11"}, map[string][]string{"node-1": tc.pairs})
			r.wantEvents(tc.events...)
			r.list()
			if err := r.remove(routeTo(1)); err != nil {
				t.Error(err)
			}
			r.want(tc.reason, nil, map[string][]string{"node-1": tc.after})
		})
	}
}

// TestPairOfOtherMachine (OS-ROUTE-6): a pair for another MAC address is not that of a route.
func TestPairOfOtherMachine(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{})
	api := r.Client(t).Network()
	port := r.ports["node-1"]
	if _, err := api.UpdateAddressPairs(bounded(t), port, []client.AddressPair{{Address: rangeOf(1), MAC: "fa:16:3e:00:00:99"}}, nil); err != nil {
		t.Fatal(err)
	}
	r.mustCreate(routeTo(1))
	r.want("one of each", []string{"10.244.1.0/24 10.9.0.11"}, map[string][]string{"node-1": {rangeOf(1), rangeOf(1)}})
	if err := r.remove(routeTo(1)); err != nil {
		t.Fatal(err)
	}
	r.want("the other one stays", nil, map[string][]string{"node-1": {rangeOf(1)}})
}

// TestOvertaken (OS-ROUTE-8): changes of others between reading and writing are kept, and
// attempts are bounded.
func TestOvertaken(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{}, "extraroute-atomic")
	foreign := [2]string{"172.16.0.0/12", "10.9.0.200"}
	r.Interceptor().Inject(opRewrite, simserver.First(2), simserver.Before(func() { r.SetRouterRoutes(r.router, foreign) }))
	r.mustCreate(routeTo(1))
	r.want("the other route stays", []string{"172.16.0.0/12 10.9.0.200", "10.244.1.0/24 10.9.0.11"}, map[string][]string{"node-1": {rangeOf(1)}})
	r.Interceptor().Inject(opRewrite, simserver.Always(), simserver.Before(func() { r.TouchRouter(r.router) }))
	before := r.Interceptor().Count(opRewrite)
	r.list()
	if err := r.remove(routeTo(1)); !errors.Is(err, apierr.ErrConflict) {
		t.Errorf("overtaken each time: %v", err)
	}
	if n := r.Interceptor().Count(opRewrite) - before; n != changeAttempts {
		t.Errorf("%d attempts", n)
	}
}

// TestTwoControllers (OS-ROUTE-8): routes that two processes make at the same time are all
// there.
func TestTwoControllers(t *testing.T) {
	t.Parallel()
	for name, without := range map[string][]string{"atomic": nil, "rewrite": {"extraroute-atomic"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const each = 4
			r := newRouting(t, 2*each, openstack.Options{StaleReads: new(openstack.TypicalStaleReads())}, without...)
			other := r.start()
			var all sync.WaitGroup
			for n := 1; n <= 2*each; n++ {
				process := r.routes
				if n%2 == 0 {
					process = other
				}
				all.Go(func() {
					var err error
					for range 10 { // the route controller repeats what failed
						if err = process.CreateRoute(bounded(t), "east", "", routeTo(n)); err == nil {
							return
						}
					}
					t.Error(err)
				})
			}
			all.Wait()
			if got := r.RouterRoutes(r.router); len(got) != 2*each {
				t.Errorf("%d routes: %v", len(got), got)
			}
		})
	}
}

// TestChangesTogether (OS-ROUTE-8, OS-ROUTE-10, OS-ROUTE-9): a process makes one change of its router at a
// time, as Neutron does, and routes that wait meanwhile are in one request. If that is refused,
// halves of them are requested, so that only its own caller gets the refusal.
func TestChangesTogether(t *testing.T) {
	t.Parallel()
	const nodes = 6
	cases := map[string]struct {
		reason  string
		limit   int // of routes
		adds    int // requests
		refused int
	}{
		"all":     {"the first one, and the five that waited", 0, 2, 0},
		"refused": {"the first one, the five together, two, one, the first without room", 4, 5, 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				// The routes of all Nodes fit, except where the limit is tested.
				r := newRouting(t, nodes, openstack.Options{InMemory: true, Quotas: openstack.Quotas{Routes: tc.limit}})
				alone := openstack.Error(http.StatusConflict, "Conflict", "concurrent update")
				for _, op := range []string{opAdd, opRemove} {
					r.Interceptor().Inject(op, simserver.Always(), openstack.MaxInFlight(1, simserver.Slow(time.Second), alone))
				}
				if refused := r.atOnce(nodes, func(n int) error { return r.create(routeTo(n)) }); refused != tc.refused {
					t.Errorf("%s: %d routes are refused, want %d", tc.reason, refused, tc.refused)
				}
				if n := r.Interceptor().Count(opAdd); n != tc.adds {
					t.Errorf("%s: %d requests to add routes, want %d", tc.reason, n, tc.adds)
				}
				if got := r.RouterRoutes(r.router); len(got) != nodes-tc.refused {
					t.Errorf("%d routes: %v", len(got), got)
				}
				r.list()
				if refused := r.atOnce(nodes, func(n int) error { return r.remove(routeTo(n)) }); refused != 0 {
					t.Errorf("%d deletions are refused", refused)
				}
				if n := r.Interceptor().Count(opRemove); n != 2 {
					t.Errorf("%d requests to remove routes, want 2", n)
				}
				r.want("all are deleted", nil, nil)
			})
		})
	}
}

// TestRefusedTogether (OS-ROUTE-10): one of 200 routes that Neutron refuses costs few requests,
// and only its own caller gets the refusal.
func TestRefusedTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const nodes, bad, most = 200, 77, 20
		// An operator raises the quota for so many Nodes.
		r := newRouting(t, nodes, openstack.Options{InMemory: true, Quotas: openstack.Quotas{Routes: nodes}})
		r.change(bad, func(node *v1.Node) {
			node.Status.Addresses = []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: "192.0.2.1"}}
		})
		alone := openstack.Error(http.StatusConflict, "Conflict", "concurrent update")
		r.Interceptor().Inject(opAdd, simserver.Always(), openstack.MaxInFlight(1, simserver.Slow(time.Second), alone))
		errs := make([]error, nodes+1)
		var all sync.WaitGroup
		for n := 1; n <= nodes; n++ {
			all.Go(func() { errs[n] = r.create(routeTo(n)) })
		}
		all.Wait()
		for n, err := range errs {
			if errors.Is(err, apierr.ErrInvalid) != (n == bad) || err != nil && n != bad {
				t.Errorf("route %d: %v", n, err)
			}
		}
		if got := len(r.RouterRoutes(r.router)); got != nodes-1 {
			t.Errorf("%d routes", got)
		}
		if n := r.Interceptor().Count(opAdd); n > most {
			t.Errorf("%d requests to add routes, want at most %d", n, most)
		}
	})
}

// atOnce makes a call for each of the first nodes, and returns how many were refused for a
// quota. Every other error fails the test.
func (r *routing) atOnce(nodes int, call func(n int) error) (refused int) {
	r.t.Helper()
	errs := make([]error, nodes)
	var all sync.WaitGroup
	for n := range nodes {
		all.Go(func() { errs[n] = call(n + 1) })
	}
	all.Wait()
	for _, err := range errs {
		if errors.Is(err, apierr.ErrQuota) {
			refused++
		} else if err != nil {
			r.t.Error(err)
		}
	}

	return refused
}

// TestFailedRoute (OS-ROUTE-6): what a failed call has changed is undone, unless the route
// may be there.
func TestFailedRoute(t *testing.T) {
	t.Parallel()
	refused := openstack.Error(http.StatusConflict, "Conflict", "busy")
	cases := map[string]struct {
		reason string
		fault  func(r *routing)
		fails  bool
		text   string // of the error
		routes []string
		pairs  []string
	}{
		"applied": {"the same change again", func(r *routing) {
			r.Interceptor().Inject(opAdd, simserver.Nth(1), openstack.ProxyAfter(http.StatusGatewayTimeout))
		}, false, "", []string{"10.244.1.0/24 10.9.0.11"}, []string{rangeOf(1)}},
		"unclear": {"the route may be there, and needs the pair", func(r *routing) {
			r.Interceptor().Inject(opAdd, simserver.Always(), openstack.ProxyAfter(http.StatusGatewayTimeout))
		}, true, "504", []string{"10.244.1.0/24 10.9.0.11"}, []string{rangeOf(1)}},
		"refused": {"the pair is removed", func(r *routing) {
			r.Interceptor().Inject(opAdd, simserver.Always(), refused)
		}, true, "busy", nil, nil},
		"undo fails": {"both errors are reported", func(r *routing) {
			r.Interceptor().Inject(opAdd, simserver.Always(), refused)
			r.Interceptor().Inject(opPair, simserver.From(2), openstack.Error(http.StatusServiceUnavailable, "", "no workers"))
		}, true, "undo: remove address pair", nil, []string{rangeOf(1)}},
		"pair fails": {"no route is made", func(r *routing) {
			r.Interceptor().Inject(opPair, simserver.Always(), openstack.Error(http.StatusServiceUnavailable, "", "no workers"))
		}, true, "allow packets", nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouting(t, 1, openstack.Options{})
			tc.fault(r)
			err := r.create(routeTo(1))
			if (err != nil) != tc.fails || err != nil && !strings.Contains(err.Error(), tc.text) {
				t.Errorf("%s: %v", tc.reason, err)
			}
			r.want(tc.reason, tc.routes, map[string][]string{"node-1": tc.pairs})
			r.Interceptor().Clear()
			r.mustCreate(routeTo(1))
			r.want("the next round", []string{"10.244.1.0/24 10.9.0.11"}, map[string][]string{"node-1": {rangeOf(1)}})
		})
	}
}

// TestDeleteRoute (OS-ROUTE-4, OS-ROUTE-6): routes are deleted by their next hop, with the
// pair, whatever is left of the Node.
func TestDeleteRoute(t *testing.T) {
	t.Parallel()
	blackhole := &cloudprovider.Route{TargetNode: "10.9.0.11", DestinationCIDR: rangeOf(1), Blackhole: true}
	cases := map[string]struct {
		reason string
		change func(r *routing)
		route  *cloudprovider.Route
		routes []string
		pairs  []string
	}{
		"vanished Node": {"the server of the black hole has no pair left", func(r *routing) {
			r.SetNodes(r.t, r.Joined()[1:])
			r.list()
		}, blackhole, nil, nil},
		"vanished since": {"it was listed", func(r *routing) {
			r.list()
			r.SetNodes(r.t, r.Joined()[1:])
		}, routeTo(1), nil, nil},
		"vanished server": {"there is no port", func(r *routing) {
			r.DeletePort(r.ports["node-1"])
			delete(r.ports, "node-1")
			r.list()
		}, routeTo(1), nil, nil},
		"missing route": {"the pair is removed nevertheless", func(r *routing) { r.SetRouterRoutes(r.router) }, routeTo(1), nil, nil},
		"another next hop": {"only the listed one is deleted", func(r *routing) {
			r.SetRouterRoutes(r.router, [2]string{rangeOf(1), "10.9.0.12"}, [2]string{rangeOf(1), "10.9.0.11"})
		}, routeTo(1), []string{"10.244.1.0/24 10.9.0.12"}, nil},
		"unknown": {"there is nothing to delete", func(*routing) {}, &cloudprovider.Route{TargetNode: "never-was", DestinationCIDR: rangeOf(1)}, []string{"10.244.1.0/24 10.9.0.11"}, []string{rangeOf(1)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, without := range [][]string{nil, {"extraroute-atomic"}} {
				r := newRouting(t, 2, openstack.Options{}, without...)
				r.mustCreate(routeTo(1))
				tc.change(r)
				for range 2 {
					if err := r.remove(tc.route); err != nil {
						t.Errorf("%s: %v", tc.reason, err)
					}
				}
				r.want(tc.reason, tc.routes, map[string][]string{"node-1": tc.pairs})
			}
		})
	}
	r := newRouting(t, 1, openstack.Options{})
	if err := r.remove(&cloudprovider.Route{TargetNode: "node-1", DestinationCIDR: "10.244.1.0"}); !errors.Is(err, apierr.ErrInvalid) {
		t.Errorf("an invalid destination: %v", err)
	}
}

// TestIncompleteDeletion (OS-ROUTE-6): a route whose deletion failed after the pair was
// removed is created again if its Node has come back.
func TestIncompleteDeletion(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{})
	r.mustCreate(routeTo(1))
	r.list()
	rule := r.Interceptor().Inject(opRemove, simserver.Always(), openstack.Error(http.StatusServiceUnavailable, "", "no workers"))
	if err := r.remove(routeTo(1)); !errors.Is(err, apierr.ErrUnavailable) {
		t.Errorf("the deletion: %v", err)
	}
	rule.Remove()
	if got := r.list(); got != nil {
		t.Errorf("listed as complete: %v", got)
	}
	r.mustCreate(routeTo(1))
	r.want("the pair is there again", []string{"10.244.1.0/24 10.9.0.11"}, map[string][]string{"node-1": {rangeOf(1)}})
	if diff := cmp.Diff([]string{"10.244.1.0/24 10.244.1.0/24 node-1"}, r.list()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNextHop (OS-ROUTE-4): the next hop is the first InternalIP of the family.
func TestNextHop(t *testing.T) {
	t.Parallel()
	r := newRouting(t, 1, openstack.Options{})
	r.mustCreate(&cloudprovider.Route{TargetNode: "node-1", DestinationCIDR: "fd00:244:1::5/64"})
	r.want("in its canonical form", []string{"fd00:244:1::/64 fd00:9::11"}, map[string][]string{"node-1": {"fd00:244:1::/64"}})
	r.change(1, func(n *v1.Node) { n.Status.Addresses = n.Status.Addresses[:2] })
	if err := r.create(&cloudprovider.Route{TargetNode: "node-1", DestinationCIDR: "fd00:244:2::/64"}); !errors.Is(err, errNoNextHop) {
		t.Errorf("without an IPv6 address: %v", err)
	}
}

// TestNewNetwork (OS-ROUTE-9): the networks of the router are read again if a Node is in
// none of them.
func TestNewNetwork(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	r := newRouting(t, 1, openstack.Options{})
	r.mustCreate(routeTo(1))
	second := r.AddNetwork(openstack.NetworkSpec{Name: "second"})
	subnet := r.AddSubnet(openstack.SubnetSpec{Network: second, CIDR: "10.10.0.0/24"})
	r.ports["node-1"] = r.AddPort(openstack.PortSpec{Network: second, IPs: []string{"10.10.0.5"}})
	r.AddRouterInterface(r.router, subnet)
	r.change(1, func(n *v1.Node) { n.Status.Addresses[1].Address = "10.10.0.5" })
	r.wantCalls("the new address", map[string]int{opPorts: 4, opPair: 2, opAdd: 1, opRemove: 1}, func() { r.mustCreate(routeTo(1)) })
	r.want("its port is found", []string{"10.244.1.0/24 10.10.0.5"}, map[string][]string{"node-1": {rangeOf(1)}})
}
