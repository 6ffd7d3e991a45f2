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
	// probePeriod is how often the cloud is asked about waiting Nodes. Rounds
	// overlap: one that hangs must not delay the next, which may be the first
	// that is answered.
	probePeriod = 5 * time.Second
	// probeWorkers is how many waiting Nodes a round describes at the same time.
	probeWorkers = 8
	// attemptTimeout bounds the first InstanceMetadata of an uninitialized Node,
	// so that it is one of the waiting Nodes soon.
	attemptTimeout = 10 * time.Second
	// releasedAge is how long a Node is known to have been queued again.
	releasedAge = 10 * time.Minute
)

// waiting are the uninitialized Nodes whose InstanceMetadata failed because the
// cloud did not answer. It is safe for concurrent use.
type waiting struct {
	// wake holds a token while Nodes may wait.
	wake chan struct{}

	mu      sync.Mutex
	requeue func(nodeName string)
	running int
	nodes   map[string]waitingNode
}

// waitingNode is a Node that waits for the cloud.
type waitingNode struct {
	node *v1.Node
	ref  Ref
	// lookedUp says that the Lookup worked and a later call failed.
	lookedUp bool
	// err is what the last attempt failed with.
	err error
	// released is when the Node was queued again. It is zero while it waits.
	released time.Time
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
// five seconds, and InstanceMetadata fails for them at once: workers must not
// wait for a cloud that does not answer while others do.
func (v *V2) Run(ctx context.Context) {
	v.waiting.run(1)
	defer v.waiting.run(-1)
	var probes sync.WaitGroup
	defer probes.Wait()
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
		if nodes := v.waiting.list(); len(nodes) > 0 {
			probes.Go(func() { v.probe(ctx, nodes) }) // it ends at its deadline
			v.waiting.signal()
		}
	}
}

// probe requeues those of the Nodes for which the cloud answers again.
func (v *V2) probe(ctx context.Context, nodes []waitingNode) {
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()
	refs := make([]Ref, len(nodes))
	for i, n := range nodes {
		refs[i] = n.ref
	}
	results := v.source.Lookup(ctx, refs)
	if len(results) != len(nodes) {
		return
	}
	workqueue.ParallelizeUntil(ctx, probeWorkers, len(nodes), func(i int) {
		if v.isAnswered(ctx, nodes[i], results[i]) {
			klog.FromContext(ctx).V(4).Info("Cloud answers again, queue node", "node", klog.KObj(nodes[i].node))
			v.waiting.release(nodes[i])
		}
	})
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

// run counts the callers of Run.
func (w *waiting) run(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running += n
}

// begin returns the last error of a Node that waits, which is not to be asked for
// by itself now, or else how long its InstanceMetadata may take.
func (w *waiting) begin(node *v1.Node, timeout time.Duration) (time.Duration, error) {
	if Initialised(node) {
		return timeout, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n, known := w.nodes[node.Name]
	switch {
	case w.running == 0 || w.requeue == nil, known && !n.released.IsZero():
		return timeout, nil
	case known && n.node.UID == node.UID:
		return 0, n.err
	}

	return min(timeout, attemptTimeout), nil
}

// end records how the InstanceMetadata of a Node ended. LookedUp says that its
// Lookup worked.
func (w *waiting) end(node *v1.Node, ref Ref, err error, lookedUp bool) {
	if Initialised(node) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !unanswered(err) {
		delete(w.nodes, node.Name)

		return
	}
	if _, known := w.nodes[node.Name]; w.requeue == nil || !known && len(w.nodes) >= memorySize {
		return
	}
	w.nodes[node.Name] = waitingNode{node: slim(node), ref: ref, lookedUp: lookedUp, err: err}
	w.signal()
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
	for name, n := range w.nodes {
		switch {
		case n.released.IsZero():
			nodes = append(nodes, n)
		case time.Since(n.released) > releasedAge:
			delete(w.nodes, name) // the Node went away meanwhile
		}
	}

	return nodes
}

// release queues a Node, which no longer waits then. If it fails once more it
// waits again.
func (w *waiting) release(n waitingNode) {
	w.mu.Lock()
	requeue, now := w.requeue, w.nodes[n.node.Name]
	waits := now.node == n.node && now.released.IsZero() // and is not the one of a later failure
	if waits {
		now.released = time.Now()
		w.nodes[n.node.Name] = now
	}
	w.mu.Unlock()
	if waits && requeue != nil {
		requeue(n.node.Name)
	}
}

// signal makes Run look for Nodes that wait.
func (w *waiting) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
