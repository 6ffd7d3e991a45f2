package kubetest

import (
	"slices"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// WatchedNodes are the Nodes of a cluster, which several processes watch.
type WatchedNodes struct {
	mu     sync.Mutex
	nodes  []*v1.Node
	stores []cache.Store // of the Nodes that processes know
}

// Watch has a process know the Nodes, whose informers have synced.
func (n *WatchedNodes) Watch(t testing.TB, factory informers.SharedInformerFactory) {
	t.Helper()
	store := factory.Core().V1().Nodes().Informer().GetStore()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stores = append(n.stores, store)
	n.fill(t, store)
}

// SetNodes changes the Nodes that all processes know.
func (n *WatchedNodes) SetNodes(t testing.TB, nodes []*v1.Node) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nodes = nodes
	for _, store := range n.stores {
		n.fill(t, store)
	}
}

// Joined returns the Nodes.
func (n *WatchedNodes) Joined() []*v1.Node {
	n.mu.Lock()
	defer n.mu.Unlock()

	return slices.Clone(n.nodes)
}

func (n *WatchedNodes) fill(t testing.TB, store cache.Store) {
	t.Helper()
	objects := make([]any, len(n.nodes))
	for i, node := range n.nodes {
		objects[i] = node.DeepCopy()
	}
	if err := store.Replace(objects, ""); err != nil {
		t.Fatal(err)
	}
}
