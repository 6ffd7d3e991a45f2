package instance

import (
	"errors"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// outcomeAge is how long the outcome for a Node that was queued again is
	// kept. A Node that comes later is described anew.
	outcomeAge = time.Minute
	// unresponsivePeriod is how long a cloud that did not respond for a Node
	// makes callers wait less. It is longer than the time between two attempts.
	unresponsivePeriod = 30 * time.Second
)

// errPending is the error of a Node whose first attempt still runs.
var errPending = apierr.Mark(apierr.ErrUnavailable,
	errors.New("the cloud has not responded yet, the node is queued again when it does"))

// waiting are the uninitialized Nodes that are described in the background. It is
// safe for concurrent use.
type waiting struct {
	clock clock.PassiveClock
	// added holds a token when a Node was added.
	added chan struct{}

	mu      sync.Mutex
	requeue func(nodeName string)
	nodes   map[string]*waitingNode
	// unresponsiveSince is when the cloud last did not respond for a Node; zero
	// after it has responded for all of them.
	unresponsiveSince time.Time
	// late are the nodes for which it has not responded in time.
	late sets.Set[*waitingNode]
}

// waitingNode is a Node from its first InstanceMetadata until the controller has
// the outcome. Its fields but the first four are guarded by the lock of waiting.
type waitingNode struct {
	node *v1.Node
	ref  Ref
	// attempted is closed when the first attempt has ended.
	attempted chan struct{}
	// step is how long each call of the next attempt may take, Options.StepTimeout if it is
	// zero. Only an attempt changes it.
	step time.Duration

	// started means that there was an attempt, running that one runs now.
	started, running bool
	// waits means that the controller got an error and must queue the Node
	// again.
	waits bool
	// err is what the last attempt failed with.
	err error
	// outcome is set by the attempt that the cloud responded to.
	outcome *outcome
}

// outcome is what InstanceMetadata returns for a Node.
type outcome struct {
	metadata *cloudprovider.InstanceMetadata
	err      error
	at       time.Time
}

// newWaiting returns an empty waiting.
func newWaiting(clk clock.PassiveClock) *waiting {
	return &waiting{clock: clk, added: make(chan struct{}, 1), nodes: map[string]*waitingNode{}, late: sets.New[*waitingNode]()}
}

// add returns the entry of a Node, which is a new one unless the same Node waits
// already, and how long its caller may wait for the first attempt. Without an
// entry the caller must do everything itself: nothing queues Nodes again, or too
// many wait.
func (w *waiting) add(node *v1.Node, ref Ref) (*waitingNode, time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.requeue == nil {
		return nil, 0
	}
	known := w.nodes[node.Name]
	if known != nil && known.node.UID == node.UID && known.ref == ref && !w.expired(known) {
		return known, 0
	}
	if known == nil && len(w.nodes) >= maxTracked {
		return nil, 0
	}
	patience := firstPatience
	if !w.unresponsiveSince.IsZero() && w.clock.Since(w.unresponsiveSince) < unresponsivePeriod {
		patience = laterPatience
	}
	w.late.Delete(known)
	n := &waitingNode{node: slim(node), ref: ref, attempted: make(chan struct{}), err: errPending}
	w.nodes[node.Name] = n
	select {
	case w.added <- struct{}{}:
	default:
	}

	return n, patience
}

// expired reports whether a Node has an outcome that is too old. Callers hold the
// lock.
func (w *waiting) expired(n *waitingNode) bool {
	return n.outcome != nil && w.clock.Since(n.outcome.at) > outcomeAge
}

// take removes a Node that has an outcome and returns that. Otherwise the Node is
// queued again once it has one, and the last error is returned. A caller that had
// little patience does not know whether the cloud responds.
func (w *waiting) take(n *waitingNode, patience time.Duration) (*cloudprovider.InstanceMetadata, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.outcome == nil {
		n.waits = true
		if patience >= firstPatience {
			w.isLate(n)
		}

		return nil, n.err
	}
	if w.nodes[n.node.Name] != n {
		return nil, errPending // another caller has it
	}
	delete(w.nodes, n.node.Name)

	return n.outcome.metadata, n.outcome.err
}

// begin returns the Nodes that are to be attempted now: the new ones, or all that
// have no outcome. A Node whose last attempt still runs is left out.
func (w *waiting) begin(onlyNew bool) []*waitingNode {
	w.mu.Lock()
	defer w.mu.Unlock()
	var nodes []*waitingNode
	for name, n := range w.nodes {
		if w.expired(n) {
			delete(w.nodes, name) // the Node went away meanwhile
		}
		if n.outcome != nil || n.running || onlyNew && n.started {
			continue
		}
		n.started, n.running = true, true
		nodes = append(nodes, n)
	}

	return nodes
}

// end records how an attempt ended, and queues the Node again if that is an
// outcome and the controller no longer waits for it.
func (w *waiting) end(n *waitingNode, metadata *cloudprovider.InstanceMetadata, err error) {
	w.mu.Lock()
	n.running, n.err = false, err
	if noResponse(err) {
		w.isLate(n)
	} else {
		n.outcome = &outcome{metadata: metadata, err: err, at: w.clock.Now()}
		w.isOnTime(n)
	}
	select {
	case <-n.attempted:
	default:
		close(n.attempted)
	}
	requeue := w.requeue
	queued := n.waits && n.outcome != nil && w.nodes[n.node.Name] == n
	w.mu.Unlock()
	if queued && requeue != nil {
		requeue(n.node.Name)
	}
}

// isLate makes callers wait less, as the cloud did not respond in time for a Node.
// Callers hold the lock.
func (w *waiting) isLate(n *waitingNode) {
	w.unresponsiveSince = w.clock.Now()
	if w.nodes[n.node.Name] == n {
		w.late.Insert(n)
	}
}

// isOnTime makes callers wait as at first if the cloud has responded for all Nodes.
// Callers hold the lock.
func (w *waiting) isOnTime(n *waitingNode) {
	if w.late.Delete(n); w.late.Len() == 0 {
		w.unresponsiveSince = time.Time{}
	}
}

// slim returns the Node without the parts that are large and that no provider
// reads. The rest is shared.
func slim(node *v1.Node) *v1.Node {
	kept := *node
	kept.ManagedFields, kept.Status.Images = nil, nil

	return &kept
}
