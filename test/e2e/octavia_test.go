package e2e

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// Annotations of Services.
const (
	octaviaID       = "loadbalancer.openstack.org/load-balancer-id"
	octaviaAddress  = "loadbalancer.openstack.org/load-balancer-address"
	octaviaInternal = "service.beta.kubernetes.io/openstack-internal-load-balancer"
)

// publicNetwork is the ID of the external network.
const publicNetwork = "0f0c6a0e-8f6a-4c5e-9d43-5a4b1f1c3a11"

// addNetworks makes the network of the servers, which a router connects with an external
// one, and returns the ID of the router. It must be called before there are servers.
func addNetworks(cloud *openstack.Cloud) string {
	inside := cloud.AddNetwork(openstack.NetworkSpec{Name: "cluster"})
	subnet := cloud.AddSubnet(openstack.SubnetSpec{Network: inside, CIDR: "10.0.0.0/16"})
	external := cloud.AddNetwork(openstack.NetworkSpec{ID: publicNetwork, Name: "public", External: true, Project: openstack.ProjectOther})
	cloud.AddSubnet(openstack.SubnetSpec{Network: external, CIDR: "203.0.113.0/24"})

	return cloud.AddRouter(openstack.RouterSpec{Name: "router", External: external, Subnets: []string{subnet}})
}

// served returns an error for everything that a Service does not have as specified, with
// those Nodes: that what clients reach at its address are the Nodes.
func (p *project) served(service *v1.Service, nodes ...string) error {
	ingress := service.Status.LoadBalancer.Ingress
	if len(ingress) != 1 || ingress[0].IP == "" {
		return fmt.Errorf("its status is %+v", service.Status.LoadBalancer)
	}
	for _, port := range service.Spec.Ports {
		var want []string
		for _, name := range nodes {
			want = append(want, net.JoinHostPort(p.addresses[name], strconv.Itoa(int(port.NodePort))))
		}
		slices.Sort(want)
		got := p.ServedBy(ingress[0].IP, string(port.Protocol), int(port.Port))
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("port %d is not served as it should be (-want +got):\n%s", port.Port, diff)
		}
	}

	return nil
}

// awaitOctavia waits until Services are served by these Nodes.
func (c *cluster) awaitOctavia(t *testing.T, p *project, services []string, nodes ...string) {
	t.Helper()
	for _, name := range services {
		await(t, "service "+name+" to be served", func(ctx context.Context) error {
			service, err := c.services().Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}

			return p.served(service, nodes...)
		})
	}
}

// wantNoLeaks checks that nothing is left of what processes have made.
func (p *project) wantNoLeaks(t *testing.T) {
	t.Helper()
	for _, left := range p.Leaks() {
		t.Errorf("left in the cloud: %s", left)
	}
}

// OS-LB-1, OS-LB-14, OS-LB-15, OS-LB-17, OS-LB-20: the life of Services, from the first sync
// to the end of their finalizers, after which nothing is left: an external one, an internal
// one, and one that shares the load balancer of the first.
func TestOctaviaServices(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	p := c.startProject(t, "a", "b")
	config := writeConfig(t, p.config()+"[LoadBalancer]\ncreate-monitor = true\n")
	c.run(t, config)
	c.awaitInitialized(t, "a", "b")

	inside := newService("inside", classic, 80)
	annotate(octaviaInternal, "true")(inside)
	c.create(t, newService("outside", classic, 80, 443), inside)
	own := []string{"outside", "inside"}
	c.awaitOctavia(t, p, own, "a", "b")
	outside := c.service(t, "outside")
	if got := outside.Annotations[octaviaAddress]; got != outside.Status.LoadBalancer.Ingress[0].IP || outside.Annotations[octaviaID] == "" {
		t.Errorf("the annotations are %v, the status is %v", outside.Annotations, outside.Status)
	}

	t.Log("another Service uses the load balancer")
	shared := newService("shared", classic, 8080)
	annotate(octaviaID, outside.Annotations[octaviaID])(shared)
	c.create(t, shared)
	all := []string{"outside", "inside", "shared"}
	c.awaitOctavia(t, p, all, "a", "b")
	if n := len(p.LoadBalancers()); n != 2 {
		t.Errorf("there are %d load balancers, want 2", n)
	}

	t.Log("a port goes, another one comes")
	c.change(t, func(service *v1.Service) { service.Spec.Ports[1] = servicePort(8443) }, "outside")
	c.awaitOctavia(t, p, all, "a", "b")

	t.Log("a Node comes, another one goes")
	c.join(t, p.add("c"))
	c.awaitOctavia(t, p, all, "a", "b", "c")
	if err := c.Client().CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitOctavia(t, p, all, "b", "c")

	t.Log("the owner goes, the load balancer stays")
	c.remove(t, "outside")
	c.awaitRemoved(t, "outside")
	c.awaitOctavia(t, p, []string{"shared", "inside"}, "b", "c")
	c.remove(t, "shared", "inside")
	c.awaitRemoved(t, "shared", "inside")
	p.wantNoLeaks(t)
}
