package instance

import (
	"context"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/providerid"
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
		InstanceType:     labelValue(metadata.InstanceType),
		NodeAddresses:    distinct(metadata.NodeAddresses),
		Zone:             labelValue(metadata.Zone),
		Region:           labelValue(metadata.Region),
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
