package routes_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/login"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/tlsfiles"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/routes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/vspheretest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/nsxt"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const (
	cluster = "kubernetes"
	pods    = "10.244.1.0/24"
	uid     = "f3c8b7a4-8a3d-4a55-9ba2-16aa1e38a1c2"
	id      = uid + "_10.244.1.0_24"
	path    = vspheretest.Tier1 + "/static-routes/" + id
)

// fixture is the routes of a cluster in a simulated gateway.
type fixture struct {
	*testing.T
	*vspheretest.Manager
	kubetest.WatchedNodes

	routes *routes.Routes
}

// simulate runs a test in simulated time.
func simulate(t *testing.T, test func(*fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := &fixture{T: t, Manager: vspheretest.StartManager(t, nsxt.Spec{PageSize: 10})}
		password := &nsx.Password{Host: "nsx", Guard: login.NewGuard(nsx.LoginLimits(), clock.RealClock{})}
		password.Use(credential.NewInFile(nsx.Credentials{User: "admin", Password: "secret"}, nil))
		client, err := nsx.New(nsx.Config{Host: f.Host(), TLS: tlsfiles.Files{CAPEM: string(f.CertificatePEM())}, Auth: password}, nsx.Options{Dial: f.Dial})
		f.must(err)
		defer func() { f.must(client.Close(t.Context())) }()
		f.routes = routes.New(routes.Config{RouterPath: vspheretest.Tier1}, client)
		factory := informers.NewSharedInformerFactory(kubetest.NewClientset(), 0)
		if _, err := f.routes.ListRoutes(t.Context(), cluster); !errors.Is(err, apierr.ErrUnavailable) {
			t.Errorf("before the Nodes are known: %v", err)
		}
		f.must(f.routes.SetInformers(factory))
		ctx, cancel := context.WithCancel(t.Context())
		factory.Start(ctx.Done())
		factory.WaitForCacheSync(ctx.Done())
		defer factory.Shutdown()
		defer cancel()
		f.Watch(t, factory)
		test(f)
	})
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// node returns a Node with the range 10.244.1.0/24.
func node(name string, addresses ...string) *v1.Node {
	n := kubetest.Node(name)
	for _, a := range addresses {
		n.Status.Addresses = append(n.Status.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: a})
	}
	n.Spec.PodCIDRs = []string{pods}

	return n
}

// create creates the route of a Node as the route controller does.
func (f *fixture) create(n *v1.Node) error {
	return f.routes.CreateRoute(f.Context(), cluster, uid, &cloudprovider.Route{
		TargetNode: types.NodeName(n.Name), TargetNodeAddresses: n.Status.Addresses, DestinationCIDR: n.Spec.PodCIDRs[0],
	})
}

// listed returns the names of the routes.
func (f *fixture) listed() []string {
	f.Helper()
	list, err := f.routes.ListRoutes(f.Context(), cluster)
	f.must(err)
	names := []string{}
	for _, route := range list {
		if route.Blackhole {
			route.Name += ", to delete"
		}
		names = append(names, route.Name)
	}
	slices.Sort(names)

	return names
}

// fields returns some fields of the object of a route.
func (f *fixture) fields(path string, names ...string) map[string]any {
	f.Helper()
	o, ok := f.Get(path)
	if !ok {
		f.Fatalf("there is no %s", path)
	}
	got := map[string]any{}
	for _, name := range names {
		got[name] = o[name]
	}

	return got
}

func tags(scoped ...string) (list []any) {
	for i := 0; i < len(scoped); i += 2 {
		list = append(list, map[string]any{"scope": scoped[i], "tag": scoped[i+1]})
	}

	return list
}

func hops(addresses ...string) (list []any) {
	for _, a := range addresses {
		list = append(list, map[string]any{"ip_address": a})
	}

	return list
}

// TestFormat (VS-ROUTE-1, VS-ROUTE-3): a route is made as the upstream controller makes it, by three requests.
func TestFormat(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 250)
	cases := map[string]struct {
		reason string
		node   *v1.Node
		name   string
		hop    string
		err    error
	}{
		"IPv4":     {"the first InternalIP of the family", node("node-1", "fd00::1", "192.0.2.1", "192.0.2.2"), "kubernetes_node-1_" + pods, "192.0.2.1", nil},
		"both":     {"an InternalIP, whatever comes first", &v1.Node{ObjectMeta: kubetest.Node("node-1").ObjectMeta, Spec: v1.NodeSpec{PodCIDRs: []string{pods}}, Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeExternalIP, Address: "198.51.100.1"}, {Type: v1.NodeInternalIP, Address: "192.0.2.1"}}}}, "kubernetes_node-1_" + pods, "192.0.2.1", nil},
		"external": {"else the first ExternalIP", &v1.Node{ObjectMeta: kubetest.Node("node-1").ObjectMeta, Spec: v1.NodeSpec{PodCIDRs: []string{pods}}, Status: v1.NodeStatus{Addresses: []v1.NodeAddress{{Type: v1.NodeExternalIP, Address: "198.51.100.1"}}}}, "kubernetes_node-1_" + pods, "198.51.100.1", nil},
		"none":     {"no address of the family", node("node-1", "fd00::1"), "", "", apierr.ErrInvalid},
		"long":     {"a name that NSX-T refuses is cut", node(long, "192.0.2.1"), ("kubernetes_" + long)[:238] + "_" + "c667c9bb3cb143ba", "192.0.2.1", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, func(f *fixture) {
				if err := f.create(tc.node); !errors.Is(err, tc.err) || tc.err != nil {
					if !errors.Is(err, tc.err) || f.Writes() != 0 {
						f.Errorf("%s: %v, want %v", tc.reason, err, tc.err)
					}

					return
				}
				want := map[string]any{
					"display_name": tc.name, "network": pods,
					"tags": tags("vsphere.k8s.io/cluster-name", cluster, "vsphere.k8s.io/node-name", tc.node.Name),
				}
				if diff := cmp.Diff(want, f.fields(path, "display_name", "network", "tags")); diff != "" {
					f.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				if body := string(f.Requests("PutStaticRoute")[0].Body); f.Writes() != 1 || !strings.Contains(body, `"next_hops":[{"ip_address":"`+tc.hop+`"}]`) {
					f.Errorf("%d writes, %s", f.Writes(), body)
				}
			})
		})
	}
}

// TestList (VS-ROUTE-2): the routes of the cluster are listed, whatever else the gateway has, and not changed.
func TestList(t *testing.T) {
	t.Parallel()
	simulate(t, func(f *fixture) {
		f.SetNodes(f, []*v1.Node{node("node-1", "192.0.2.1")})
		own := tags("vsphere.k8s.io/cluster-name", cluster, "vsphere.k8s.io/node-name", "node-1")
		put := func(id string, tags []any, hops []any) {
			f.must(f.Put(vspheretest.Tier1+"/static-routes/"+id, nsxt.Object{"network": pods, "next_hops": hops, "tags": tags}))
		}
		put("upstream", own, hops("192.0.2.1"))
		put("more-hops", own, hops("192.0.2.9", "192.0.2.1"))
		put("gone-node", tags("vsphere.k8s.io/node-name", "gone", "vsphere.k8s.io/cluster-name", cluster), hops("192.0.2.7"))
		put("outdated", own, hops("192.0.2.2"))
		put("other-cluster", tags("vsphere.k8s.io/cluster-name", "other", "vsphere.k8s.io/node-name", cluster), hops("192.0.2.1"))
		put("no-node", tags("vsphere.k8s.io/cluster-name", cluster), hops("192.0.2.1"))
		put("no-scope", tags("", cluster, "vsphere.k8s.io/node-name", "node-1"), hops("192.0.2.1"))
		for i := range 30 {
			put(fmt.Sprintf("foreign-%d", i), nil, hops("192.0.2.1"))
		}
		if diff := cmp.Diff([]string{"gone-node", "more-hops", "outdated, to delete", "upstream"}, f.listed()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
		f.SetNodes(f, []*v1.Node{node("node-1")})
		if diff := cmp.Diff([]string{"gone-node", "more-hops", "outdated", "upstream"}, f.listed()); diff != "" {
			f.Errorf("a Node without addresses (-want +got):\n%s", diff)
		}
		if f.Writes() != 0 {
			f.Errorf("%d writes", f.Writes())
		}
	})
}

// TestOtherRange (VS-ROUTE-4, VS-ROUTE-5): a route to a range that its Node no longer has is listed, so that it is deleted,
// whatever it leads to and whether it is realized.
func TestOtherRange(t *testing.T) {
	t.Parallel()
	simulate(t, func(f *fixture) {
		outdated := vspheretest.Tier1 + "/static-routes/outdated"
		f.must(f.Put(outdated, nsxt.Object{"network": "10.244.9.0/24", "tags": tags("vsphere.k8s.io/cluster-name", cluster, "vsphere.k8s.io/node-name", "node-1"), "next_hops": hops("192.0.2.8")}))
		n := node("node-1", "192.0.2.1")
		f.SetNodes(f, []*v1.Node{n})
		f.FailRealization(path, nsxt.Alarm{Code: 1, Message: "broken"})
		if err := f.create(n); err == nil {
			f.Error("a route that is not realized was created")
		}
		if diff := cmp.Diff([]string{"outdated"}, f.listed()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
		moved := node("node-1", "192.0.2.1")
		moved.Spec.PodCIDRs = []string{"10.244.5.0/24"}
		for _, nodes := range [][]*v1.Node{{moved}, nil} {
			f.SetNodes(f, nodes)
			if diff := cmp.Diff([]string{id, "outdated"}, f.listed()); diff != "" {
				f.Errorf("%d Nodes (-want +got):\n%s", len(nodes), diff)
			}
		}
	})
}

// TestRepaired (VS-ROUTE-6): a route with the ID of a new one that has other tags or another network gets what it should
// have. Its other tags stay.
func TestRepaired(t *testing.T) {
	t.Parallel()
	right := []string{"vsphere.k8s.io/cluster-name", cluster, "vsphere.k8s.io/node-name", "node-1"}
	for name, exists := range map[string]nsxt.Object{
		"another cluster": {"network": pods, "tags": tags("team", "blue", "vsphere.k8s.io/cluster-name", "former", "vsphere.k8s.io/node-name", "node-1"), "next_hops": hops("192.0.2.1")},
		"another network": {"network": "10.99.0.0/24", "tags": tags(append([]string{"team", "blue"}, right...)...), "next_hops": hops("192.0.2.1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, func(f *fixture) {
				n := node("node-1", "192.0.2.1")
				f.SetNodes(f, []*v1.Node{n})
				f.must(f.Put(path, exists))
				f.must(f.create(n))
				want := map[string]any{"network": pods, "tags": tags(append([]string{"team", "blue"}, right...)...)}
				if diff := cmp.Diff(want, f.fields(path, "network", "tags")); diff != "" {
					f.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}

// TestCorrected (VS-ROUTE-4): a route that leads to a former address of its Node is corrected, with what people set on it,
// also if it is changed at the same time. Another one of the same range is deleted then.
func TestCorrected(t *testing.T) {
	t.Parallel()
	simulate(t, func(f *fixture) {
		n := node("node-1", "192.0.2.1")
		own := tags("vsphere.k8s.io/cluster-name", cluster, "vsphere.k8s.io/node-name", "node-1")
		corrected := vspheretest.Tier1 + "/static-routes/z"
		f.must(f.Put(corrected, nsxt.Object{"network": pods, "tags": own, "x_unknown": "kept", "next_hops": []any{map[string]any{"ip_address": "192.0.2.8", "admin_distance": 5}}}))
		f.must(f.Put(path, nsxt.Object{"network": pods, "tags": own, "next_hops": hops("192.0.2.9")}))
		f.SetNodes(f, []*v1.Node{n})
		if got := f.listed(); len(got) != 0 {
			f.Errorf("listed %s", got)
		}
		f.Interceptor().Inject("PutStaticRoute", simserver.Nth(2), simserver.Before(func() { f.must(f.MakeStale(corrected, nsxt.Stale412)) }))
		f.must(f.create(n))
		got := fmt.Sprint(f.fields(corrected, "next_hops", "x_unknown"))
		if want := fmt.Sprint(map[string]any{"next_hops": []any{map[string]any{"ip_address": "192.0.2.1", "admin_distance": 5}}, "x_unknown": "kept"}); got != want {
			f.Errorf("got %s, want %s", got, want)
		}
		if diff := cmp.Diff([]string{id + ", to delete", "z"}, f.listed()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
		f.must(f.routes.DeleteRoute(f.Context(), cluster, &cloudprovider.Route{Name: id, TargetNode: "node-1", DestinationCIDR: pods}))
		if diff := cmp.Diff([]string{"z"}, f.listed()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
	})
}

// TestRealized (VS-ROUTE-5): a route that NSX-T cannot realize is an error at once, one that takes long after ten seconds.
// Neither is listed, and both are looked at again.
func TestRealized(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		alarm  nsxt.Alarm
		took   time.Duration
		text   string
	}{
		"failed": {"the alarm tells why", nsxt.Alarm{Code: 1, Message: "the gateway is broken"}, 2 * time.Second, "the gateway is broken"},
		"late":   {"it may be realized later", nsxt.Alarm{Code: 500042, Message: "not ready"}, 12 * time.Second, "NSX-T has not realized it yet"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			simulate(t, func(f *fixture) {
				n := node("node-1", "192.0.2.1")
				f.SetNodes(f, []*v1.Node{n})
				f.FailRealization(path, tc.alarm)
				began := time.Now()
				if err := f.create(n); err == nil || !strings.Contains(err.Error(), tc.text) || time.Since(began) > tc.took {
					f.Errorf("%s: %v after %s", tc.reason, err, time.Since(began))
				}
				if got := f.listed(); len(got) != 0 {
					f.Errorf("listed %s", got)
				}
				f.HealRealization(path)
				writes := f.Writes()
				f.must(f.create(n))
				if diff := cmp.Diff([]string{id}, f.listed()); diff != "" || f.Writes() != writes+1 {
					f.Errorf("%d writes, %d before (-want +got):\n%s", f.Writes(), writes, diff)
				}
			})
		})
	}
}

// TestDeleted (VS-ROUTE-6): a route that is gone counts as deleted, one that exists as created, and one that is being
// deleted is created again.
func TestDeleted(t *testing.T) {
	t.Parallel()
	simulate(t, func(f *fixture) {
		n := node("node-1", "192.0.2.1")
		f.SetNodes(f, []*v1.Node{n})
		remove := func() error {
			return f.routes.DeleteRoute(f.Context(), cluster, &cloudprovider.Route{Name: id, TargetNode: "node-1", DestinationCIDR: pods})
		}
		f.must(remove())
		f.must(f.create(n))
		f.must(f.create(n))
		f.must(remove())
		f.must(remove())
		f.must(f.create(n))
		if diff := cmp.Diff([]string{id}, f.listed()); diff != "" {
			f.Errorf("-want +got:\n%s", diff)
		}
		f.Interceptor().Inject("DeleteStaticRoute", simserver.Always(), nsxt.Fault(403, 289))
		if err := remove(); !errors.Is(err, apierr.ErrDenied) {
			f.Errorf("without the right: %v", err)
		}
		if err := f.routes.CreateRoute(f.Context(), cluster, uid, &cloudprovider.Route{DestinationCIDR: "x"}); !errors.Is(err, apierr.ErrInvalid) {
			f.Errorf("no range: %v", err)
		}
	})
}
