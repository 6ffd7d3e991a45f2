package instance

import (
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// probePeriod is how often the cloud is asked about waiting Nodes, and
	// probeTimeout bounds one round of it.
	probePeriod  = 5 * time.Second
	probeTimeout = 10 * time.Second
	// probeWorkers is how many waiting Nodes are described at the same time.
	probeWorkers = 8
)

// waiting are the uninitialized Nodes whose InstanceMetadata failed because the
// cloud did not answer. It is safe for concurrent use.
type waiting struct {
	// wake holds a token while there may be a Node.
	wake chan struct{}

	mu      sync.Mutex
	requeue func(nodeName string)
	nodes   map[string]waitingNode
}

// waitingNode is a Node that waits for the cloud.
type waitingNode struct {
	node *v1.Node
	ref  Ref
	// lookedUp says that the Lookup worked and a later call failed.
	lookedUp bool
}

// newWaiting returns an empty waiting.
func newWaiting() *waiting {
	return &waiting{wake: make(chan struct{}, 1), nodes: map[string]waitingNode{}}
}

// SetRequeue gives V2 the function that puts a Node back into the queue of the
// controller that initializes Nodes. It must return at once. Without one, Nodes
// wait for the queue's own backoff.
func (v *V2) SetRequeue(requeue func(nodeName string)) {
	v.waiting.mu.Lock()
	defer v.waiting.mu.Unlock()
	v.waiting.requeue = requeue
}

// Run queues uninitialized Nodes again once the cloud answers for them, until
// ctx ends. The queue of the framework backs off up to 1000 seconds for each
// Node, so that a Node which waited through an outage would stay uninitialized
// long after its end. While Nodes wait, one Lookup for all of them is made every
// five seconds; otherwise nothing is.
func (v *V2) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-v.waiting.wake:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(probePeriod):
		}
		v.probe(ctx)
	}
}

// probe requeues the Nodes for which the cloud answers again.
func (v *V2) probe(ctx context.Context) {
	nodes := v.waiting.list()
	if len(nodes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, v.opts.Timeout))
	defer cancel()
	refs := make([]Ref, len(nodes))
	for i, n := range nodes {
		refs[i] = n.ref
	}
	if results := v.source.Lookup(ctx, refs); len(results) == len(nodes) {
		workqueue.ParallelizeUntil(ctx, probeWorkers, len(nodes), func(i int) {
			if v.isAnswered(ctx, nodes[i], results[i]) {
				klog.FromContext(ctx).V(4).Info("Cloud answers again, queue node", "node", klog.KObj(nodes[i].node))
				v.waiting.release(nodes[i])
			}
		})
	}
	v.waiting.signal()
}

// isAnswered reports whether what failed for the Node is answered now. A Node
// that failed after its Lookup is described for that.
func (v *V2) isAnswered(ctx context.Context, n waitingNode, result Result) bool {
	result = v.found.note(result)
	if n.lookedUp && result.IsAbsent() {
		result = v.confirm(ctx, n.ref)
	}
	found, err := result.Get()
	if n.lookedUp && err == nil {
		_, err = v.source.Metadata(ctx, n.node, found)
	}

	return !unanswered(err)
}

// unanswered reports whether an error means that the cloud did not answer, or
// not to us.
func unanswered(err error) bool {
	if errors.Is(err, context.Canceled) {
		return true
	}
	switch apierr.Code(err) {
	case apierr.CodeUnavailable, apierr.CodeThrottled, apierr.CodeDenied, apierr.CodeTimeout:
		return true
	}

	return false
}

// note records how the InstanceMetadata of an uninitialized Node ended. LookedUp
// says that its Lookup worked.
func (w *waiting) note(node *v1.Node, ref Ref, err error, lookedUp bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !unanswered(err) {
		delete(w.nodes, node.Name)

		return
	}
	if _, known := w.nodes[node.Name]; w.requeue == nil || !known && len(w.nodes) >= memorySize {
		return
	}
	w.nodes[node.Name] = waitingNode{node: slim(node), ref: ref, lookedUp: lookedUp}
	w.signalLocked()
}

// slim returns the Node without the parts that are large and that no provider
// reads. The rest is shared.
func slim(node *v1.Node) *v1.Node {
	kept := *node
	kept.ManagedFields, kept.Status.Images = nil, nil

	return &kept
}

// list returns the Nodes that wait.
func (w *waiting) list() []waitingNode {
	w.mu.Lock()
	defer w.mu.Unlock()
	nodes := make([]waitingNode, 0, len(w.nodes))
	for _, n := range w.nodes {
		nodes = append(nodes, n)
	}

	return nodes
}

// release queues a Node, which no longer waits then. If it fails once more it
// waits again.
func (w *waiting) release(n waitingNode) {
	w.mu.Lock()
	requeue := w.requeue
	delete(w.nodes, n.node.Name)
	w.mu.Unlock()
	if requeue != nil {
		requeue(n.node.Name)
	}
}

// signal wakes Run if Nodes wait.
func (w *waiting) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.signalLocked()
}

// signalLocked is signal for callers that hold the lock.
func (w *waiting) signalLocked() {
	if len(w.nodes) == 0 {
		return
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
