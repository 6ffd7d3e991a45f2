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
	"time"

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
	handlers []registered
}

// registered is a handler with its registration.
type registered struct {
	cache.ResourceEventHandler

	registration cache.ResourceEventHandlerRegistration
}

// AddEventHandler implements cache.SharedInformer.
func (r *recorder) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := r.SharedIndexInformer.AddEventHandler(handler)

	return r.record(handler, registration, err)
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (r *recorder) AddEventHandlerWithResyncPeriod(
	handler cache.ResourceEventHandler, resyncPeriod time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := r.SharedIndexInformer.AddEventHandlerWithResyncPeriod(handler, resyncPeriod)

	return r.record(handler, registration, err)
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (r *recorder) AddEventHandlerWithOptions(
	handler cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	registration, err := r.SharedIndexInformer.AddEventHandlerWithOptions(handler, options)

	return r.record(handler, registration, err)
}

// RemoveEventHandler implements cache.SharedInformer.
func (r *recorder) RemoveEventHandler(registration cache.ResourceEventHandlerRegistration) error {
	r.mu.Lock()
	r.handlers = slices.DeleteFunc(r.handlers, func(h registered) bool { return h.registration == registration })
	r.mu.Unlock()

	return r.SharedIndexInformer.RemoveEventHandler(registration) //nolint:wrapcheck // it stands in for the informer
}

// record records a handler that was added, and returns what adding it returned.
func (r *recorder) record(
	handler cache.ResourceEventHandler, registration cache.ResourceEventHandlerRegistration, err error,
) (cache.ResourceEventHandlerRegistration, error) {
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.handlers = append(r.handlers, registered{handler, registration})
	}

	return registration, err
}

// list returns the handlers that are registered.
func (r *recorder) list() []registered {
	r.mu.Lock()
	defer r.mu.Unlock()

	return slices.Clone(r.handlers)
}
