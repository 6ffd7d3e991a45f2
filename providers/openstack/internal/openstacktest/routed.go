package openstacktest

import (
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/openstack"
)

// AddRoutedNetwork adds a network with the subnets 10.9.0.0/16 and fd00:9::/64, and returns
// the ID of their router.
func (c *Cloud) AddRoutedNetwork(name string) (router string) {
	id := c.AddNetwork(openstack.NetworkSpec{Name: name})
	var subnets []string
	for cidr, gateway := range map[string]string{"10.9.0.0/16": "10.9.0.1", "fd00:9::/64": "fd00:9::ffff"} {
		subnets = append(subnets, c.AddSubnet(openstack.SubnetSpec{Network: id, CIDR: cidr, Gateway: gateway}))
	}

	return c.AddRouter(openstack.RouterSpec{Name: "router", Subnets: subnets})
}

// NetworkOf returns the ID of the network of a router.
func (c *Cloud) NetworkOf(router string) string {
	p, _ := c.Port(c.ServerPorts(router)[0])

	return p.Network
}

// RoutedNodes are the Nodes of a cluster, which several processes watch.
type RoutedNodes struct {
	mu     sync.Mutex
	nodes  []*v1.Node
	stores []cache.Store // of the Nodes that processes know
}

// Watch has a process know the Nodes, whose informers have synced.
func (n *RoutedNodes) Watch(t testing.TB, factory informers.SharedInformerFactory) {
	t.Helper()
	store := factory.Core().V1().Nodes().Informer().GetStore()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stores = append(n.stores, store)
	n.fill(t, store)
}

// SetNodes changes the Nodes that all processes know.
func (n *RoutedNodes) SetNodes(t testing.TB, nodes []*v1.Node) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes = nodes
	for _, store := range n.stores {
		n.fill(t, store)
	}
}

// Joined returns the Nodes.
func (n *RoutedNodes) Joined() []*v1.Node {
	n.mu.Lock()
	defer n.mu.Unlock()

	return slices.Clone(n.nodes)
}

func (n *RoutedNodes) fill(t testing.TB, store cache.Store) {
	t.Helper()
	objects := make([]any, len(n.nodes))
	for i, node := range n.nodes {
		objects[i] = node.DeepCopy()
	}
	if err := store.Replace(objects, ""); err != nil {
		t.Fatal(err)
	}
}
