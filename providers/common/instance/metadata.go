package instance

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/topology"
)

// metadataNow describes the instance of a Node within the time of one call of the
// framework.
func (v *V2) metadataNow(ctx context.Context, node *v1.Node, ref Ref) (*cloudprovider.InstanceMetadata, error) {
	ctx, cancel := context.WithTimeout(ctx, v.opts.Timeout)
	defer cancel()

	return v.metadataOf(ctx, node, ref, v.opts.Timeout)
}

// metadataOf describes the instance that a Lookup finds, or a Confirm where the
// Lookup does not. Each of these calls may take as long as step.
func (v *V2) metadataOf(ctx context.Context, node *v1.Node, ref Ref, step time.Duration) (*cloudprovider.InstanceMetadata, error) {
	result := within(ctx, step, func(ctx context.Context) Result { return v.lookup(ctx, ref) })
	if result.IsAbsent() {
		result = within(ctx, step, func(ctx context.Context) Result { return v.confirm(ctx, ref) })
	}
	found, err := result.Get()
	if result.IsAbsent() {
		err = WithReason(ReasonInstanceNotFound, err)
	}
	if err != nil {
		return nil, fmt.Errorf("find instance %s: %w", ref, err)
	}
	var metadata *cloudprovider.InstanceMetadata
	err = within(ctx, step, func(ctx context.Context) (err error) {
		metadata, err = v.describe(ctx, node, found)

		return err
	})
	if err != nil {
		return nil, fmt.Errorf("describe instance %s: %w", found.ProviderID(), err)
	}

	return metadata, nil
}

// within calls a function that may take as long as the timeout.
func within[T any](ctx context.Context, timeout time.Duration, call func(context.Context) T) T {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()

	return call(ctx)
}

// describe gets the instance's metadata from the Source, in a copy that the
// framework may append to and the API server accepts: one bad label value, one
// address twice, and it would reject the whole update each time.
func (v *V2) describe(ctx context.Context, node *v1.Node, found Instance) (*cloudprovider.InstanceMetadata, error) {
	providerID, err := v.providerIDFor(node, found)
	if err != nil {
		return nil, err
	}
	metadata, err := v.source.Metadata(ctx, node, found)
	if err != nil {
		return nil, err
	}
	if metadata == nil {
		return nil, errNoResult
	}

	return &cloudprovider.InstanceMetadata{
		ProviderID:       providerID,
		InstanceType:     clean(metadata.InstanceType),
		NodeAddresses:    distinct(metadata.NodeAddresses),
		Zone:             clean(metadata.Zone),
		Region:           clean(metadata.Region),
		AdditionalLabels: validLabels(metadata.AdditionalLabels),
	}, nil
}

// providerIDFor is the Node's own providerID in its own spelling, or else the
// canonical one. That is written once and can never be corrected, so it must be
// one that we would take back.
func (v *V2) providerIDFor(node *v1.Node, found Instance) (string, error) {
	if node.Spec.ProviderID != "" {
		return node.Spec.ProviderID, nil
	}
	id := found.ProviderID()
	if scheme, _ := providerid.Scheme(id); scheme != v.opts.Provider {
		return "", fmt.Errorf("the provider made an ID without its scheme %s: %q", v.opts.Provider, id)
	}
	if err := v.source.Accepts(id); err != nil {
		return "", fmt.Errorf("the provider made an ID that it does not accept: %w", err)
	}

	return id, nil
}

// clean makes a valid label value of any name. Where two names must not become
// one, the Source has seen to it.
func clean(name string) string {
	value, _ := topology.Clean(name)

	return value
}

// validLabels copies the labels with valid values, without those whose key no
// Node can have.
func validLabels(labels map[string]string) map[string]string {
	if len(labels) == 0 {
		return nil
	}
	kept := make(map[string]string, len(labels))
	for key, value := range labels {
		if len(content.IsLabelKey(key)) == 0 {
			kept[key] = clean(value)
		}
	}

	return kept
}

// distinct copies the addresses in their order, each once.
func distinct(addresses []v1.NodeAddress) []v1.NodeAddress {
	return lists.Distinct(lists.Filter(addresses, func(address v1.NodeAddress) bool { return address.Address != "" }))
}
