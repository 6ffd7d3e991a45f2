package vsphere

import (
	"maps"
	"reflect"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/provider"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/nsx"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

// reference is what the reference pages contain of this provider.
func reference() provider.Reference {
	return provider.Reference{
		Config:      new(Config),
		Schema:      schema(),
		YAML:        true,
		Annotations: reflect.TypeFor[request.Request]().PkgPath(),
		Environment: environmentReference(),
		Metrics:     slices.Concat(session.AllMetrics(), inventory.AllMetrics(), nsx.AllMetrics()),
	}
}

// environmentReference lists the variables that applyEnvironment looks at.
func environmentReference() []provider.Variable {
	list := lists.Map(variables(), func(v variable) provider.Variable {
		return provider.Variable{Name: v.name, Sets: config.Name{Section: v.section, Key: v.key}}
	})
	list = append(list, provider.Variable{
		Name: entryPrefix + "<id>",
		Help: "Adds a vCenter, or replaces the one with that name in the file. The value is its address, or any name if " +
			"VCENTER_<id>_SERVER has the address. Choose any ID; it links this variable to the VCENTER_<id>_* variables below.",
	})
	for _, end := range slices.Sorted(maps.Keys(companions())) {
		list = append(list, provider.Variable{Name: "VCENTER_<id>_" + end, Sets: entryName("name", companions()[end])})
	}

	return append(list, provider.Variable{
		Name: "SKIP_NODE_DELETION",
		Help: "No Node is deleted: a missing VM is an error. Takes effect with any value, even an empty one.",
	})
}
