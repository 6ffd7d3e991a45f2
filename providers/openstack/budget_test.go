package openstack

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/instance"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/openstacktest"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	"github.com/multicloud-ccm/multicloud-ccm/test/profile"
)

// production returns the ages of production, with deadlines for a busy machine.
func production() tuning {
	times := quick()
	times.instances.Timeout = time.Minute
	times.inventory = inventory.Config{ListWait: time.Minute}
	times.client.LoginTimeout, times.client.RetryTime = time.Minute, time.Minute

	return times
}

// TestBudgets (OS-COST-4, OS-COST-1): requests for Nodes do not grow with their number but by
// pages.
func TestBudgets(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)

	cases := map[string]struct {
		reason             string
		nodes, foreign     int
		initialize, steady int
		lifecycle          int
	}{
		"63":      {"a small cluster: a server and its ports, a list of servers and one of ports", 63, 0, 4, 2, 1},
		"300":     {"lists of one page", 300, 0, 4, 2, 1},
		"1000":    {"a full page has a next one", 1000, 0, 6, 4, 2},
		"5000":    {"five full pages", 5000, 0, 14, 12, 6},
		"Foreign": {"foreign servers and ports cost pages", 63, 1000, 6, 4, 2},
	}
	for name, tc := range cases {
		if profile.Race && tc.nodes+tc.foreign > 300 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, tc.nodes, openstack.Options{})
			for i := range tc.foreign {
				f.AddServer(openstack.ServerSpec{Name: "foreign", Networks: []openstack.ServerNetwork{
					{Name: network, IPs: []string{fmt.Sprintf("10.0.%d.%d", 100+i/250, 2+i%250)}},
				}})
			}
			times := production()
			clock := clocktesting.NewFakePassiveClock(time.Now())
			times.inventory.Clock = clock
			c, api := f.connectTainted(t, times)
			ctx := bounded(t)

			f.each(5, func(node *v1.Node) {
				fresh := uninitialized(node)
				if node.Name < "node-2" {
					fresh.Spec.ProviderID = "" // some are found by their names
					kubetest.SystemUUID(idOf(node))(fresh)
				}
				metadata, err := c.instances.InstanceMetadata(ctx, fresh)
				if err != nil || metadata.ProviderID != node.Spec.ProviderID || metadata.InstanceType == "" || len(metadata.NodeAddresses) != 1 {
					t.Errorf("node %s: %+v, %v", node.Name, metadata, err)
				}
				if _, err := api.CoreV1().Nodes().Update(ctx, node, metav1.UpdateOptions{}); err != nil {
					t.Error(err)
				}
				eventually(t, "the informer has the initialized Node", func() bool { return instance.Initialized(c.nodes.Load().Node(node.Name)) })
			})
			f.budget(t, "initializing", 0, tc.initialize)

			clock.SetTime(clock.Now().Add(5 * time.Minute)) // --node-status-update-frequency
			before := f.requests()
			f.each(1, func(node *v1.Node) {
				if metadata, err := c.instances.InstanceMetadata(ctx, node); err != nil || len(metadata.NodeAddresses) != 1 {
					t.Errorf("node %s: %+v, %v", node.Name, metadata, err)
				}
			})
			f.budget(t, "a steady pass", before, tc.steady)

			clock.SetTime(clock.Now().Add(inventory.DefaultMaxAge))
			before = f.requests()
			for _, node := range f.nodes[:min(100, tc.nodes)] {
				exists, err := c.instances.InstanceExists(ctx, node)
				shutdown, err2 := c.instances.InstanceShutdown(ctx, node)
				if !exists || shutdown || err != nil || err2 != nil {
					t.Errorf("node %s: exists %t, shut down %t, %v, %v", node.Name, exists, shutdown, err, err2)
				}
			}
			f.budget(t, "a look at 100 Nodes that are not ready", before, tc.lifecycle)
		})
	}
}

// connectTainted connects to a cluster none of whose Nodes is initialized yet, and returns its API.
func (f *fleet) connectTainted(t *testing.T, times tuning) (*cloud, kubernetes.Interface) {
	t.Helper()
	objects := make([]runtime.Object, len(f.nodes))
	for i, node := range f.nodes {
		objects[i] = uninitialized(node)
	}
	api := kubetest.NewClientset(objects...)

	return connectTo(t, api, noEnvironment(), f.CloudConfig(openstack.UserCCM, ""), times), api
}

// TestBudgetOfMissing (OS-COST-2, OS-COST-4, OS-NODE-4): half of the cluster is lost. The lifecycle
// controller confirms each server and its actions, and all Nodes are gone at once.
func TestBudgetOfMissing(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	const lost = 50
	f := newFleet(t, 100, openstack.Options{})
	times := production()
	clock := clocktesting.NewFakePassiveClock(time.Now())
	times.inventory.Clock, times.instances.Clock = clock, clock
	c := f.connect(t, "[NodeDeletion]\nlimit = 0\n", times)
	for _, node := range f.nodes[:lost] {
		f.DeleteServer(idOf(node))
	}
	gone := map[string]bool{}
	passes := 0
	for ; len(gone) < lost && passes < 100; passes++ {
		before := f.requests()
		for _, node := range f.nodes {
			if gone[node.Name] {
				continue
			}
			if exists, err := c.instances.InstanceExists(bounded(t), node); !exists && err == nil {
				gone[node.Name] = true
			}
		}
		f.budget(t, "a pass over 100 Nodes of which 50 are missing", before, 1+2*lost)
		clock.SetTime(clock.Now().Add(certainty.Pass))
	}
	if passes > 2 { // in the first one, nothing proves the project before the first Node that is there
		t.Errorf("%d Nodes are gone after %d passes", len(gone), passes)
	}
	for _, node := range f.nodes[lost:] {
		if gone[node.Name] {
			t.Errorf("node %s is gone", node.Name)
		}
	}
}

// TestBudgetOfFailure (OS-COST-1, OS-NODE-6): a list that Nova or Neutron refuses is not
// requested again for each Node of a pass, and the Nodes are known without it.
func TestBudgetOfFailure(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	for op, filter := range map[string]string{"nova.ListServersDetail": "name", "neutron.ListPorts": "device_id"} {
		t.Run(op, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 25, openstack.Options{})
			times := production()
			clock := clocktesting.NewFakePassiveClock(time.Now())
			times.inventory.Clock = clock
			c := f.connect(t, "", times)
			lists := 0
			f.Interceptor().Inject(op, simserver.Always(), openstack.Without(filter, func(w http.ResponseWriter, r *http.Request, apply http.Handler) {
				lists++
				openstack.Denied()(w, r, apply)
			}))
			for passes := 1; passes <= 3; passes++ {
				for _, node := range f.nodes {
					if _, err := c.instances.InstanceMetadata(bounded(t), node); err != nil {
						t.Errorf("node %s: %v", node.Name, err)
					}
				}
				if lists > passes {
					t.Errorf("%d passes over %d Nodes cost %d lists", passes, len(f.nodes), lists)
				}
				clock.SetTime(clock.Now().Add(inventory.DefaultMaxAge))
			}
		})
	}
}

// TestBudgetOfOperator (OS-COST-1, OS-NODE-2): ports and servers of other projects cost nothing, also
// for a user that can list them.
func TestBudgetOfOperator(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	f := newFleet(t, 40, openstack.Options{PageSize: 50})
	for i := range 200 {
		f.AddServer(openstack.ServerSpec{Name: "other", Project: openstack.ProjectOther, Networks: []openstack.ServerNetwork{
			{Name: network, IPs: []string{fmt.Sprintf("10.0.100.%d", 2+i)}},
		}})
	}
	others := f.AddNetwork(openstack.NetworkSpec{Name: "others", Project: openstack.ProjectOther})
	for range foreignPorts {
		f.AddPort(openstack.PortSpec{Network: others, IPs: []string{}, NoPortSecurity: true})
	}
	c := connect(t, f.CloudConfig(openstack.UserOperator, ""), production(), f.nodes...)
	f.each(5, func(node *v1.Node) {
		if _, err := c.instances.InstanceMetadata(bounded(t), uninitialized(node)); err != nil {
			t.Errorf("node %s: %v", node.Name, err)
		}
	})
	f.budget(t, "initializing", 0, 3)
}

// TestBudgetOfRoutes (OS-COST-4, OS-ROUTE-2): five minutes with 1,000 Nodes in which nothing
// happens cost at most ten requests, and one for each sync of the routes.
func TestBudgetOfRoutes(t *testing.T) {
	t.Parallel()
	openstacktest.CountsCalls(t)
	synctest.Test(t, testBudgetOfRoutes)
}

func testBudgetOfRoutes(t *testing.T) {
	const routed, syncs = 5, 30 // --route-reconciliation-period is 10 s
	f := newFleet(t, 0, openstack.Options{InMemory: true, StaleReads: new(openstack.StaleReads)})
	subnet := f.AddSubnet(openstack.SubnetSpec{Network: f.AddNetwork(openstack.NetworkSpec{Name: network}), CIDR: "10.0.0.0/16"})
	router := f.AddRouter(openstack.RouterSpec{Name: "router", Subnets: []string{subnet}})
	for i := range profile.Of(100, 1000, 1000) {
		node := f.add(fmt.Sprintf("node-%d", i+1), openstack.ServerSpec{Zone: "az-1"})
		node.Spec.PodCIDRs = []string{fmt.Sprintf("10.244.%d.0/24", i+1)}
		kubetest.Address(v1.NodeInternalIP, fmt.Sprintf("10.0.%d.%d", 1+i/250, 2+i%250))(node)
	}
	c := f.connect(t, routerSection(router), production())
	routes, ok := c.Routes()
	if !ok {
		t.Fatal("there are no routes")
	}
	look := func() {
		for _, node := range f.nodes {
			if metadata, err := c.instances.InstanceMetadata(bounded(t), node); err != nil || len(metadata.NodeAddresses) != 1 {
				t.Fatalf("node %s: %+v, %v", node.Name, metadata, err)
			}
		}
	}
	list := func() {
		if all, err := routes.ListRoutes(bounded(t), clusterName); err != nil || len(all) != routed {
			t.Fatalf("routes: %v, %v", all, err)
		}
	}
	for _, node := range f.nodes[:routed] {
		route := &cloudprovider.Route{TargetNode: apitypes.NodeName(node.Name), DestinationCIDR: node.Spec.PodCIDRs[0]}
		must(t, routes.CreateRoute(bounded(t), clusterName, "", route))
	}
	look()
	list()
	before := f.requests()
	for range syncs {
		time.Sleep(10 * time.Second)
		list()
	}
	look() // --node-status-update-frequency is 5 min
	f.budget(t, "five minutes", before, 10+syncs)
	t.Logf("five minutes cost %d requests, of which %d are for routes", f.requests()-before, f.Interceptor().Count("neutron.ShowRouter")-1)
}
