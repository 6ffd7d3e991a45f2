package nodeindex_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/nodeindex"
)

const byID = "by-id"

// ids indexes Nodes by their provider ID.
func ids(node *v1.Node) []string {
	if node.Spec.ProviderID == "" {
		return nil
	}

	return []string{node.Spec.ProviderID}
}

func newInformer(t *testing.T, nodes ...*v1.Node) cache.SharedIndexInformer {
	t.Helper()
	informer := informers.NewSharedInformerFactory(kubetest.NewClientset(), 0).Core().V1().Nodes().Informer()
	for _, node := range nodes {
		if err := informer.GetIndexer().Add(node); err != nil {
			t.Fatal(err)
		}
	}

	return informer
}

func newIndex(t *testing.T, informer cache.SharedIndexInformer) *nodeindex.Index {
	t.Helper()
	index, err := nodeindex.New(informer, byID, ids)
	if err != nil {
		t.Fatal(err)
	}

	return index
}

func names(nodes []*v1.Node) []string {
	var all []string
	for _, node := range nodes {
		all = append(all, node.Name)
	}
	slices.Sort(all)

	return all
}

// TestFind: Nodes are found by all that have a key, also those that come later.
func TestFind(t *testing.T) {
	t.Parallel()
	informer := newInformer(t, kubetest.Node("a", kubetest.ProviderID("x")), kubetest.Node("b", kubetest.ProviderID("x")), kubetest.Node("new"))
	index := newIndex(t, informer)
	if err := informer.GetIndexer().Add(kubetest.Node("c", kubetest.ProviderID("y"))); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string][]string{"x": {"a", "b"}, "y": {"c"}, "z": nil, "": nil} {
		if diff := cmp.Diff(want, names(index.Find(key))); diff != "" {
			t.Errorf("%q (-want +got):\n%s", key, diff)
		}
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "new"}, names(index.List())); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if node := index.Node("c"); node == nil || node.Spec.ProviderID != "y" {
		t.Errorf("got %v", node)
	}
	if node := index.Node("d"); node != nil {
		t.Errorf("want no Node, got %v", node)
	}
}

// TestHasSynced: an informer that does not run has not synced.
func TestHasSynced(t *testing.T) {
	t.Parallel()
	factory := informers.NewSharedInformerFactory(kubetest.NewClientset(kubetest.Node("a", kubetest.ProviderID("x"))), 0)
	index := newIndex(t, factory.Core().V1().Nodes().Informer())
	if index.HasSynced() {
		t.Error("synced before it runs")
	}
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	if !index.HasSynced() || len(index.Find("x")) != 1 {
		t.Errorf("synced: %t, found %v", index.HasSynced(), index.Find("x"))
	}
}

// TestShared: two of one informer share its index.
func TestShared(t *testing.T) {
	t.Parallel()
	informer := newInformer(t, kubetest.Node("a", kubetest.ProviderID("x")))
	for range 2 {
		if got := names(newIndex(t, informer).Find("x")); len(got) != 1 {
			t.Errorf("got %v", got)
		}
	}
}

// TestNil: an Index without an informer has no Nodes.
func TestNil(t *testing.T) {
	t.Parallel()
	var index *nodeindex.Index
	if index.HasSynced() || index.Node("a") != nil || index.Find("x") != nil || index.List() != nil {
		t.Error("a nil Index has Nodes")
	}
}
