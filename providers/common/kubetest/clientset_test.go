package kubetest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestClientset: it stores what is written, and watches see it.
func TestClientset(t *testing.T) {
	t.Parallel()

	clientset := kubetest.NewClientset(kubetest.Node("n1"))
	nodes := kubernetes.Interface(clientset).CoreV1().Nodes()
	watcher, err := nodes.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	seen := func(want watch.EventType, name string) *v1.Node {
		t.Helper()
		select {
		case event := <-watcher.ResultChan():
			node, ok := event.Object.(*v1.Node)
			if !ok || event.Type != want || node.Name != name {
				t.Fatalf("event %v, want %s %s", event, want, name)
			}

			return node
		case <-time.After(5 * time.Minute):
			t.Fatalf("no event, want %s %s", want, name)
		}

		return nil
	}
	seen(watch.Added, "n1")
	if _, err := nodes.Create(t.Context(), kubetest.Node("n2"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	seen(watch.Added, "n2")
	patch := []byte(`{"spec":{"providerID":"sim://n1"}}`)
	if _, err := nodes.Patch(t.Context(), "n1", types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	want := kubetest.Node("n1", kubetest.ProviderID("sim://n1"))
	if diff := cmp.Diff(want, seen(watch.Modified, "n1"), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("a patch changes what it contains: %s", diff)
	}
	if err := nodes.Delete(t.Context(), "n2", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	seen(watch.Deleted, "n2")
	if _, err := nodes.Get(t.Context(), "n2", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a deleted Node is not found: %v", err)
	}
	stored, err := clientset.Tracker().Get(v1.SchemeGroupVersion.WithResource("nodes"), "", "n1")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, stored, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the tracker has what was written: %s", diff)
	}
}
