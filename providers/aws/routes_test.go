package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

// pods is the destination of the nth Node.
func pods(n int) string { return fmt.Sprintf("172.20.%d.0/24", n) }

// podCIDRs sets the pod CIDRs of a Node.
func podCIDRs(cidrs ...string) kubetest.NodeOption {
	return func(n *v1.Node) { n.Spec.PodCIDRs = cidrs }
}

// named sets another name on a Node.
func named(name string) kubetest.NodeOption { return func(n *v1.Node) { n.Name = name } }

// listed are the routes as the framework gets them, as "destination -> node", or
// "destination black hole".
func listed(t *testing.T, c *cloud) []string {
	t.Helper()
	list, err := c.routes.ListRoutes(t.Context(), "kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, route := range list {
		if route.Name != "kubernetes-"+route.DestinationCIDR {
			t.Errorf("the name is %q", route.Name)
		}
		line := route.DestinationCIDR + " -> " + string(route.TargetNode)
		if route.Blackhole {
			line = route.DestinationCIDR + " black hole" + string(route.TargetNode)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)

	return lines
}

// made are the routes in the table of the cluster but those to gateways.
func (r *region) made() []string {
	return slices.DeleteFunc(r.Routes(r.seed.PrivateTable), func(line string) bool { return strings.HasPrefix(line, "0.0.0.0/0") })
}

func to(name, cidr string) *cloudprovider.Route {
	return &cloudprovider.Route{TargetNode: types.NodeName(name), DestinationCIDR: cidr}
}

// TestListRoutes covers what routes are listed as (AWS-ROUTE-2,
// AWS-ROUTE-3).
func TestListRoutes(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	running, stopped, deleted, unknown, waiting := r.seed.AddNode(sim.InstanceSpec{}), r.seed.AddNode(sim.InstanceSpec{}), r.seed.AddNode(sim.InstanceSpec{}),
		r.untagged(), r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "waiting"})
	stoppedUnknown := r.untagged()
	for i, id := range []string{running, stopped, deleted, unknown, waiting, stoppedUnknown} {
		r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(i), Instance: id})
	}
	r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: "fd00:1::/64", Instance: running})
	r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: "192.0.2.0/24", Gateway: "igw-0123456789abcdef0"})
	r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(6), Gateway: "nat-0123456789abcdef0", Gone: true}) // of others
	r.SetState(stopped, sim.Stopped)
	r.SetState(stoppedUnknown, sim.Stopped)
	r.Remove(deleted)
	c := r.connect(cloudTuning{})
	r.withNodes(c, node(running, named("running")), node(stopped, named("stopped")), node(deleted, named("deleted")),
		kubetest.Node("waiting", podCIDRs(pods(4))))
	var got []string
	calls := r.calls(func() { got = listed(t, c) })
	want := []string{
		pods(0) + " -> running",    // AWS-ROUTE-3
		pods(1) + " -> stopped",    // the same while it is stopped
		pods(2) + " black hole",    // its instance is gone
		pods(3) + " -> " + unknown, // it has no Node
		pods(4) + " -> waiting",    // by its name, until it has a provider ID
		pods(5) + " black hole",    // of no Node
		"fd00:1::/64 -> running",   // AWS-ROUTE-2
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
	// The network interface of the instance that is gone is looked up once.
	if diff := cmp.Diff(map[string]int{"DescribeRouteTables": 1, "DescribeInstances": 1, "DescribeNetworkInterfaces": 1}, calls); diff != "" {
		t.Errorf("AWS-API-4: calls (-want +got):\n%s", diff)
	}
	r.withNodes(c, node(waiting, named("waiting")))
	if diff := cmp.Diff(map[string]int{"DescribeRouteTables": 1}, r.calls(func() { listed(t, c) })); diff != "" {
		t.Errorf("AWS-API-4: calls once all Nodes have a provider ID (-want +got):\n%s", diff)
	}
	for _, request := range r.Requests("DescribeRouteTables") {
		if request.Form.Get("Filter.1.Name") != "tag-key" || request.Form.Get("Filter.2.Name") != "vpc-id" {
			t.Errorf("AWS-API-6: want filters by tag and VPC, got %v", request.Form)
		}
	}
}

// untagged makes an instance that is not of the cluster.
func (r *region) untagged() string {
	return r.AddInstance(sim.InstanceSpec{InterfaceSpec: sim.InterfaceSpec{Subnet: r.seed.Private["us-west-2a"]}})
}

// TestListRoutesFails: what is not known makes the list an error. Without a list
// nothing is deleted (FW-ROUTE-1).
func TestListRoutesFails(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		spoil  func(r *region, c *cloud)
	}{
		"no Nodes": {"the informer has not synced", func(_ *region, c *cloud) {
			c.SetInformers(informers.NewSharedInformerFactory(kubetest.NewClientset(), 0))
		}},
		"no informer": {"SetInformers was not called", func(_ *region, c *cloud) { c.source.SetNodes(nil) }},
		"denied": {"a missing permission", func(r *region, _ *cloud) {
			r.Interceptor().Inject("DescribeRouteTables", simserver.Always(), sim.Denied())
		}},
		"throttled names": {"a Node without provider ID may have the route", func(r *region, c *cloud) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Instance: r.untagged()})
			r.withNodes(c, kubetest.Node("waiting", podCIDRs(pods(1))))
			r.Interceptor().Inject("DescribeInstances", simserver.Always(), sim.Throttled())
		}},
		"two tables": {"exactly one", func(r *region, _ *cloud) {
			r.AddRouteTable(sim.RouteTableSpec{VPC: r.seed.VPC, Tags: map[string]string{sim.ClusterTag(demo): "shared"}})
		}},
		"no table": {"exactly one", func(r *region, _ *cloud) {
			r.SetTags(r.seed.PrivateTable, map[string]string{sim.ClusterTag(demo + "2"): ""})
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			c := r.connect(cloudTuning{})
			r.withNodes(c)
			tc.spoil(r, c)
			if list, err := c.routes.ListRoutes(t.Context(), "kubernetes"); err == nil {
				t.Errorf("%s: want an error, got %v", tc.reason, list)
			}
		})
	}
}

// TestRouteTables (AWS-ROUTE-1) goes through the tables that are found.
func TestRouteTables(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		lines  func(r *region) []string
		want   func(r *region) string
	}{
		"tag":   {"the one with the tag", func(*region) []string { return nil }, func(r *region) string { return r.seed.PrivateTable }},
		"by ID": {"RouteTableID", func(r *region) []string { return []string{"RouteTableID = " + r.seed.MainTable} }, func(r *region) string { return r.seed.MainTable }},
		"legacy": {"the legacy tag counts", func(r *region) []string {
			r.SetTags(r.seed.PrivateTable, map[string]string{"KubernetesCluster": "other"})

			return nil
		}, func(r *region) string {
			return r.AddRouteTable(sim.RouteTableSpec{VPC: r.seed.VPC, Tags: map[string]string{"KubernetesCluster": demo}})
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			lines := tc.lines(r)
			want := tc.want(r)
			c := r.connect(cloudTuning{}, lines...)
			id := r.seed.AddNodes(1)[0]
			r.withNodes(c, node(id, named("n")))
			if err := c.routes.CreateRoute(t.Context(), "", "", to("n", pods(1))); err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(r.Routes(want), pods(1)+" "+id+" active") {
				t.Errorf("%s: got %v", tc.reason, r.Routes(want))
			}
		})
	}
}

// TestCreateRoute covers what is in the way of a route (AWS-ROUTE-2,
// AWS-ROUTE-7).
func TestCreateRoute(t *testing.T) {
	t.Parallel()
	const forward, create, replace, remove, table = "ModifyNetworkInterfaceAttribute", "CreateRoute", "ReplaceRoute", "DeleteRoute", "DescribeRouteTables"
	cases := map[string]struct {
		reason string
		cidr   string
		before func(r *region, own, other string)
		// want are the routes, with own and other for the instances.
		want  []string
		calls map[string]int
		err   error
	}{
		"nothing": {"one route", pods(1), func(*region, string, string) {}, []string{pods(1) + " own active"}, map[string]int{forward: 1, create: 1}, nil},
		"ipv6":    {"AWS-ROUTE-2: a route for IPv6", "fd00:1::/64", func(*region, string, string) {}, []string{"fd00:1::/64 own active"}, map[string]int{forward: 1, create: 1}, nil},
		"the same": {"AWS-ROUTE-7: done", pods(1), func(r *region, own, _ string) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Instance: own})
		}, []string{pods(1) + " own active"}, map[string]int{forward: 1, create: 1}, nil},
		"another instance": {"AWS-ROUTE-7: replaced", pods(1), func(r *region, _, other string) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Instance: other})
		}, []string{pods(1) + " own active"}, map[string]int{forward: 1, create: 1, replace: 1}, nil},
		"another instance, ipv6": {"AWS-ROUTE-2, AWS-ROUTE-7: replaced", "fd00:1::/64", func(r *region, _, other string) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: "fd00:1::/64", Instance: other})
		}, []string{"fd00:1::/64 own active"}, map[string]int{forward: 1, create: 1, replace: 1}, nil},
		"black hole": {"AWS-ROUTE-7: replaced", pods(1), func(r *region, _, other string) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Instance: other})
			r.Remove(other)
		}, []string{pods(1) + " own active"}, map[string]int{forward: 1, create: 1, replace: 1}, nil},
		"gateway": {"a route of another owner stays", pods(1), func(r *region, _, _ string) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Gateway: "igw-0123456789abcdef0"})
		}, []string{pods(1) + " igw-0123456789abcdef0 active"}, map[string]int{forward: 1, create: 1}, apierr.ErrConflict},
		"stopped": {"AWS-ROUTE-7: no flapping: the route is there when it starts", pods(1), func(r *region, own, _ string) {
			r.SetState(own, sim.Stopped)
		}, []string{pods(1) + " own blackhole"}, map[string]int{forward: 1, create: 1}, nil},
		"may not replace": {"AWS-ROUTE-7: degrades to deleting and creating", pods(1), func(r *region, _, other string) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Instance: other})
			r.Interceptor().Inject(replace, simserver.Always(), sim.Denied())
		}, []string{pods(1) + " own active"}, map[string]int{forward: 1, create: 2, replace: 1, remove: 1}, nil},
		"gone meanwhile": {"AWS-ROUTE-7: replacing finds nothing", pods(1), func(r *region, own, _ string) {
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Instance: own})
			r.Interceptor().Inject(create, simserver.First(1), sim.Error(400, "RouteAlreadyExists", "The route exists already."))
		}, []string{pods(1) + " own active"}, map[string]int{forward: 1, create: 1}, nil},
		"may not write interfaces": {"AWS-ROUTE-5: degrades to writing the instance", pods(1), func(r *region, _, _ string) {
			r.Interceptor().Inject(forward, simserver.Always(), sim.Denied())
		}, []string{pods(1) + " own active"}, map[string]int{forward: 1, "ModifyInstanceAttribute": 1, create: 1}, nil},
		"may write nothing": {"without that packets are dropped", pods(1), func(r *region, _, _ string) {
			r.Interceptor().Inject(forward, simserver.Always(), sim.Denied())
			r.Interceptor().Inject("ModifyInstanceAttribute", simserver.Always(), sim.Denied())
		}, nil, map[string]int{forward: 1, "ModifyInstanceAttribute": 1}, apierr.ErrDenied},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			own, other := r.seed.AddNode(sim.InstanceSpec{}), r.seed.AddNode(sim.InstanceSpec{})
			c := r.connect(cloudTuning{})
			r.withNodes(c, node(own, named("own")))
			listed(t, c) // as the framework does first
			tc.before(r, own, other)
			calls := r.calls(func() {
				if err := c.routes.CreateRoute(t.Context(), "kubernetes", "hint", to("own", tc.cidr)); !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
					t.Errorf("%s: want %v, got %v", tc.reason, tc.err, err)
				}
			})
			delete(calls, "DescribeInstances")
			delete(calls, table)
			if diff := cmp.Diff(tc.calls, calls); diff != "" {
				t.Errorf("%s: calls (-want +got):\n%s", tc.reason, diff)
			}
			var got []string
			for _, line := range r.made() {
				got = append(got, strings.NewReplacer(own, "own", other, "other").Replace(line))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if tc.err == nil && name != "may not write interfaces" && r.description(own).Interfaces[0].SourceDestCheck {
				t.Errorf("AWS-ROUTE-5: %s checks where packets are for", own)
			}
		})
	}
}

// TestSeveralInterfaces: by the ID of the instance EC2 does not find the one that
// is meant (AWS-ROUTE-6).
func TestSeveralInterfaces(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	subnet := r.seed.Private["us-west-2a"]
	id := r.seed.AddNode(sim.InstanceSpec{Interfaces: []sim.InterfaceSpec{{Subnet: subnet, Device: 1}, {Subnet: subnet}}})
	c := r.connect(cloudTuning{})
	r.withNodes(c, node(id, named("n")))
	for _, cidr := range []string{pods(1), "fd00:1::/64"} {
		if err := c.routes.CreateRoute(t.Context(), "", "", to("n", cidr)); err != nil {
			t.Errorf("AWS-ROUTE-6: %v", err)
		}
	}
	primary, _ := r.description(id).Primary()
	for _, request := range r.Requests("CreateRoute") {
		if request.Form.Get("NetworkInterfaceId") != primary.ID || request.Form.Has("InstanceId") {
			t.Errorf("AWS-ROUTE-6: want a route to %s, got %v", primary.ID, request.Form)
		}
	}
	if primary.SourceDestCheck {
		t.Error("AWS-ROUTE-6: the primary interface does not forward")
	}
	if n := r.Interceptor().Count("ModifyNetworkInterfaceAttribute"); n != 1 {
		t.Errorf("its check was switched off %d times", n)
	}
	if diff := cmp.Diff([]string{pods(1) + " -> n", "fd00:1::/64 -> n"}, listed(t, c)); diff != "" {
		t.Errorf("AWS-ROUTE-6: routes (-want +got):\n%s", diff)
	}
}

// TestDeleteRoute: by destination; one that is gone is deleted (AWS-ROUTE-7).
func TestDeleteRoute(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	id := r.seed.AddNodes(1)[0]
	c := r.connect(cloudTuning{})
	r.withNodes(c, node(id, named("n")))
	for _, cidr := range []string{pods(1), "fd00:1::/64"} {
		r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: cidr, Instance: id})
		for range 2 {
			if err := c.routes.DeleteRoute(t.Context(), "kubernetes", to("n", cidr)); err != nil {
				t.Errorf("AWS-ROUTE-2, FW-ROUTE-2: delete: %v", err)
			}
		}
	}
	if got := r.made(); len(got) != 0 {
		t.Errorf("left over: %v", got)
	}
	if err := c.routes.DeleteRoute(t.Context(), "", to("n", "10.0.0.0")); !errors.Is(err, apierr.ErrInvalid) {
		t.Errorf("want ErrInvalid, got %v", err)
	}
	r.Interceptor().Inject("DeleteRoute", simserver.Always(), sim.Error(400, "InvalidRouteTableID.NotFound", "The routeTable ID does not exist"))
	if err := c.routes.DeleteRoute(t.Context(), "", to("n", pods(1))); err == nil {
		t.Error("AWS-ROUTE-7: a missing table is no missing route")
	}
}

// TestCreateRoutes counts what many routes cost that are made at once.
func TestCreateRoutes(t *testing.T) {
	t.Parallel()
	// A hundred routes at once, by a client that does not wait, are twice what AWS
	// allows.
	r := newRegion(t, sim.Options{DisableThrottling: true})
	// Calls count, not how long they take here: lists do not get older.
	clock := clocktesting.NewFakeClock(time.Now())
	c := r.connect(cloudTuning{source: nodes.Tuning{Clock: clock, Timeout: 2 * time.Minute, ListWait: 2 * time.Minute}, routes: clock})
	var all []*v1.Node
	for i, id := range r.seed.AddNodes(100) {
		all = append(all, node(id, podCIDRs(pods(i))))
	}
	r.withNodes(c, all...)
	listed(t, c)
	calls := r.calls(func() {
		parallel(100, all, func(n *v1.Node) {
			if err := c.routes.CreateRoute(t.Context(), "", "", to(n.Name, n.Spec.PodCIDRs[0])); err != nil {
				t.Error(err)
			}
		})
	})
	if calls["DescribeInstances"] > 2 || calls["DescribeRouteTables"] > 1 || calls["CreateRoute"] != 100 {
		t.Errorf("AWS-ROUTE-4: 100 routes cost %v", calls)
	}
	var want []string
	for i, n := range all {
		want = append(want, pods(i)+" -> "+n.Name)
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, listed(t, c)); diff != "" {
		t.Errorf("listed (-want +got):\n%s", diff)
	}
}

// TestRouteToWhom: a route is made to EC2 instances that are known.
func TestRouteToWhom(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	id := r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "by-name"})
	c := r.connect(cloudTuning{})
	r.withNodes(c, kubetest.Node("fargate", kubetest.ProviderID("aws:///us-west-2a/x/fargate-10.0.0.1")), node("i-0123456789abcdef0", named("gone")))
	cases := map[string]struct {
		reason, name, cidr string
		err                error
	}{
		"by name":  {"a Node without provider ID", "by-name", pods(1), nil},
		"missing":  {"AWS-ROUTE-8: a Node that does not exist", "missing", pods(2), inventory.ErrAbsent},
		"gone":     {"AWS-ROUTE-8: its instance is gone", "gone", pods(3), inventory.ErrAbsent},
		"fargate":  {"there is nothing to lead to", "fargate", pods(4), nodes.ErrFargateRoute},
		"bad CIDR": {"AWS-ROUTE-8: no CIDR", "by-name", "10.0.0.0", apierr.ErrInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if err := c.routes.CreateRoute(t.Context(), "", "", to(tc.name, tc.cidr)); !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.err, err)
			}
		})
	}
	if diff := cmp.Diff([]string{pods(1) + " " + id + " active"}, r.made()); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

// TestNodeOn: should several Nodes be on one instance, the route is that of the
// Node whose pods it leads to.
func TestNodeOn(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	id := r.seed.AddNodes(1)[0]
	for i := range 3 {
		r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(i), Instance: id})
	}
	c := r.connect(cloudTuning{})
	r.withNodes(c, node(id, named("b"), podCIDRs(pods(1))), node(id, named("a"), podCIDRs(pods(0))))
	if diff := cmp.Diff([]string{pods(0) + " -> a", pods(1) + " -> b", pods(2) + " -> a"}, listed(t, c)); diff != "" {
		t.Errorf("routes (-want +got):\n%s", diff)
	}
}

// TestRoutesTogether: routes to different destinations do not wait for each
// other, and one that waits gives up with its context.
func TestRoutesTogether(t *testing.T) {
	t.Parallel()
	const together = 20
	r := newRegion(t, sim.Options{})
	c := r.connect(cloudTuning{})
	var nodes []*v1.Node
	for i, id := range r.seed.AddNodes(together) {
		nodes = append(nodes, node(id, named(fmt.Sprintf("node-%d", i))))
	}
	r.withNodes(c, nodes...)
	held := simserver.NewHold()
	t.Cleanup(held.Release)
	r.Interceptor().Inject("CreateRoute", simserver.Always(), held.Before)
	var all sync.WaitGroup
	for i := range together {
		all.Go(func() {
			if err := c.routes.CreateRoute(t.Context(), "", "", to(fmt.Sprintf("node-%d", i), pods(i))); err != nil {
				t.Error(err)
			}
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	if err := r.Interceptor().WaitFor(ctx, "CreateRoute", together); err != nil {
		t.Errorf("AWS-ROUTE-9: %d of %d routes are being made: %v", r.Interceptor().Count("CreateRoute"), together, err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.routes.DeleteRoute(soon, "", to("node-0", pods(0))); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deleted while it is being made: %v", err)
	}
	held.Release()
	all.Wait()
	if got := len(r.made()); got != together {
		t.Errorf("%d routes are left", got)
	}
}
