// Package requeue puts a Node back into the queue of the framework's controller
// that initializes Nodes.
//
// That controller has no method for it. It enqueues a Node for each event of its
// informer, and a fresh event is handled at once, whatever the backoff of the
// Node. [Informer] stands between the two and repeats the last event on request,
// which costs no call of the Kubernetes API.
package requeue

import (
	"slices"
	"sync"

	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Informer is a Node informer for one controller, whose event handlers it
// records. It is safe for concurrent use.
type Informer struct {
	coreinformers.NodeInformer

	shared *recorder
}

var _ coreinformers.NodeInformer = (*Informer)(nil)

// New returns an Informer on top of the one that all controllers share. Handlers
// that others add to that one are not called again.
func New(nodes coreinformers.NodeInformer) *Informer {
	return &Informer{NodeInformer: nodes, shared: &recorder{SharedIndexInformer: nodes.Informer()}}
}

// Informer returns the shared informer, which records the handlers added to it.
func (i *Informer) Informer() cache.SharedIndexInformer { return i.shared }

// Requeue calls the recorded handlers with an update of the Node that changes
// nothing. A Node that is gone is left out. It must not be called from a handler.
func (i *Informer) Requeue(nodeName string) {
	node, err := i.Lister().Get(nodeName)
	if err != nil {
		klog.V(4).InfoS("Node is not queued again, it is gone", "node", klog.KRef("", nodeName))

		return
	}
	for _, handler := range i.shared.list() {
		handler.OnUpdate(node, node)
	}
}

// recorder is a shared informer that records the handlers added through it.
type recorder struct {
	cache.SharedIndexInformer

	mu       sync.Mutex
	handlers []cache.ResourceEventHandler
}

// AddEventHandler implements cache.SharedInformer. It is the method that the
// controller uses.
func (r *recorder) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := r.SharedIndexInformer.AddEventHandler(handler)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.handlers = append(r.handlers, handler)
	}

	return registration, err
}

// list returns the handlers recorded so far.
func (r *recorder) list() []cache.ResourceEventHandler {
	r.mu.Lock()
	defer r.mu.Unlock()

	return slices.Clip(r.handlers)
}
