//go:build openstackservices

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/routers"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/controlplane"
	"github.com/multicloud-ccm/multicloud-ccm/test/openstackservices"
)

// podRange is the range of the Pods of all Nodes.
const podRange = "10.244.0.0/16"

// services are real OpenStack services.
type services struct{ *openstackservices.Services }

// OS-NODE-3, OS-LB-1, OS-LB-14, OS-LB-17, OS-LB-20, OS-LB-22, OS-ROUTE-4: the process with the
// cloud.conf of real OpenStack services. Their servers become Nodes with routes, and a Service
// is served from its creation to the end of its finalizer, after which nothing is left.
func TestOpenStackServices(t *testing.T) {
	found, err := openstackservices.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(found.Close)
	s := services{found}
	nodes := []string{"node-1", "node-2", "node-3"}
	want := s.servers(t, nodes)
	c := startCluster(t)
	cidrs := map[string]string{}
	for i, name := range nodes {
		c.join(t, controlplane.NodeSpec{Name: name})
		cidrs[name] = fmt.Sprintf("10.244.%d.0/24", i+1)
		patch := fmt.Appendf(nil, `{"spec":{"podCIDR":%[1]q,"podCIDRs":[%[1]q]}}`, cidrs[name])
		if _, err := c.Client().CoreV1().Nodes().Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	c.run(t, writeConfig(t, s.Text), "--cloud-provider=openstack", "--configure-cloud-routes", "--cluster-cidr="+podRange)
	c.awaitInitialized(t, nodes...)
	addresses := map[string]string{}
	for _, name := range nodes {
		node := c.node(t, name)
		if id := "openstack:///" + want[name]; node.Spec.ProviderID != id || node.Labels[v1.LabelTopologyRegion] != s.Config.Global.Region {
			t.Errorf("node %s: provider ID %s, want %s, labels %v", name, node.Spec.ProviderID, id, node.Labels)
		}
		i := slices.IndexFunc(node.Status.Addresses, func(a v1.NodeAddress) bool { return a.Type == v1.NodeInternalIP })
		addresses[name] = node.Status.Addresses[i].Address
	}
	s.awaitRoutes(t, addresses, cidrs, nodes...)

	t.Log("a Service is served")
	c.create(t, newService("outside", classic, 80, 443))
	var service *v1.Service
	await(t, "an address of the Service", func(ctx context.Context) error {
		var err error
		service, err = c.services().Get(ctx, "outside", metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) != 1 {
			err = fmt.Errorf("its status is %+v", service.Status.LoadBalancer)
		}

		return err
	})
	address := service.Status.LoadBalancer.Ingress[0].IP
	if service.Annotations[octaviaAddress] != address {
		t.Errorf("the annotations are %v, the address is %s", service.Annotations, address)
	}
	s.awaitMembers(t, service, addresses, nodes...)

	t.Log("a port goes, another one comes, and a Node goes")
	c.change(t, func(service *v1.Service) { service.Spec.Ports[1] = servicePort(8443) }, "outside")
	if err := c.Client().CoreV1().Nodes().Delete(t.Context(), nodes[0], metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	s.awaitMembers(t, c.service(t, "outside"), addresses, nodes[1:]...)
	s.awaitRoutes(t, addresses, cidrs, nodes[1:]...)

	t.Log("all ends")
	c.remove(t, "outside")
	c.awaitRemoved(t, "outside")
	_, err = loadbalancers.Get(t.Context(), s.LoadBalancer, service.Annotations[octaviaID]).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("the load balancer is left: %v", err)
	}
	pages, err := floatingips.List(s.Network, floatingips.ListOpts{FloatingIP: address}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if empty, err := pages.IsEmpty(); !empty || err != nil {
		t.Errorf("the floating IP is left, %v", err)
	}
	for _, name := range nodes[1:] {
		if err := c.Client().CoreV1().Nodes().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitRoutes(t, addresses, cidrs)
}

// servers returns the IDs of servers by their names.
func (s services) servers(t *testing.T, names []string) map[string]string {
	t.Helper()
	ids := map[string]string{}
	for _, name := range names {
		pages, err := servers.List(s.Compute, servers.ListOpts{Name: "^" + name + "$"}).AllPages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		found, err := servers.ExtractServers(pages)
		if err != nil || len(found) != 1 {
			t.Fatalf("there are %d servers %s, want one: %v", len(found), name, err)
		}
		ids[name] = found[0].ID
	}

	return ids
}

// awaitRoutes waits until the routes to Pods are those of the Nodes.
func (s services) awaitRoutes(t *testing.T, addresses, cidrs map[string]string, nodes ...string) {
	t.Helper()
	var want []string
	for _, name := range nodes {
		want = append(want, cidrs[name]+" via "+addresses[name])
	}
	await(t, "routes to the Nodes", func(ctx context.Context) error {
		router, err := routers.Get(ctx, s.Network, s.Config.Route.RouterID).Extract()
		if err != nil {
			return err
		}
		var got []string
		for _, route := range router.Routes {
			if strings.HasPrefix(route.DestinationCIDR, "10.244.") {
				got = append(got, route.DestinationCIDR+" via "+route.NextHop)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("they differ (-want +got):\n%s", diff)
		}

		return nil
	})
}

// awaitMembers waits until each port of a Service has a pool with the Nodes.
func (s services) awaitMembers(t *testing.T, service *v1.Service, addresses map[string]string, nodes ...string) {
	t.Helper()
	want := map[string]int{}
	for _, port := range service.Spec.Ports {
		for _, name := range nodes {
			want[fmt.Sprintf("%s:%d", addresses[name], port.NodePort)]++
		}
	}
	await(t, "members of the load balancer", func(ctx context.Context) error {
		pages, err := pools.List(s.LoadBalancer, pools.ListOpts{LoadbalancerID: service.Annotations[octaviaID]}).AllPages(ctx)
		if err != nil {
			return err
		}
		all, err := pools.ExtractPools(pages)
		got := map[string]int{}
		for _, pool := range all {
			rows, listErr := pools.ListMembers(s.LoadBalancer, pool.ID, nil).AllPages(ctx)
			if listErr != nil {
				return listErr
			}
			members, listErr := pools.ExtractMembers(rows)
			for _, m := range members {
				got[fmt.Sprintf("%s:%d", m.Address, m.ProtocolPort)]++
			}
			err = errors.Join(err, listErr)
		}
		if diff := cmp.Diff(want, got); diff != "" && err == nil {
			err = fmt.Errorf("they differ (-want +got):\n%s", diff)
		}

		return err
	})
}
