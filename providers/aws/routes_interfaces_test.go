package aws

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	sim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/aws"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
)

const describeInterfaces = "DescribeNetworkInterfaces"

// foreignInterface adds a route to a network interface that no instance has.
func (r *region) foreignInterface(cidr string) {
	pod := r.AddFargate(sim.FargateSpec{Subnet: r.seed.Private["us-west-2a"]})
	r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: cidr, Interface: pod.InterfaceID})
}

// TestListRoutesByInterface: routes that are described by their network interface
// alone are listed as those that are described with their instance.
func TestListRoutesByInterface(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]bool{"with the instance": true, "by the interface alone": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			r.SetRouteInstances(shown)
			running, stopped, waiting := r.seed.AddNode(sim.InstanceSpec{}), r.seed.AddNode(sim.InstanceSpec{}),
				r.seed.AddNode(sim.InstanceSpec{PrivateDNSName: "waiting"})
			deleted, unknown := r.seed.AddNode(sim.InstanceSpec{}), r.untagged()
			for i, id := range []string{running, stopped, waiting, deleted, unknown} {
				r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(i), Instance: id})
			}
			r.foreignInterface(pods(5))
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(6), Gateway: "nat-0123456789abcdef0"})
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(7), Gateway: "tgw-0123456789abcdef0"})
			r.SetState(stopped, sim.Stopped)
			r.Remove(deleted)
			c := r.connect(cloudTuning{})
			r.withNodes(c, node(running, named("running")), node(stopped, named("stopped")), node(deleted, named("deleted")),
				kubetest.Node("waiting", podCIDRs(pods(2))))
			var got []string
			calls := r.calls(func() { got = listed(t, c) })
			want := []string{
				pods(0) + " -> running",
				pods(1) + " -> stopped", // no flapping
				pods(2) + " -> waiting", // by its name, until it has a provider ID
				pods(3) + " black hole",
				pods(4) + " -> " + unknown, // the Node is gone and the instance is not
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("routes (-want +got):\n%s", diff)
			}
			if calls[describeInterfaces] != 1 {
				t.Errorf("the network interfaces of all routes cost %v, want one query", calls)
			}
		})
	}
}

// TestOwnRoutesByInterface: routes that the provider creates are listed, so that
// they are not created again and go with their Node.
func TestOwnRoutesByInterface(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	r.SetRouteInstances(false)
	c := r.connect(cloudTuning{})
	var nodes []*v1.Node
	var want []string
	ids := r.seed.AddNodes(10)
	for i, id := range ids {
		nodes = append(nodes, node(id, named(fmt.Sprintf("node-%d", i)), podCIDRs(pods(i))))
		want = append(want, fmt.Sprintf("%s -> node-%d", pods(i), i))
	}
	store := r.withNodes(c, nodes...)
	for _, n := range nodes {
		if err := c.routes.CreateRoute(t.Context(), "", "", to(n.Name, n.Spec.PodCIDRs[0])); err != nil {
			t.Fatal(err)
		}
	}
	calls := r.calls(func() {
		if diff := cmp.Diff(want, listed(t, c)); diff != "" {
			t.Errorf("created routes (-want +got):\n%s", diff)
		}
	})
	if diff := cmp.Diff(map[string]int{"DescribeRouteTables": 1}, calls); diff != "" {
		t.Errorf("calls to list what was created (-want +got):\n%s", diff)
	}
	if err := store.Delete(nodes[0]); err != nil {
		t.Fatal(err)
	}
	want[0] = pods(0) + " -> " + ids[0]
	if diff := cmp.Diff(want, listed(t, c)); diff != "" {
		t.Errorf("after a Node was deleted (-want +got):\n%s", diff)
	}
	other := r.connect(cloudTuning{}) // a restart
	r.withNodes(other, nodes[1:]...)
	calls = r.calls(func() {
		if diff := cmp.Diff(want, listed(t, other)); diff != "" {
			t.Errorf("after a restart (-want +got):\n%s", diff)
		}
	})
	if diff := cmp.Diff(map[string]int{"DescribeRouteTables": 1, describeInterfaces: 1}, calls); diff != "" {
		t.Errorf("calls after a restart (-want +got):\n%s", diff)
	}
}

// TestRoutesByListedInterface: the list of instances has their interfaces, which
// saves the query.
func TestRoutesByListedInterface(t *testing.T) {
	t.Parallel()
	r := newRegion(t, sim.Options{})
	r.SetRouteInstances(false)
	c := r.connect(cloudTuning{})
	var nodes []*v1.Node
	var want []string
	ids := r.seed.AddNodes(250) // so many that the whole cluster is listed
	for i, id := range ids[:20] {
		r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(i), Instance: id})
		nodes = append(nodes, node(id, named(fmt.Sprintf("node-%d", i))))
		want = append(want, fmt.Sprintf("%s -> node-%d", pods(i), i))
	}
	slices.Sort(want)
	r.withNodes(c, nodes...)
	if _, err := c.inventory.Get(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	calls := r.calls(func() {
		if diff := cmp.Diff(want, listed(t, c)); diff != "" {
			t.Errorf("routes (-want +got):\n%s", diff)
		}
	})
	if diff := cmp.Diff(map[string]int{"DescribeRouteTables": 1}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestInterfacesCannotBeRead: without the permission, routes are listed as far as
// that goes; another failure is an error, so that no route is taken for another.
func TestInterfacesCannotBeRead(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		fault  simserver.Fault
		err    error
		// queries are those of two lists, again is when the next one is made.
		queries int
		again   time.Duration
	}{
		"denied":    {"a query at each list would be denied each time", sim.Denied(), nil, 1, 5 * time.Minute},
		"throttled": {"a failure that passes", sim.Error(503, "RequestLimitExceeded", "Request limit exceeded."), apierr.ErrThrottled, 2, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRegion(t, sim.Options{})
			id := r.seed.AddNodes(1)[0]
			r.AddRoute(r.seed.PrivateTable, sim.RouteSpec{Destination: pods(1), Instance: id})
			r.foreignInterface(pods(2))
			clock := clocktesting.NewFakeClock(time.Now())
			c := r.connect(cloudTuning{routes: clock})
			r.withNodes(c, node(id, named("n")))
			r.Interceptor().Inject(describeInterfaces, simserver.Always(), tc.fault)
			for range 2 {
				if _, err := c.routes.ListRoutes(t.Context(), "kubernetes"); !errors.Is(err, tc.err) || (err == nil) != (tc.err == nil) {
					t.Errorf("%s: want %v, got %v", tc.reason, tc.err, err)
				}
			}
			if n := r.Interceptor().Count(describeInterfaces); tc.err == nil && n != tc.queries || n < tc.queries {
				t.Errorf("%s: %d queries", tc.reason, n)
			}
			r.Interceptor().Clear()
			clock.Step(tc.again)
			calls := r.calls(func() {
				if diff := cmp.Diff([]string{pods(1) + " -> n"}, listed(t, c)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
			if calls[describeInterfaces] != 1 {
				t.Errorf("%s: not queried again: %v", tc.reason, calls)
			}
		})
	}
}
