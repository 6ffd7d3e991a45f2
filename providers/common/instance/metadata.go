package instance

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/topology"
)

// describe gets the instance's metadata from the Source, in a copy that the
// framework may append to and the API server accepts: one bad label value, one
// address twice, and it would refuse the whole update each time.
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
		return nil, errNoAnswer
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
	var kept []v1.NodeAddress
	for _, address := range addresses {
		if address.Address != "" && !slices.Contains(kept, address) {
			kept = append(kept, address)
		}
	}

	return kept
}
