package instance

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/metrics"
)

// Why a Node is kept although its instance is missing.
var (
	errNoProviderID = WithReason(ReasonInstanceNotFound, errors.New(
		"no instance fits the name or system UUID of this Node. Without spec.providerID it is kept: delete it if its machine is gone"))
	errKeepMissing = WithReason(ReasonInstanceNotFound, errors.New(
		"the instance is missing. The Node is kept because deleting nodes is switched off"))
	errYoung        = errors.New("the node is new, the instance may not be visible yet")
	errNothingFound = WithReason(ReasonNoInstanceFound, errors.New(
		"the instance is missing, and no instance of any Node has been found since the start. The Node is kept until one is found: "+
			"check that the cloud-config names the region, account or server of this cluster"))
)

// keptKey is one reason to keep one Node.
type keptKey struct {
	node   nodeKey
	reason error
}

// alwaysKept is why the Node is kept whatever the cloud says, or nil.
func (v *V2) alwaysKept(ref Ref) error {
	switch {
	case ref.ProviderID == "" && !v.opts.DeleteByName:
		return errNoProviderID
	case v.opts.KeepMissing:
		return errKeepMissing
	}

	return nil
}

// existsMissing decides about a Node whose instance the cloud has just confirmed
// to be missing. Gone says that it is not one that is not visible yet.
func (v *V2) existsMissing(ctx context.Context, node *v1.Node, ref Ref, gone bool) (bool, error) {
	if !gone && v.young(node) {
		v.keep(ctx, node, ref, errYoung)

		return true, nil
	}
	if !v.found.seen.Load() {
		return false, v.report(node, fmt.Errorf("find instance %s: %w", ref, errNothingFound))
	}
	klog.FromContext(ctx).V(2).Info("Instance of node is gone", "node", klog.KObj(node), "instance", ref)

	return false, nil
}

// young reports whether the Node's instance may not be visible yet.
func (v *V2) young(node *v1.Node) bool {
	return node.CreationTimestamp.IsZero() || v.opts.Clock.Since(node.CreationTimestamp.Time) < v.opts.MinAge
}

// keep logs once why the Node is kept, and warns on it where a user can act.
func (v *V2) keep(ctx context.Context, node *v1.Node, ref Ref, reason error) {
	now := v.opts.Clock.Now()
	if v.kept.claim(keptKey{keyOf(node), reason}, now, now.Add(time.Duration(math.MaxInt64))) {
		klog.FromContext(ctx).Info("Node is kept although its instance is missing",
			"node", klog.KObj(node), "instance", ref, "reason", reason)
	}
	v.events.warn(node, reason)
}

// evidence is whether an instance of any Node was found since the start, in
// whatever state. Without it a missing instance proves nothing.
type evidence struct {
	seen    atomic.Bool
	metrics *metrics.Recorder
}

// begin reports that nothing was found yet.
func (e *evidence) begin() {
	if e.metrics != nil {
		e.metrics.NodeInstanceFound(false)
	}
}

// note takes a result as evidence, and returns it with a terminated instance
// counted as absent.
func (e *evidence) note(r Result) Result {
	if _, err := r.Get(); err == nil && e.seen.CompareAndSwap(false, true) && e.metrics != nil {
		e.metrics.NodeInstanceFound(true)
	}

	return r.living()
}
