package inventory

import (
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// viewTypes are the types of objects in the view, with all their subclasses:
// clusters are compute resources and vApps are resource pools.
var viewTypes = []string{typeVM, "HostSystem", "ComputeResource", "ResourcePool", "Folder", typeDatacenter}

// filterSpec requests the properties that are used, of every object
// in the view.
func filterSpec(view Ref) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj:  view,
			Skip: new(true),
			SelectSet: []types.BaseSelectionSpec{
				&types.TraversalSpec{Type: view.Type, Path: "view", Skip: new(false)},
			},
		}},
		PropSet: append(ancestorSpecs(), types.PropertySpec{Type: typeVM, PathSet: recordPaths()}),
	}
}

// ancestorSpecs requests the properties that are used of every object but VMs.
func ancestorSpecs() []types.PropertySpec {
	// A vApp is a resource pool as well, so it has two specs. Ours names everything,
	// to be right whichever of the two counts.
	specs := []types.PropertySpec{{Type: "VirtualApp", PathSet: []string{"name", "parent", "parentFolder", "parentVApp"}}}

	return append(specs, lists.Map([]string{"HostSystem", "ComputeResource", "ResourcePool", "Folder", typeDatacenter},
		func(kind string) types.PropertySpec {
			return types.PropertySpec{Type: kind, PathSet: []string{"name", "parent"}}
		})...)
}
