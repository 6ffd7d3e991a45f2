package instance

import (
	"context"
	"errors"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// Why a Node is kept although its instance is missing.
var (
	errNoProviderID = WithReason(ReasonInstanceNotFound, errors.New(
		"no instance fits the name or system UUID of this Node. Without spec.providerID it is kept: delete it if its machine is gone"))
	errKeepMissing = WithReason(ReasonInstanceNotFound, errors.New(
		"the instance is missing. The Node is kept because deleting nodes is switched off"))
	errYoung        = errors.New("the node is new, the instance may not be visible yet")
	errNothingFound = WithReason(ReasonNoInstanceFound, errors.New(
		"the instance is missing, and no instance of any Node has been found by its ID since the start. The Node is kept until one is found: "+
			"check that the cloud-config names the region, account or server of this cluster"))
)

// unprovenPeriod is how often the missing instance of a Node is confirmed while
// there is no evidence. It is as long as an Event is not repeated, so that each
// Event follows a Confirm.
const unprovenPeriod = eventInterval

// keptKey is one reason to keep one Node.
type keptKey struct {
	node   nodeKey
	reason string
}

// alwaysKept is why the Node is kept whatever the cloud returns, or nil.
func (v *V2) alwaysKept(ref Ref) error {
	switch {
	case ref.ProviderID == "" && !v.opts.DeleteByName:
		return errNoProviderID
	case v.opts.KeepMissing:
		return errKeepMissing
	}

	return nil
}

// keptUnconfirmed reports whether a Node whose instance a Lookup did not find is
// kept without a Confirm, since that could not make the Node gone. Gone is as for
// existsMissing.
func (v *V2) keptUnconfirmed(ctx context.Context, node *v1.Node, ref Ref, gone bool) bool {
	reason := v.alwaysKept(ref)
	switch {
	case reason == nil:
		return !v.found.proven() && v.unproven.holds(keyOf(node), v.opts.Clock.Now())
	case !gone && v.young(node):
		reason = errYoung
	}
	v.keep(ctx, node, ref, reason)

	return true
}

// existsMissing decides about a Node whose instance the cloud has just confirmed
// to be missing. Gone means that it is not just invisible because it is new.
func (v *V2) existsMissing(ctx context.Context, node *v1.Node, ref Ref, gone bool, missing Result) (bool, error) {
	proven := v.found.proven()
	if !proven {
		now := v.opts.Clock.Now()
		v.unproven.claim(keyOf(node), now, now.Add(unprovenPeriod))
	}
	switch {
	case !gone && v.young(node):
		v.keep(ctx, node, ref, errYoung)
	case !proven:
		v.keep(ctx, node, ref, errNothingFound)
	case missing.kept != nil:
		v.keep(ctx, node, ref, missing.kept)
	default:
		return false, v.held(ctx, node, ref, missing.reports)
	}

	return true, nil
}

// held returns an error if the Node is kept although its instance is gone, because too
// many Nodes are. The Event is recorded once, as long as the Node is held back.
func (v *V2) held(ctx context.Context, node *v1.Node, ref Ref, reports []Report) error {
	held, begins := v.guard.request(node, ref, reports)
	switch {
	case held == nil:
		klog.FromContext(ctx).V(2).Info("Instance of node is gone", "node", klog.KObj(node), "instance", ref, "reports", reports)
	case begins:
		klog.FromContext(ctx).Info("Deletion of node is held back", "node", klog.KObj(node), "instance", ref, "reason", held, "reports", reports)
		v.events.warn(node, held)
	}

	return held
}

// young reports whether the Node's instance may not be visible yet.
func (v *V2) young(node *v1.Node) bool {
	return node.CreationTimestamp.IsZero() || v.opts.Clock.Since(node.CreationTimestamp.Time) < v.opts.MinAge
}

// keep logs once why the Node is kept, and warns on it where a user can act.
func (v *V2) keep(ctx context.Context, node *v1.Node, ref Ref, reason error) {
	now := v.opts.Clock.Now()
	if v.kept.claim(keptKey{keyOf(node), reason.Error()}, now, now.Add(time.Duration(math.MaxInt64))) {
		klog.FromContext(ctx).Info("Node is kept although its instance is missing",
			"node", klog.KObj(node), "instance", ref, "reason", reason)
	}
	v.events.warn(node, reason)
}
