package instance

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// A Node is described at most attemptPeriod and the time of one step after the cloud
// responds again: an attempt that began before can hang that long. These are
// times of the runtime and not of Options.Clock, as are all deadlines.
const (
	// attemptPeriod is how often waiting Nodes are attempted.
	attemptPeriod = 5 * time.Second
	// firstPatience is how long InstanceMetadata waits for the first attempt for
	// a Node.
	firstPatience = 5 * time.Second
	// laterPatience is the same while a cloud does not respond for other Nodes. It is
	// short, so that many Nodes of a cloud that hangs do not occupy the workers of the
	// controller.
	laterPatience = 100 * time.Millisecond
)

// SetRequeue sets the function that puts a Node back into the queue of the
// controller that initializes Nodes. It must return at once, and [V2.Run] must be
// called, before or after. Without the function, Nodes wait for the queue's own
// backoff.
func (v *V2) SetRequeue(requeue func(nodeName string)) {
	v.waiting.mu.Lock()
	defer v.waiting.mu.Unlock()
	v.waiting.requeue = requeue
}

// Run describes uninitialized Nodes in the background until ctx ends. The queue
// of the framework backs off up to 1000 seconds for each Node, so that a Node
// which waited through an outage would stay uninitialized long after its end.
//
// Each Node is attempted by itself, at once and then every five seconds until the
// cloud responds. The Node is queued again then, and its next InstanceMetadata
// returns the outcome without a call: no worker of the controller waits for a
// cloud that does not respond while others do.
func (v *V2) Run(ctx context.Context) {
	v.found.begin()
	if v.opts.Metrics != nil {
		v.opts.Metrics.NodeDeletionsHeld(v.guard.holds)
	}
	var attempts sync.WaitGroup
	defer attempts.Wait()
	rounds := time.NewTicker(attemptPeriod)
	defer rounds.Stop()
	for {
		onlyNew := false
		select {
		case <-ctx.Done():
			return
		case <-v.waiting.added:
			onlyNew = true
		case <-rounds.C:
		}
		for _, n := range v.waiting.begin(onlyNew) {
			attempts.Go(func() { v.attempt(ctx, n) }) // it ends at its deadline
		}
	}
}

// attempt describes the instance of a waiting Node.
func (v *V2) attempt(ctx context.Context, n *waitingNode) {
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()
	step := cmp.Or(n.step, v.opts.StepTimeout)
	metadata, err := v.metadataOf(ctx, n.node, n.ref, step)
	if errors.Is(err, context.DeadlineExceeded) {
		n.step = min(2*step, v.opts.Timeout)
	}
	v.waiting.end(n, metadata, err)
}

// uninitializedMetadata returns what an attempt found out about an uninitialized
// Node, or the last error while there is nothing.
func (v *V2) uninitializedMetadata(ctx context.Context, node *v1.Node, ref Ref) (*cloudprovider.InstanceMetadata, error) {
	n, patience := v.waiting.add(node, ref)
	if n == nil {
		return v.metadataNow(ctx, node, ref)
	}
	if patience > 0 {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		select {
		case <-n.attempted:
		case <-ctx.Done():
		}
	}

	return v.waiting.take(n, patience)
}

// noResponse reports whether an error means that the cloud did not respond, or
// not to us.
func noResponse(err error) bool {
	if errors.Is(err, context.Canceled) {
		return true
	}
	switch apierr.Code(err) {
	case apierr.CodeUnavailable, apierr.CodeThrottled, apierr.CodeDenied, apierr.CodeTimeout:
		return true
	}

	return false
}
