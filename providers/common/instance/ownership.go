package instance

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"
)

// identify says whether the Node is of this cloud, before anything is asked of
// it: a Ref and true, false for a Node of another cloud, or an error if its
// providerID is of no cloud at all.
func (v *V2) identify(ctx context.Context, node *v1.Node) (Ref, bool, error) {
	id := node.Spec.ProviderID
	if scheme := schemeOf(id); scheme != "" && !strings.EqualFold(scheme, v.opts.Provider) {
		v.noteForeign(ctx, node)

		return Ref{}, false, nil
	}
	if id != "" {
		if err := v.source.Accepts(id); err != nil {
			err = WithReason(ReasonInvalidProviderID, fmt.Errorf("read providerID %q: %w", id, err))

			return Ref{}, false, v.report(node, err)
		}
	}

	return Ref{ProviderID: id, SystemUUID: node.Status.NodeInfo.SystemUUID, NodeName: node.Name}, true, nil
}

// noteForeign says once in the log why nothing is done for the Node.
func (v *V2) noteForeign(ctx context.Context, node *v1.Node) {
	now := v.opts.Clock.Now()
	if v.foreign.claim(keyOf(node), now, now.Add(time.Duration(math.MaxInt64))) {
		klog.FromContext(ctx).Info("Node belongs to another cloud and is left alone",
			"node", klog.KObj(node), "providerID", node.Spec.ProviderID)
	}
}

// untouched is the metadata that makes the framework leave the Node as it is.
// For an initialised one nil would end the process.
func untouched(node *v1.Node) *cloudprovider.InstanceMetadata {
	if Initialised(node) {
		return &cloudprovider.InstanceMetadata{}
	}

	return nil
}

// schemeOf is what stands before "://", or empty if that is no URL scheme.
func schemeOf(providerID string) string {
	scheme, _, found := strings.Cut(providerID, "://")
	if !found || strings.IndexFunc(scheme, notInScheme) >= 0 {
		return ""
	}

	return scheme
}

// notInScheme says that a character cannot be part of a URL scheme.
func notInScheme(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}

	return !strings.ContainsRune("+-.", r)
}
