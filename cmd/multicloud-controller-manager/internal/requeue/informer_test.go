package requeue_test

import (
	"testing"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/multicloud-ccm/multicloud-ccm/cmd/multicloud-controller-manager/internal/requeue"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/kubetest"
)

// TestRequeueCallsEveryHandler: a handler is called whichever method added it,
// until it is removed.
func TestRequeueCallsEveryHandler(t *testing.T) {
	t.Parallel()

	type informer = cache.SharedIndexInformer
	for name, add := range map[string]func(informer, cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error){
		"AddEventHandler": func(i informer, h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
			return i.AddEventHandler(h)
		},
		"AddEventHandlerWithResyncPeriod": func(i informer, h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
			return i.AddEventHandlerWithResyncPeriod(h, time.Hour)
		},
		"AddEventHandlerWithOptions": func(i informer, h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
			return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := informers.NewSharedInformerFactory(kubetest.NewClientset(), 0).Core().V1().Nodes()
			if err := shared.Informer().GetStore().Add(kubetest.Node("one")); err != nil {
				t.Fatal(err)
			}
			nodes, calls := requeue.New(shared), 0
			registration, err := add(nodes.Informer(), cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { calls++ }})
			if err != nil {
				t.Fatal(err)
			}
			nodes.Requeue("one")
			if calls != 1 {
				t.Errorf("the handler was called %d times", calls)
			}
			if err := nodes.Informer().RemoveEventHandler(registration); err != nil {
				t.Fatal(err)
			}
			nodes.Requeue("one")
			if calls != 1 {
				t.Errorf("the removed handler was called")
			}
		})
	}
}
