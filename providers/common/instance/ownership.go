package instance

import (
	"context"
	"fmt"
	"math"
	"time"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
)

// identify reports whether the Node is of this cloud, before the cloud is called:
// a Ref and true, false for a Node of another cloud, or an error if its
// providerID is of no cloud at all.
func (v *V2) identify(ctx context.Context, node *v1.Node) (Ref, bool, error) {
	id := node.Spec.ProviderID
	switch providerid.Classify(v.opts.Provider, id) {
	case providerid.Foreign:
		v.noteForeign(ctx, node)

		return Ref{}, false, nil
	case providerid.Ours, providerid.Bare:
		if err := v.source.Accepts(id); err != nil {
			err = WithReason(ReasonInvalidProviderID, fmt.Errorf("read providerID %q: %w", id, err))

			return Ref{}, false, v.report(node, err)
		}
	case providerid.Empty:
	}

	return Ref{ProviderID: id, SystemUUID: node.Status.NodeInfo.SystemUUID, NodeName: node.Name}, true, nil
}

// noteForeign logs once why nothing is done for the Node.
func (v *V2) noteForeign(ctx context.Context, node *v1.Node) {
	now := v.opts.Clock.Now()
	if v.foreign.claim(keyOf(node), now, now.Add(time.Duration(math.MaxInt64))) {
		klog.FromContext(ctx).Info("Node belongs to another cloud and is left alone",
			"node", klog.KObj(node), "providerID", node.Spec.ProviderID)
	}
}

// untouched is the metadata that makes the framework leave the Node as it is.
// For an initialized one nil would end the process.
func untouched(node *v1.Node) *cloudprovider.InstanceMetadata {
	if Initialized(node) {
		return &cloudprovider.InstanceMetadata{}
	}

	return nil
}
