package aws

import (
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// reference is what the reference pages tell of this provider.
func reference() provider.Reference {
	return provider.Reference{
		Config:  new(Config),
		Schema:  schema(),
		Metrics: client.AllMetrics(),
	}
}
