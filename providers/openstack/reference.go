package openstack

import (
	"reflect"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// reference is the content of the reference pages about this provider, but for its
// metrics.
func reference() provider.Reference {
	return provider.Reference{
		Config:      new(Config),
		Schema:      schema(),
		Annotations: reflect.TypeFor[request.Request]().PkgPath(),
		Environment: environmentReference(),
	}
}
