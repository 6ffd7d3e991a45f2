package aws

import (
	"reflect"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/aws/internal/tagging"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
)

// reference is the content of the reference pages about this provider.
func reference() provider.Reference {
	return provider.Reference{
		Config:      new(Config),
		Schema:      schema(),
		Annotations: reflect.TypeFor[request.Request]().PkgPath(),
		Metrics:     slices.Concat(client.AllMetrics(), tagging.AllMetrics()),
	}
}
