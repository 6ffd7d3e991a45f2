package openstack

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/nodes"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// virtualTime returns the options of a cloud in virtual time, whose reads are not stale since the
// requests are counted.
func virtualTime(pageSize int) openstack.Options {
	return openstack.Options{InMemory: true, PageSize: pageSize, StaleReads: new(openstack.StaleReads)}
}

// connectInProduction connects with the ages and deadlines of production, in virtual time, and
// returns the names of Nodes that are queued again.
func (f *fleet) connectInProduction(t *testing.T, more string) (*cloud, <-chan string) {
	t.Helper()
	var times tuning
	times.client.LoginGuard, times.client.Dial = openstacktest.EagerGuard(), f.ClientOptions().Dial
	c := connect(t, f.CloudConfig(openstack.UserCCM, more), times, f.nodes...)
	if _, err := c.client.Project(t.Context()); err != nil {
		t.Fatal(err)
	}
	queued := make(chan string, 1000)
	c.SetNodeRequeue(func(name string) { queued <- name })

	return c, queued
}

// join initializes Nodes as the controller does, and returns after what time the last one is.
func join(t *testing.T, c *cloud, queued <-chan string, nodes ...*v1.Node) time.Duration {
	t.Helper()
	began, waiting := time.Now(), map[string]*v1.Node{}
	var mu sync.Mutex
	try := func(node *v1.Node) {
		metadata, err := c.instances.InstanceMetadata(t.Context(), node)
		if err == nil && len(metadata.NodeAddresses) == 1 {
			mu.Lock()
			defer mu.Unlock()
			delete(waiting, node.Name)
		}
	}
	var all sync.WaitGroup
	for _, node := range nodes {
		waiting[node.Name] = node
	}
	for _, node := range nodes {
		all.Go(func() { try(node) })
	}
	all.Wait()
	for limit := time.After(10 * time.Minute); len(waiting) > 0; {
		select {
		case name := <-queued:
			try(waiting[name])
		case <-limit:
			t.Fatalf("%d Nodes are not initialized", len(waiting))
		}
	}

	return time.Since(began)
}

// TestSlowCloud (OS-NODE-15): while a list takes longer than any caller waits, Nodes are initialized by
// requests for their servers.
func TestSlowCloud(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		nodes  int
		page   int
		joins  int
		each   time.Duration
		limit  time.Duration
	}{
		"few":       {"two requests and a version document", 10, 3, 1, 2500 * time.Millisecond, 10 * time.Second},
		"of many":   {"no list of all is requested", 40, 10, 3, 2500 * time.Millisecond, 10 * time.Second},
		"many":      {"the list is there before all of them are read", 40, 10, 40, 2500 * time.Millisecond, time.Minute},
		"very slow": {"further attempts wait longer", 10, 3, 2, 20 * time.Second, 3 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, tc.nodes, virtualTime(tc.page))
				for _, node := range f.nodes[:tc.joins] {
					kubetest.Tainted()(node)
				}
				c, queued := f.connectInProduction(t, "")
				f.Interceptor().SetLatency(tc.each)
				took := join(t, c, queued, f.nodes[:tc.joins]...)
				f.Interceptor().SetLatency(0)
				t.Logf("%d Nodes after %s with %d requests", tc.joins, took, f.requests())
				if took > tc.limit {
					t.Errorf("%s: it took %s, the limit is %s", tc.reason, took, tc.limit)
				}
				if lists := f.Interceptor().Count("nova.ListServersDetail"); lists > 0 && tc.joins <= nodes.FewNodes {
					t.Errorf("%s: %d pages of lists", tc.reason, lists)
				}
			})
		})
	}
}

// TestFirstNodeOfMany (OS-NODE-15): one of many Nodes is initialized before the lists are there, which
// take 16 seconds.
func TestFirstNodeOfMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 40, virtualTime(10))
		for _, node := range f.nodes {
			kubetest.Tainted()(node)
		}
		c, _ := f.connectInProduction(t, "")
		f.Interceptor().SetLatency(800 * time.Millisecond)
		began := time.Now()
		early := make(chan bool, len(f.nodes))
		var all sync.WaitGroup
		for _, node := range f.nodes {
			all.Go(func() {
				if _, err := c.instances.InstanceMetadata(t.Context(), node); err == nil && time.Since(began) <= 3*time.Second {
					early <- true
				}
			})
		}
		all.Wait()
		f.Interceptor().SetLatency(0)
		if len(early) != 1 {
			t.Errorf("%d Nodes are initialized in three seconds, want one", len(early))
		}
	})
}

// TestDeadNodeOfSlowCloud (OS-NODE-4, OS-NODE-15): the Node of a deleted server is gone although each
// request takes seconds, and a list longer than any call of the controller.
func TestDeadNodeOfSlowCloud(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason   string
		nodes    int
		notReady int
		each     time.Duration
		limit    time.Duration
	}{
		"few":        {"the version document, the server, its actions", 10, 1, 9 * time.Second, 30 * time.Second},
		"few of all": {"the others are ready", 40, 3, 9 * time.Second, 30 * time.Second},
		"many":       {"a list is waited for, for a while", 40, 40, 9 * time.Second, 40 * time.Second},
		"very slow":  {"a call may take three times the request-timeout", 10, 1, 50 * time.Second, 3 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, tc.nodes, virtualTime(tc.nodes/3))
				for _, node := range f.nodes[:tc.notReady] {
					kubetest.NotReady()(node)
				}
				c, _ := f.connectInProduction(t, "")
				if exists, err := c.instances.InstanceExists(t.Context(), f.nodes[tc.nodes-1]); !exists || err != nil {
					t.Fatalf("exists %t, %v", exists, err) // the project is proven
				}
				time.Sleep(time.Minute)
				f.DeleteServer(idOf(f.nodes[0]))
				f.Interceptor().SetLatency(tc.each)
				exists, began := true, time.Now()
				for exists && time.Since(began) < tc.limit {
					var err error
					if exists, err = c.instances.InstanceExists(t.Context(), f.nodes[0]); err != nil {
						exists = true
						time.Sleep(certainty.Pass)
					}
				}
				f.Interceptor().SetLatency(0)
				if took := time.Since(began); exists || took > tc.limit {
					t.Errorf("%s: exists %t after %s, the limit is %s", tc.reason, exists, took, tc.limit)
				}
			})
		})
	}
}

// TestFewAreNotReady (OS-COST-1, OS-NODE-15): the Node of a deleted server is gone in the next pass, however
// new the list is, as long as few Nodes are not ready.
func TestFewAreNotReady(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const servers = 100
		f := newFleet(t, servers, virtualTime(0))
		down := f.nodes[:nodes.FewNodes]
		for _, node := range down {
			kubetest.NotReady()(node)
		}
		c, _ := f.connectInProduction(t, "")
		pass := func() (gone int) {
			for _, node := range down {
				exists, err := c.instances.InstanceExists(t.Context(), node)
				shutdown, err2 := c.instances.InstanceShutdown(t.Context(), node)
				if err != nil || err2 != nil || shutdown {
					t.Errorf("node %s: %v, shut down %t, %v", node.Name, err, shutdown, err2)
				}
				if !exists {
					gone++
				}
			}

			return gone
		}
		if _, err := c.instances.InstanceMetadata(t.Context(), f.nodes[servers-1]); err != nil { // the lists are new
			t.Fatal(err)
		}
		before := f.requests()
		pass()
		f.budget(t, "a pass", before, len(down))
		f.DeleteServer(idOf(down[0]))
		f.DeleteServer(idOf(down[1]))
		time.Sleep(certainty.Pass)
		if gone := pass(); gone != 2 {
			t.Errorf("%d of two Nodes are gone", gone)
		}
		f.budget(t, "two passes", before, 2*len(down)+2)
	})
}

// TestLargeProject (OS-COST-1, OS-NODE-15): Nodes that join a cluster in a project of 5,000 servers and
// 20,000 ports, in which lists take seconds and minutes, cost four small requests each.
func TestLargeProject(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ nodes, joins int }{"small": {10, 10}, "large": {100, 5}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 0, virtualTime(0))
				for i, id := range f.AddLargeProject(network, tc.nodes) {
					node := kubetest.Node(fmt.Sprintf("node-%d", i+1), kubetest.ProviderID("openstack:///"+id), old)
					if i < tc.joins {
						kubetest.Tainted()(node)
					}
					if i < tc.joins/2 { // they are found by their names
						kubetest.SystemUUID(id)(node)
						node.Spec.ProviderID = ""
					}
					f.nodes = append(f.nodes, node)
				}
				c, queued := f.connectInProduction(t, "")
				f.SetRowTimes(openstack.LargeCloudRowTimes())
				f.Interceptor().SetLatency(30 * time.Millisecond)
				took := join(t, c, queued, f.nodes[:tc.joins]...)
				f.budget(t, "joining", 0, 4*tc.joins)
				for op, filter := range map[string]string{"neutron.ListPorts": "device_id", "nova.ListServersDetail": "name"} {
					for _, request := range f.Requests(op) {
						if !request.Query.Has(filter) {
							t.Errorf("%s of the whole project", op)
						}
					}
				}
				if took > 5*time.Second {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}
