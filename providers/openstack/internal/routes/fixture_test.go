package routes

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/record"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/credential"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// network is the network of all servers.
const network = "cluster"

// routing is a cluster with routes, in a cloud in which every read is up to date.
type routing struct {
	*openstacktest.Cloud
	kubetest.WatchedNodes

	t      *testing.T
	router string
	routes *Routes
	events *record.FakeRecorder
	clock  *clocktesting.FakePassiveClock
	ports  map[string]string // by the name of the Node
}

// newRouting makes the routes of some Nodes: node-1 has the addresses 10.9.0.11 and
// fd00:9::11, and the range 10.244.1.0/24.
func newRouting(t *testing.T, nodes int, options openstack.Options, without ...string) *routing {
	t.Helper()
	if options.StaleReads == nil {
		options.StaleReads = &openstack.StaleReads{} // calls are counted
	}
	r := &routing{Cloud: openstacktest.Start(t, options), t: t, events: record.NewFakeRecorder(100), ports: map[string]string{}}
	r.SetWithoutExtensions(without...)
	r.router = r.AddRoutedNetwork(network)
	for i := range nodes {
		r.join(i + 1)
	}
	r.routes = r.start()
	r.clock = clocktesting.NewFakePassiveClock(r.routes.config.Clock.Now())
	r.routes.refusals.clock = r.clock

	return r
}

// start starts a process beside those that run.
func (r *routing) start() *Routes {
	r.t.Helper()
	cfg, options := r.ClientConfig(), r.ClientOptions()
	cfg.Timeout = 2 * time.Second
	options.LoginGuard, options.LoginTimeout, options.RetryTime = openstacktest.EagerGuard(), 2*time.Second, time.Second
	api := r.NewClient(r.t, cfg, credential.NewInFile(r.Credentials(openstack.UserCCM), nil), options)
	made := New(Config{RouterID: r.router, Servers: serverOf}, api.Network())
	made.SetRecorder(r.events)
	factory := informers.NewSharedInformerFactory(kubetest.NewClientset(), 0)
	if err := made.SetInformers(factory); err != nil {
		r.t.Fatal(err)
	}
	stop := make(chan struct{})
	factory.Start(stop)
	r.t.Cleanup(func() {
		close(stop)
		factory.Shutdown()
	})
	factory.WaitForCacheSync(stop)
	r.Watch(r.t, factory)

	return made
}

// serverOf is the ID of a Node's server.
func serverOf(node *v1.Node) []string {
	return []string{strings.TrimPrefix(node.Spec.ProviderID, "openstack:///")}
}

// bounded is the context of a test, with an end.
func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), openstacktest.Timeout)
	t.Cleanup(cancel)

	return ctx
}

// join adds a server with its Node.
func (r *routing) join(n int) *v1.Node {
	r.t.Helper()
	ips := []string{fmt.Sprintf("10.9.0.%d", 10+n), fmt.Sprintf("fd00:9::%d", 10+n)}
	name := fmt.Sprintf("node-%d", n)
	id := r.AddServer(openstack.ServerSpec{Name: name, Networks: []openstack.ServerNetwork{{Name: network, IPs: ips}}})
	node := kubetest.Node(name, kubetest.ProviderID("openstack:///"+id), kubetest.Address(v1.NodeHostName, name),
		kubetest.Address(v1.NodeInternalIP, ips[0]), kubetest.Address(v1.NodeInternalIP, ips[1]))
	node.Spec.PodCIDRs = []string{rangeOf(n)}
	r.ports[name] = r.ServerPorts(id)[0]
	r.SetNodes(r.t, append(r.Joined(), node))

	return node
}

// change changes a Node.
func (r *routing) change(n int, change func(*v1.Node)) {
	r.t.Helper()
	nodes := r.Joined()
	nodes[n-1] = nodes[n-1].DeepCopy()
	change(nodes[n-1])
	r.SetNodes(r.t, nodes)
}

// rangeOf is the range of a Node.
func rangeOf(n int) string { return fmt.Sprintf("10.244.%d.0/24", n) }

// routeTo is the route of a Node, as the route controller requests it.
func routeTo(n int) *cloudprovider.Route {
	return &cloudprovider.Route{TargetNode: apitypes.NodeName(fmt.Sprintf("node-%d", n)), DestinationCIDR: rangeOf(n)}
}

func (r *routing) create(route *cloudprovider.Route) error {
	return r.routes.CreateRoute(bounded(r.t), "east", "", route)
}

func (r *routing) mustCreate(routes ...*cloudprovider.Route) {
	r.t.Helper()
	for _, route := range routes {
		if err := r.create(route); err != nil {
			r.t.Fatal(err)
		}
	}
}

func (r *routing) remove(route *cloudprovider.Route) error {
	return r.routes.DeleteRoute(bounded(r.t), "east", route)
}

// list lists the routes, each as a line.
func (r *routing) list() []string {
	r.t.Helper()
	routes, err := r.routes.ListRoutes(bounded(r.t), "east")
	if err != nil {
		r.t.Fatal(err)
	}
	var lines []string
	for _, route := range routes {
		line := fmt.Sprintf("%s %s %s", route.Name, route.DestinationCIDR, route.TargetNode)
		if route.Blackhole {
			line += " blackhole"
		}
		lines = append(lines, line)
	}

	return lines
}

// want fails the test unless the router has these routes, and ports these pairs.
func (r *routing) want(reason string, routes []string, pairs map[string][]string) {
	r.t.Helper()
	var got []string
	for _, route := range r.RouterRoutes(r.router) {
		got = append(got, route[0]+" "+route[1])
	}
	if diff := cmp.Diff(routes, got); diff != "" {
		r.t.Errorf("%s: routes (-want +got):\n%s", reason, diff)
	}
	for name, id := range r.ports {
		port, _ := r.Port(id)
		if diff := cmp.Diff(pairs[name], port.AddressPairs); diff != "" {
			r.t.Errorf("%s: pairs of %s (-want +got):\n%s", reason, name, diff)
		}
	}
}

// calls counts the calls that f makes, by operation, without logins.
func (r *routing) calls(f func()) map[string]int {
	before := r.Interceptor().Calls()
	f()
	made := map[string]int{}
	for op, n := range r.Interceptor().Calls() {
		if n != before[op] && op != "keystone.CreateToken" && op != "keystone.ListVersions" {
			made[op] = n - before[op]
		}
	}

	return made
}

// wantCalls fails the test unless f makes these calls.
func (r *routing) wantCalls(what string, want map[string]int, f func()) {
	r.t.Helper()
	if diff := cmp.Diff(want, r.calls(f)); diff != "" {
		r.t.Errorf("calls of %s (-want +got):\n%s", what, diff)
	}
}

// wantEvents fails the test unless these Events were recorded, by their reasons.
func (r *routing) wantEvents(want ...string) {
	r.t.Helper()
	var got []string
	for len(r.events.Events) > 0 {
		var kind, reason string
		if _, err := fmt.Sscan(<-r.events.Events, &kind, &reason); err != nil {
			r.t.Fatal(err)
		}
		got = append(got, reason)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.t.Errorf("Events (-want +got):\n%s", diff)
	}
}
