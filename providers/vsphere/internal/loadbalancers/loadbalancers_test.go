package loadbalancers_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/cloud-provider/api"
	kmetrics "k8s.io/component-base/metrics"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// TestOwnWrites (VS-LB-5): own writes count while the search does not show them, and an unchanged Service costs no call.
func TestOwnWrites(t *testing.T) {
	t.Parallel()
	simulate(t, options{spec: nsxt.Spec{SearchLag: 5*time.Minute - time.Second}}, func(f *fixture) {
		svc := service("web")
		f.must(f.ensure(svc, node(1)))
		created := f.Resources()
		calls := f.Calls()
		f.must(f.ensure(svc, node(1)))
		if f.Calls() != calls {
			f.Errorf("%d calls for an unchanged Service", f.Calls()-calls)
		}
		for range 50 {
			time.Sleep(7 * time.Second) // a search is shared by two syncs
			f.must(f.ensure(svc, node(1)))
		}
		if all := f.Interceptor(); f.Calls()-calls != all.Count("Search")-1+all.Count("ListLBAppProfiles")-1 {
			f.Errorf("calls %v, of which %d for an unchanged Service", all.Calls(), f.Calls()-calls)
		}
		if diff := cmp.Diff(created, f.Resources()); diff != "" {
			f.Errorf("a Service that has not changed (-want +got):\n%s", diff)
		}
		writes := f.Writes()
		f.must(f.ensure(svc, node(1), node(2)))
		time.Sleep(time.Minute)
		f.must(f.ensure(svc, node(1), node(2)))
		if f.Writes() != writes+1 {
			f.Errorf("%d writes for a Node that was added", f.Writes()-writes)
		}
		f.must(f.remove(svc))
		time.Sleep(time.Minute)
		if _, exists, err := f.lbs.GetLoadBalancer(f.Context(), "east", svc); exists || err != nil {
			f.Errorf("exists: %t, %v", exists, err)
		}
		f.must(f.ensure(svc, node(1)))
		f.must(f.remove(svc))
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
		f.noEvents("all went well")
	})
}

// TestSharedSearch (VS-LB-5): the number of searches does not depend on that of Services.
func TestSharedSearch(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		var services []*v1.Service
		for i := range 5 {
			services = append(services, service(fmt.Sprint("web-", i)))
			f.must(f.ensure(services[i], node(1)))
		}
		time.Sleep(6 * time.Minute)
		calls := f.Calls()
		for _, svc := range services {
			f.must(f.ensure(svc, node(1)))
		}
		if f.Calls() != calls+2 || f.Interceptor().Count("GetLBService") != 1 { // a search, and the names of profiles
			f.Errorf("%d of calls %v", f.Calls()-calls, f.Interceptor().Calls())
		}
		calls = f.Calls()
		if _, exists, err := f.lbs.GetLoadBalancer(f.Context(), "east", services[0]); !exists || err != nil || f.Calls() != calls+1 {
			f.Errorf("exists: %t, %v, after %d calls", exists, err, f.Calls()-calls)
		}
	})
}

// TestWarnings (VS-LB-10): a warning is an Event, once.
func TestWarnings(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		svc := service("web")
		svc.Spec.ExternalTrafficPolicy, svc.Spec.HealthCheckNodePort = v1.ServiceExternalTrafficPolicyLocal, 32000
		for range 2 {
			f.must(f.ensure(svc, node(1)))
		}
		if all := f.events(); len(all) != 1 || !strings.Contains(all[0], "Warning ClientAddressHidden ") {
			f.Errorf("got %q", all)
		}
	})
}

// TestSearchRefused (VS-LB-5): objects are listed if the search fails alone; that there is no response, or a login is refused, means nothing.
func TestSearchRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status, code int
		lists        bool
	}{
		"rebuilt": {http.StatusBadRequest, 60508, true}, "slow": {http.StatusBadRequest, 60514, true}, "not in sync": {http.StatusBadRequest, 60515, true},
		"no right": {http.StatusForbidden, 289, true}, "no search": {http.StatusNotFound, 600, true}, "broken": {http.StatusInternalServerError, 1, true},
		"throttled": {http.StatusTooManyRequests, 0, false}, "restarting": {http.StatusServiceUnavailable, 101, true}, "login": {http.StatusForbidden, 403, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, options{}, func(f *fixture) {
				f.seed()
				f.Interceptor().Inject("Search", simserver.Always(), nsxt.Fault(tc.status, tc.code))
				svc := service("web")
				if err := f.ensure(svc, node(1)); (err == nil) != tc.lists || err != nil && !strings.Contains(err.Error(), "of the cluster: NSX-T: GET /search/query: ") {
					f.Errorf("adopted: %v", err)
				}
				if f.Writes() != 0 || f.Interceptor().Count("ListLBVirtualServers") > 0 != tc.lists {
					f.Errorf("%d writes, calls %v", f.Writes(), f.Interceptor().Calls())
				}
				if !tc.lists {
					return
				}
				other := service("other")
				f.must(f.ensure(other, node(1)))
				time.Sleep(11 * time.Second)
				f.must(f.ensure(other, node(1), node(2)))
				f.must(f.remove(other))
				f.must(f.remove(svc))
				if left := f.VirtualServers(); len(left) > 0 || len(f.List("IpAddressAllocation"))+len(f.List("LBPool"))+len(f.List("LBTcpMonitorProfile")) > 0 {
					f.Errorf("left: %v", left)
				}
				f.Interceptor().Clear()
				time.Sleep(11 * time.Second)
				searches := f.Interceptor().Count("Search")
				f.must(f.ensure(other, node(1)))
				if f.Interceptor().Count("Search") != searches+1 {
					f.Error("the search is no longer used")
				}
			})
		})
	}
}

// TestListed (VS-LB-5, VS-LB-6): lists find the allocation in the pool that the virtual server names, whatever pool the class has
// now, and need no right to groups.
func TestListed(t *testing.T) {
	t.Parallel()
	otherPool := func(c *request.Config) {
		class := c.Classes["default"]
		class.IPPool.ID = "deleted"
		c.Classes["default"] = class
	}
	simulate(t, options{settings: otherPool}, func(f *fixture) {
		f.seed()
		f.SetDenied("Search", "ListGroups")
		f.must(f.remove(service("web")))
		if left := f.List("IpAddressAllocation"); len(left) > 0 {
			f.Errorf("left: %v", left)
		}
	})
}

// TestOutdatedSearch (VS-LB-5): objects that the search still shows, and are gone, are made again for a Service without an
// address. They are read once.
func TestOutdatedSearch(t *testing.T) {
	t.Parallel()
	simulate(t, options{spec: nsxt.Spec{SearchLag: 4 * time.Minute, DeletionTime: time.Second}}, func(f *fixture) {
		f.seed()
		time.Sleep(5 * time.Minute)
		for _, path := range []string{"/infra/lb-virtual-servers/v", "/infra/lb-pools/p", "/infra/lb-monitor-profiles/m", "/infra/ip-pools/pool/ip-allocations/a"} {
			f.must(f.Delete(path))
			time.Sleep(2 * time.Second)
		}
		svc := service("web")
		f.must(f.ensure(svc, node(1)))
		if v := f.VirtualServers(); len(v) != 1 || v[0].Address != svc.Status.LoadBalancer.Ingress[0].IP {
			f.Errorf("got %v", v)
		}
		calls := f.Calls()
		if f.must(f.ensure(svc, node(1))); f.Calls() != calls {
			f.Errorf("%d calls about what is known to be gone", f.Calls()-calls)
		}
	})
}

// TestTakenID (VS-LB-3): an object of others with the ID of a new one is an error at once.
func TestTakenID(t *testing.T) {
	t.Parallel()
	for resourceType, others := range map[string][]any{
		"LBPool":              tags("owner", "vsphere-cloud-controller-manager", "cluster", "east", "service", "default/other"),
		"LBVirtualServer":     tags("owner", "vsphere-cloud-controller-manager", "cluster", "west", "service", "default/web", "port", "TCP/80"),
		"LBTcpMonitorProfile": nil,
	} {
		simulate(t, options{spec: nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t2", EdgeCluster: true}}}}, func(f *fixture) {
			svc := service("web")
			f.must(f.ensure(svc, node(1)))
			path := f.only(resourceType)
			taken, _ := f.Get(path)
			f.must(f.remove(svc))
			time.Sleep(6 * time.Minute)
			for field := range taken {
				if strings.HasSuffix(field, "_path") && field != "application_profile_path" || field == "active_monitor_paths" {
					delete(taken, field)
				}
			}
			taken["tags"] = others
			if resourceType == "LBVirtualServer" {
				taken["lb_service_path"] = "/infra/lb-services/theirs"
				f.must(f.Put("/infra/lb-services/theirs", nsxt.Object{"connectivity_path": "/infra/tier-1s/t2", "size": "SMALL"}))
			}
			f.must(f.Put(path, taken))
			calls := f.Calls()
			if err := f.ensure(svc, node(1)); err == nil || !strings.Contains(err.Error(), path+" exists and is not of this Service") {
				f.Errorf("%s: %v", resourceType, err)
			}
			if f.Calls()-calls > 20 {
				f.Errorf("%s: %d calls", resourceType, f.Calls()-calls)
			}
			f.must(f.remove(svc))
			if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
				f.Errorf("%s: left, lost or changed (-want +got):\n%s", resourceType, diff)
			}
		})
	}
}

// TestLateName (VS-LB-8): a profile that is made, or named, later is found at once.
func TestLateName(t *testing.T) {
	t.Parallel()
	late := func(c *request.Config) {
		class := c.Classes["default"]
		class.TCP.Name = "late"
		c.Classes["default"] = class
	}
	simulate(t, options{settings: late}, func(f *fixture) {
		if err := f.ensure(service("web"), node(1)); err == nil || !strings.Contains(err.Error(), "LBFastTcpProfile named late not found") || f.Writes() != 0 {
			f.Errorf("got %v", err)
		}
		f.must(f.Put("/infra/lb-app-profiles/l", nsxt.Object{"resource_type": "LBFastTcpProfile", "display_name": "late"}))
		f.must(f.ensure(service("web"), node(1)))
	})
}

// TestNoProfiles (VS-LB-8): without the list of profiles, virtual servers that exist keep theirs, and none is created.
func TestNoProfiles(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		f.seed()
		f.SetDenied("ListLBAppProfiles")
		f.must(f.ensure(service("web"), node(1), node(2)))
		if v := f.VirtualServers(); f.Writes() != 1 || len(v[0].Members) != 2 {
			f.Errorf("%d writes, %v", f.Writes(), v)
		}
		if err := f.ensure(service("other"), node(1)); !errors.Is(err, apierr.ErrDenied) || f.Writes() != 1 {
			f.Errorf("%d writes, error %v", f.Writes(), err)
		}
	})
}

// TestDenied (VS-LB-5): what cannot be read is not gone, and the error of a write names who has created the object.
func TestDenied(t *testing.T) {
	t.Parallel()
	for op, want := range map[string]string{
		"GetLBVirtualServer": "/infra/lb-virtual-servers/v", "GetLBPool": "/infra/lb-pools/p",
		"PutLBPool": "(created by user, protection NOT_PROTECTED)", "DeleteLBPool": "(created by user, protection NOT_PROTECTED)",
	} {
		simulate(t, options{}, func(f *fixture) {
			f.seed()
			f.SetDenied(op)
			err := f.ensure(service("web"), node(1), node(2))
			if op == "DeleteLBPool" {
				err = f.remove(service("web"))
			}
			if !errors.Is(err, apierr.ErrDenied) || !strings.Contains(err.Error(), want) {
				f.Errorf("%s: got %v, want %s", op, err, want)
			}
			if n := f.Writes(); n != 0 && strings.HasPrefix(op, "Get") {
				f.Errorf("%s: %d writes", op, n)
			}
		})
	}
}

// TestIncompleteTags (VS-LB-3): objects of others with tags without a scope or a tag, or with a service without a slash, do
// not matter, and stay.
func TestIncompleteTags(t *testing.T) {
	t.Parallel()
	for _, refused := range []bool{false, true} {
		simulate(t, options{}, func(f *fixture) {
			for i, tags := range [][]any{
				{map[string]any{"tag": "east"}, map[string]any{"tag": "vsphere-cloud-controller-manager"}},
				{map[string]any{"scope": "owner"}, map[string]any{"scope": "cluster"}, map[string]any{"scope": "service"}},
				{map[string]any{"scope": "owner", "tag": "vsphere-cloud-controller-manager"}, map[string]any{"scope": "cluster", "tag": "east"}, map[string]any{"scope": "service", "tag": "web"}},
				{map[string]any{"scope": "owner", "tag": "vsphere-cloud-controller-manager"}, map[string]any{"scope": "cluster", "tag": "east"}, map[string]any{"scope": "service"}, map[string]any{"scope": "port", "tag": "TCP/80"}},
				nil,
			} {
				f.must(f.Put(fmt.Sprint("/infra/lb-pools/foreign-", i), nsxt.Object{"tags": tags}))
				f.must(f.Put(fmt.Sprint("/infra/lb-virtual-servers/foreign-", i), nsxt.Object{
					"tags": tags, "ip_address": fmt.Sprint("198.51.100.", i), "ports": []any{"80"}, "application_profile_path": "/infra/lb-app-profiles/default-tcp-lb-app-profile", "lb_service_path": unmanaged,
				}))
			}
			time.Sleep(time.Minute)
			if refused {
				f.Interceptor().Inject("Search", simserver.Always(), nsxt.Fault(http.StatusBadRequest, 60508))
			}
			svc := service("web")
			f.must(f.ensure(svc, node(1)))
			f.must(f.remove(svc))
			if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
				f.Errorf("search refused %t: left, lost or changed (-want +got):\n%s", refused, diff)
			}
		})
	}
}

// TestNoAddress (VS-LB-7): an allocation that has no address is deleted, and the reason is returned, at once. A later sync succeeds.
func TestNoAddress(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		requested string
		before    func(*fixture)
		after     func(*fixture)
		want      string
	}{
		"exhausted": {
			before: func(f *fixture) { f.ExhaustPool("pool", true) }, after: func(f *fixture) { f.ExhaustPool("pool", false) },
			want: "IpAddressPool /infra/ip-pools/pool is exhausted, no free IPs available",
		},
		"collision": {before: func(f *fixture) { f.CollideAllocations("pool", 1) }, after: func(*fixture) {}, want: "exhausted"},
		"in use": {
			requested: "203.0.113.15",
			before: func(f *fixture) {
				f.must(f.Put("/infra/ip-pools/pool/ip-allocations/x", nsxt.Object{"allocation_ip": "203.0.113.15"}))
			},
			after: func(f *fixture) { f.must(f.Delete("/infra/ip-pools/pool/ip-allocations/x")) },
			want:  "The address 203.0.113.15 is not available.",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, options{}, func(f *fixture) {
				tc.before(f)
				time.Sleep(time.Minute)
				svc, began := service("web"), time.Now()
				svc.Spec.LoadBalancerIP = tc.requested
				if err := f.ensure(svc, node(1)); err == nil || !strings.Contains(err.Error(), tc.want) || time.Since(began) > 10*time.Second {
					f.Errorf("after %s: got %v, want %s", time.Since(began), err, tc.want)
				}
				if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
					f.Errorf("left (-want +got):\n%s", diff)
				}
				tc.after(f)
				time.Sleep(time.Minute)
				f.must(f.ensure(svc, node(1)))
				if ip := svc.Status.LoadBalancer.Ingress[0].IP; tc.requested != "" && ip != tc.requested {
					f.Errorf("got %s", ip)
				}
				f.must(f.remove(svc))
				if _, exists, err := f.lbs.GetLoadBalancer(f.Context(), "east", svc); exists || err != nil {
					f.Errorf("exists: %t, %v", exists, err)
				}
			})
		})
	}
}

// TestStale (VS-LB-5): an object that someone changes between read and write is read again, whatever the refusal looks like,
// and keeps that change. There is no Event.
func TestStale(t *testing.T) {
	t.Parallel()
	for _, shape := range nsxt.StaleShapes() {
		simulate(t, options{}, func(f *fixture) {
			svc := service("web")
			f.must(f.ensure(svc, node(1)))
			time.Sleep(6 * time.Minute)
			for op, resourceType := range map[string]string{"PutLBPool": "LBPool", "PutLBMonitor": "LBTcpMonitorProfile", "PutLBVirtualServer": "LBVirtualServer"} {
				path := f.only(resourceType)
				f.Interceptor().Inject(op, simserver.Nth(1), simserver.Before(func() {
					f.edit(path, nsxt.Object{"x_unknown": "kept"})
					f.must(f.MakeStale(path, shape))
				}))
			}
			svc.Spec.Ports[0].NodePort = 31000
			f.must(f.ensure(svc, node(1), node(2)))
			for _, resourceType := range []string{"LBPool", "LBTcpMonitorProfile", "LBVirtualServer"} {
				if o, _ := f.Get(f.only(resourceType)); o["x_unknown"] != "kept" {
					f.Errorf("shape %v: %s lost a change", shape, resourceType)
				}
			}
			v := f.VirtualServers()[0]
			if len(v.Members) != 2 || v.Members[0].Port != "31000" || text(v.Monitors[0]["monitor_port"]) != "31000" {
				f.Errorf("shape %v: %+v", shape, v)
			}
			f.noEvents(fmt.Sprint("shape ", shape))
		})
	}
}

// TestBeingDeleted (VS-LB-6): what is still being deleted is waited for when it is made again, and deleted in order.
func TestBeingDeleted(t *testing.T) {
	t.Parallel()
	simulate(t, options{spec: nsxt.Spec{DeletionTime: 10 * time.Second}}, func(f *fixture) {
		svc := service("web")
		for range 3 {
			f.must(f.ensure(svc, node(1)))
			f.must(f.remove(svc))
		}
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
		f.noEvents("the same Service again")
	})
}

// TestAddressKeptInUse (VS-LB-6): the address stays allocated while a virtual server has it.
func TestAddressKeptInUse(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		svc := service("web")
		f.must(f.ensure(svc, node(1)))
		f.Interceptor().Inject("DeleteLBVirtualServer", simserver.Always(), nsxt.Fault(http.StatusInternalServerError, 1))
		if err := f.remove(svc); err == nil {
			f.Error("deleted")
		}
		f.Interceptor().Clear()
		f.only("LBVirtualServer")
		f.only("IpAddressAllocation")
		// A deletion that does not happen, and one that may not have happened.
		respond := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusOK) }
		f.Interceptor().Inject("DeleteLBVirtualServer", simserver.Nth(1), respond)
		f.Interceptor().Inject("DeleteLBVirtualServer", simserver.From(2), func(w http.ResponseWriter, r *http.Request, h http.Handler) {
			f.Interceptor().Inject("GetLBVirtualServer", simserver.Always(), nsxt.Fault(http.StatusForbidden, 289))
			respond(w, r, h)
		})
		f.Interceptor().Inject("DeleteLBPool", simserver.Always(), respond)
		f.Interceptor().Inject("DeleteLBMonitor", simserver.Always(), respond)
		for _, want := range []string{"still exists", "289"} {
			if err := f.remove(svc); err == nil || !strings.Contains(err.Error(), want) {
				f.Errorf("got %v, want %s", err, want)
			}
			f.only("IpAddressAllocation")
			time.Sleep(6 * time.Minute)
		}
		f.Interceptor().Clear()
		f.must(f.remove(svc))
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

// TestNoPlace (VS-LB-2): an LBService that cannot be used is an error that names it, and nothing is written.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	other := nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "t2", EdgeCluster: true}}}
	cases := map[string]struct {
		reason   string
		settings func(*request.Config)
		want     string
		mark     error
	}{
		"of others":       {"one for each gateway", managed(vspheretest.Tier1, "SMALL"), "tier-1 gateway /infra/tier-1s/t1 has the load balancer service /infra/lb-services/lbs of others: set lb-service-id to use it", apierr.ErrConflict},
		"another gateway": {"both keys", func(c *request.Config) { c.Tier1 = "/infra/tier-1s/t2" }, `load balancer service "lbs" is configured for router "/infra/tier-1s/t1" not "/infra/tier-1s/t2"`, apierr.ErrInvalid},
		"missing":         {"not there", func(c *request.Config) { c.LBServiceID = "other" }, `load balancer service "other" of lb-service-id does not exist`, apierr.ErrInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, options{spec: other, settings: tc.settings}, func(f *fixture) {
				if _, ok := f.Get(unmanaged); !ok {
					f.must(f.Put(unmanaged, nsxt.Object{"connectivity_path": vspheretest.Tier1, "size": "SMALL"}))
				}
				for range 2 {
					if err := f.ensure(service("web"), node(1)); !errors.Is(err, tc.mark) || !strings.Contains(err.Error(), tc.want) {
						f.Errorf("%s: %v", tc.reason, err)
					}
				}
				if f.Writes() != 0 {
					f.Errorf("%d writes", f.Writes())
				}
			})
		})
	}
}

// TestManagedLBService (VS-LB-2, VS-LB-7): the LBService of the cluster is made with the first Service, deleted with the last
// one, and made again later. Each is waited for.
func TestManagedLBService(t *testing.T) {
	t.Parallel()
	spec := nsxt.Spec{RealizationTimes: map[string]time.Duration{"lb-services": 5 * time.Second}}
	simulate(t, options{spec, managed(vspheretest.Tier1, "MEDIUM")}, func(f *fixture) {
		for round, age := range []time.Duration{0, 6 * time.Minute, 0} {
			a, b, began := service("a"), service("b"), time.Now()
			f.must(f.ensure(a, node(1)))
			if took := time.Since(began); took < 5*time.Second {
				f.Errorf("the first address is published after %s", took)
			}
			f.must(f.ensure(b, node(1)))
			path := f.only("LBService")
			if o, _ := f.Get(path); o["size"] != "MEDIUM" || o["connectivity_path"] != vspheretest.Tier1 {
				f.Errorf("got %v", o)
			}
			time.Sleep(age)
			f.must(f.remove(a))
			f.only("LBService")
			if n := f.Interceptor().Count("DeleteLBService"); n != round {
				f.Errorf("%d deletions of an LBService that another Service uses", n-round)
			}
			f.must(f.remove(b))
			if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
				f.Errorf("left (-want +got):\n%s", diff)
			}
		}
	})
}

// TestLBServiceOfPeople (VS-LB-2, VS-LB-5): the LBService stays if people have a virtual server in it, or have made it theirs
// meanwhile. The Service is deleted.
func TestLBServiceOfPeople(t *testing.T) {
	t.Parallel()
	for reason, change := range map[string]func(f *fixture, path string){
		"a virtual server": func(f *fixture, path string) {
			f.must(f.Put("/infra/lb-virtual-servers/mine", nsxt.Object{
				"ip_address": "198.51.100.1", "ports": []any{"80"}, "application_profile_path": "/infra/lb-app-profiles/default-tcp-lb-app-profile", "lb_service_path": path,
			}))
		},
		"another owner": func(f *fixture, path string) {
			f.edit(path, nsxt.Object{"tags": tags("owner", "me", "cluster", "east")})
		},
	} {
		simulate(t, options{settings: managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
			svc := service("web")
			f.must(f.ensure(svc, node(1)))
			change(f, f.only("LBService"))
			f.must(f.remove(svc))
			if left := f.List("IpAddressAllocation"); len(f.List("LBService")) != 1 || len(left) > 0 {
				f.Errorf("%s: left %v, and %v", reason, f.List("LBService"), left)
			}
		})
	}
}

// TestLBServiceInUse (VS-LB-2): the LBService stays if another Service is about to use it.
func TestLBServiceInUse(t *testing.T) {
	t.Parallel()
	simulate(t, options{settings: managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
		a, b := service("a"), service("b")
		f.must(f.ensure(a, node(1)))
		hold := simserver.NewHold()
		f.Interceptor().Inject("PutLBVirtualServer", simserver.Always(), hold.Before)
		done := make(chan error, 1)
		go func() { done <- f.ensure(b, node(1)) }()
		time.Sleep(20 * time.Second)
		err := f.remove(a)
		hold.Release()
		f.must(errors.Join(err, <-done))
		f.only("LBService")
		f.must(f.remove(b))
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

// TestLBServiceUsedBefore (VS-LB-2): the LBService is deleted although the manager finds it in use a moment longer, and although a
// Service had virtual servers in it whose objects another process has deleted.
func TestLBServiceUsedBefore(t *testing.T) {
	t.Parallel()
	simulate(t, options{settings: managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
		a, b := service("a"), service("b")
		f.must(f.ensure(a, node(1)))
		kept := f.Resources()
		f.must(f.ensure(b, node(1)))
		for _, resourceType := range []string{"LBVirtualServer", "LBPool", "LBTcpMonitorProfile", "IpAddressAllocation"} {
			for path, o := range f.List(resourceType) {
				if strings.Contains(text(o["tags"]), "default/b") {
					f.must(f.Delete(path))
					time.Sleep(time.Minute)
				}
			}
		}
		if diff := cmp.Diff(kept, f.Resources()); diff != "" {
			f.Fatalf("deleted by another process (-want +got):\n%s", diff)
		}
		time.Sleep(6 * time.Minute)
		f.Interceptor().Inject("DeleteLBService", simserver.First(3), nsxt.Fault(http.StatusBadRequest, 500030))
		f.must(f.remove(a))
		if left := f.List("LBService"); len(left) > 0 {
			f.Errorf("left: %v", left)
		}
	})
}

// TestUnrealized (VS-LB-7): no address is published while the LBService or a virtual server cannot be realized.
func TestUnrealized(t *testing.T) {
	t.Parallel()
	many := manyPorts()
	cases := map[string]struct {
		reason  string
		options options
		svc     *v1.Service
		want    string
	}{
		"no edge cluster": {"an error of the realized state", options{nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "no-edge"}}}, managed("/infra/tier-1s/no-edge", "SMALL")}, service("web"), "/infra/tier-1s/no-edge has no edge cluster."},
		"refused edge":    {"refused at once", options{nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "no-edge"}}, Balancing: nsxt.Balancing{RefuseWithoutEdge: true}}, managed("/infra/tier-1s/no-edge", "SMALL")}, service("web"), "/infra/tier-1s/no-edge"},
		"full edge":       {"its size is named", options{nsxt.Spec{Tier1s: []nsxt.Tier1{{ID: "small", EdgeCluster: true, Credits: 1}}}, managed("/infra/tier-1s/small", "LARGE")}, service("web"), "no capacity for a load balancer service of this size"},
		"size":            {"refused: its size is named", options{}, many, "size SMALL is too small for 21 virtual servers"},
		"size, realized":  {"an error of the realized state", options{spec: nsxt.Spec{Balancing: nsxt.Balancing{ErrorsRealized: true}}}, many, "size SMALL is too small for 21 virtual servers"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, tc.options, func(f *fixture) {
				svc := tc.svc.DeepCopy()
				for range 2 {
					if err := f.ensure(svc, node(1)); err == nil || !strings.Contains(err.Error(), tc.want) {
						f.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
					}
					f.lbs.Services().Forget(svc) // as another process has nothing of it
					time.Sleep(time.Minute)
				}
				f.must(f.remove(svc))
				if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
					f.Errorf("left (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// manyPorts returns a Service with more ports than an LBService of size SMALL has virtual servers.
func manyPorts() *v1.Service {
	svc := service("web")
	for i := range 20 {
		svc.Spec.Ports = append(svc.Spec.Ports, v1.ServicePort{Protocol: v1.ProtocolTCP, Port: int32(8000 + i), NodePort: int32(31000 + i)})
	}

	return svc
}

// TestPortUnrealized (VS-LB-7): a port that is added and cannot be realized is an error of a Service with an address, too, in each
// sync, at once.
func TestPortUnrealized(t *testing.T) {
	t.Parallel()
	simulate(t, options{spec: nsxt.Spec{Balancing: nsxt.Balancing{ErrorsRealized: true}}}, func(f *fixture) {
		svc := service("web")
		f.must(f.ensure(svc, node(1)))
		svc.Spec.Ports = manyPorts().Spec.Ports
		for range 2 {
			began := time.Now()
			if err := f.ensure(svc, node(1)); err == nil || !strings.Contains(err.Error(), "size SMALL is too small") || time.Since(began) > 10*time.Second {
				f.Errorf("after %s: got %v", time.Since(began), err)
			}
		}
	})
}

// TestSlow (VS-LB-7): the address is published once it is realized, however long that takes. An LBService or a virtual server
// that is not realized yet delays it by 15 seconds, as it may serve.
func TestSlow(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"ip-allocations", "lb-services", "lb-virtual-servers"} {
		spec := nsxt.Spec{RealizationTimes: map[string]time.Duration{kind: time.Minute}}
		simulate(t, options{spec, managed(vspheretest.Tier1, "SMALL")}, func(f *fixture) {
			svc, began := service("web"), time.Now()
			for err := f.ensure(svc, node(1)); err != nil && time.Since(began) < 10*time.Minute; err = f.ensure(svc, node(1)) {
				if !apierr.Has[*api.RetryError](err) {
					f.Errorf("%s: %v", kind, err)
				}
				time.Sleep(time.Second)
			}
			least, most := 15*time.Second, 25*time.Second
			if kind == "ip-allocations" {
				least, most = time.Minute, 2*time.Minute
			}
			if took := time.Since(began); took < least || took > most || len(svc.Status.LoadBalancer.Ingress) != 1 {
				f.Errorf("%s: after %s: %v", kind, took, svc.Status.LoadBalancer)
			}
			f.only("IpAddressAllocation")
			if kind == "lb-services" {
				began = time.Now()
				if f.must(f.ensure(service("other"), node(1))); time.Since(began) < least {
					f.Errorf("that of another Service after %s", time.Since(began))
				}
			}
		})
	}
}

// TestAddressUnrealized (VS-LB-7): an allocation with an address that is not realized yet is waited for.
func TestAddressUnrealized(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		respond := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			fmt.Fprint(w, `{"results":[{"state":"UNREALIZED","extended_attributes":[{"key":"allocation_ip","values":["203.0.113.99"]}]}]}`)
		}
		early := f.Interceptor().Inject("GetRealizedEntities", simserver.First(5), respond)
		svc := service("web")
		f.must(f.ensure(svc, node(1)))
		if v := f.VirtualServers(); early.Hits() != 5 || v[0].Address == "203.0.113.99" || v[0].Address != svc.Status.LoadBalancer.Ingress[0].IP {
			f.Errorf("after %d looks: %v", early.Hits(), v)
		}
	})
}

// TestEndsUnrealized (VS-LB-7): a process that ends while it waits publishes no address. The next one does.
func TestEndsUnrealized(t *testing.T) {
	t.Parallel()
	simulate(t, options{spec: nsxt.Spec{RealizationTimes: map[string]time.Duration{"lb-virtual-servers": time.Minute}}}, func(f *fixture) {
		ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
		defer cancel()
		svc := service("web")
		status, err := f.lbs.EnsureLoadBalancer(ctx, "east", svc, []*v1.Node{node(1)})
		if status != nil || !errors.Is(err, context.DeadlineExceeded) || apierr.Has[*api.RetryError](err) || len(f.VirtualServers()) != 1 {
			f.Errorf("status %v, error %v", status, err)
		}
		time.Sleep(time.Minute)
		f.must(f.ensure(svc, node(1)))
	})
}

// TestEndsInUse (VS-LB-6): a process that ends while an object to delete is in use has that reason, and the end, as its error.
func TestEndsInUse(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		svc := service("web")
		f.must(f.ensure(svc, node(1)))
		f.Interceptor().Inject("DeleteLBPool", simserver.Always(), nsxt.Fault(http.StatusBadRequest, 500030))
		ctx, cancel := context.WithTimeout(f.Context(), 10*time.Second)
		defer cancel()
		if err := f.lbs.EnsureLoadBalancerDeleted(ctx, "east", svc); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, nsx.ErrInUse) {
			f.Errorf("got %v", err)
		}
		f.only("IpAddressAllocation")
		f.Interceptor().Clear()
		f.must(f.remove(svc))
		if diff := cmp.Diff([]string{}, f.Leaks()); diff != "" {
			f.Errorf("left (-want +got):\n%s", diff)
		}
	})
}

// TestFailing: a Service without a load balancer is no longer one whose last operation failed.
func TestFailing(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		registry := kmetrics.NewKubeRegistry()
		f.lbs.Services().Measure(metrics.NewSet(registry, clock.RealClock{}).Recorder("vsphere"))
		failing := func(want int) {
			f.Helper()
			families, err := registry.Gather()
			f.must(err)
			for _, family := range families {
				if family.GetName() == "multicloud_ccm_services_failing" && int(family.GetMetric()[0].GetGauge().GetValue()) == want {
					return
				}
			}
			f.Errorf("got %v, want %d", families, want)
		}
		svc := service("web")
		f.SetDenied("PutIPAllocation")
		if err := f.ensure(svc, node(1)); !errors.Is(err, apierr.ErrDenied) {
			f.Errorf("got %v", err)
		}
		failing(1)
		f.must(f.remove(svc))
		failing(0)
	})
}

// TestFieldsSurvive (VS-LB-4): fields that are not known here, and those that people set, stay at each write.
func TestFieldsSurvive(t *testing.T) {
	t.Parallel()
	for _, upstream := range []bool{false, true} {
		simulate(t, options{}, func(f *fixture) {
			svc := service("web")
			if upstream {
				f.seed()
			}
			svc.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"}
			f.must(f.ensure(svc, node(1)))
			time.Sleep(6 * time.Minute)
			tuned := map[string]nsxt.Object{
				"LBTcpMonitorProfile": {"interval": 30.0, "fall_count": 7.0}, "LBVirtualServer": {"access_log_enabled": true, "max_concurrent_connections": 100.0},
				"LBPool": {"algorithm": "LEAST_CONNECTION", "member_group": nil, "snat_translation": map[string]any{"type": "LBSnatIpPool", "ip_addresses": []any{map[string]any{"ip_address": "10.0.0.200"}}}},
				"Group":  {"extended_expression": []any{}},
			}
			for resourceType, fields := range tuned {
				fields["x_unknown"], fields["display_name"], fields["description"] = map[string]any{"a": 1e18}, "mine", "mine"
				path := f.only(resourceType)
				o, _ := f.Get(path)
				fields["tags"] = append(slices.Clone(o["tags"].([]any)), map[string]any{"scope": "cost-center", "tag": "a"})
				f.edit(path, fields)
			}
			pool := f.only("LBPool")
			f.edit(pool, nsxt.Object{"members": []any{map[string]any{"ip_address": "10.0.0.1", "display_name": "mine", "weight": 5.0, "admin_state": "GRACEFUL_DISABLED", "x_unknown": "x"}}})
			o, _ := f.Get(pool)
			member := o["members"].([]any)[0]
			time.Sleep(time.Minute)
			svc.Spec.Ports[0].NodePort, svc.Spec.LoadBalancerSourceRanges, svc.Spec.SessionAffinity = 31000, []string{"192.0.2.0/25"}, v1.ServiceAffinityClientIP
			f.must(f.ensure(svc, node(1), node(2)))
			if f.Writes() < 4 {
				f.Errorf("%d writes", f.Writes())
			}
			for resourceType, fields := range tuned {
				o, _ := f.Get(f.only(resourceType))
				for field, want := range fields {
					if text(want) != text(o[field]) {
						f.Errorf("%s: %s is %s, want %s", resourceType, field, text(o[field]), text(want))
					}
				}
			}
			o, _ = f.Get(pool)
			if members := o["members"].([]any); len(members) != 2 || text(members[0]) != text(member) {
				f.Errorf("members %s, want %s", text(members), text(member))
			}
			if v := f.VirtualServers()[0]; !v.Persistent || v.Members[0].Port != "31000" || text(v.Sources) != `["192.0.2.0/25"]` {
				f.Errorf("got %+v", v)
			}
		})
	}
}

// TestUpdateCreatesNothing (VS-LB-1): an update of Nodes makes no load balancer.
func TestUpdateCreatesNothing(t *testing.T) {
	t.Parallel()
	simulate(t, options{}, func(f *fixture) {
		svc := service("web")
		for _, what := range []string{"nothing", "an address"} {
			if err := f.lbs.UpdateLoadBalancer(f.Context(), "east", svc, []*v1.Node{node(1)}); !errors.Is(err, apierr.ErrNotFound) || f.Writes() != 0 {
				f.Errorf("%s: %d writes, error %v", what, f.Writes(), err)
			}
			f.must(f.Put("/infra/ip-pools/pool/ip-allocations/a", nsxt.Object{"tags": tags("owner", "vsphere-cloud-controller-manager", "cluster", "east", "service", "default/web")}))
			time.Sleep(time.Minute)
		}
		f.must(f.ensure(svc, node(1)))
		f.must(f.lbs.UpdateLoadBalancer(f.Context(), "east", svc, []*v1.Node{node(2), node(2)}))
		if diff := cmp.Diff([]string{"10.0.0.2"}, f.members()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
		if name := f.lbs.GetLoadBalancerName(f.Context(), "east", svc); name != "cluster:east:default/web" {
			f.Errorf("the name is %s", name)
		}
	})
}
