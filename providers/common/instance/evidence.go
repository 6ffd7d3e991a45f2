package instance

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// evidence records that the instance of a Node was found, in whatever state, so
// that the configuration names the region, account or server of the cluster.
// Without it a missing instance proves nothing. It is safe for concurrent use.
type evidence struct {
	clock   clock.PassiveClock
	since   func() time.Time
	metrics *metrics.Recorder

	mu sync.Mutex
	// found is when an instance was last found.
	found time.Time
	// shown is whether the metric has a value.
	shown bool
}

// newEvidence returns evidence of nothing.
func newEvidence(opts Options) *evidence {
	return &evidence{clock: opts.Clock, since: opts.EvidenceSince, metrics: opts.Metrics}
}

// begin sets the metric. A process that is not the leader looks for no
// instance and must not report that it found none.
func (e *evidence) begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.shown = e.metrics != nil
	e.show()
}

// note takes a result as evidence unless another account or server could return
// it as well. It returns the result with a terminated instance counted as absent.
func (e *evidence) note(r Result) Result {
	if _, err := r.Get(); err == nil && !r.byName {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.found = e.clock.Now()
		e.show()
	}

	return r.living()
}

// proven reports whether there is evidence.
func (e *evidence) proven() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.show()

	return e.holds()
}

// holds is proven for callers that hold the lock.
func (e *evidence) holds() bool {
	return !e.found.IsZero() && (e.since == nil || !e.found.Before(e.since()))
}

// show updates the metric. Callers hold the lock.
func (e *evidence) show() {
	if e.shown {
		e.metrics.NodeInstanceFound(e.holds())
	}
}
