package openstack

import "github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"

// reference is the content of the reference pages about this provider, but for its
// metrics.
func reference() provider.Reference {
	return provider.Reference{
		Config:      new(Config),
		Schema:      schema(),
		Environment: environmentReference(),
	}
}
