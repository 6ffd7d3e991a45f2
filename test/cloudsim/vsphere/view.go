package vsphere

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// supertypes lists what an object of a type also is.
var supertypes = map[string][]string{
	"ClusterComputeResource":         {"ComputeResource"},
	"DistributedVirtualPortgroup":    {"Network"},
	"OpaqueNetwork":                  {"Network"},
	"StoragePod":                     {"Folder"},
	"VirtualApp":                     {"ResourcePool"},
	"VmwareDistributedVirtualSwitch": {"DistributedVirtualSwitch"},
}

// viewable are the types that a view may request.
var viewable = []string{
	"ClusterComputeResource", "ComputeResource", "Datacenter", "Datastore", "DistributedVirtualPortgroup",
	"DistributedVirtualSwitch", "Folder", "HostSystem", "ManagedEntity", "Network", "OpaqueNetwork", "ResourcePool",
	"StoragePod", "VirtualApp", "VirtualMachine", "VmwareDistributedVirtualSwitch",
}

// viewManager makes container views that are computed when they are read, so
// that they cost nothing while the inventory changes and never miss a move.
type viewManager struct {
	simulator.ViewManager

	v *VCenter
}

// CreateContainerView implements the method of that name.
func (m *viewManager) CreateContainerView(ctx *simulator.Context, req *types.CreateContainerView) soap.HasFault {
	body := new(methods.CreateContainerViewBody)
	switch root := ctx.Map.Get(req.Container); root.(type) {
	case nil:
		body.Fault_ = simulator.Fault("", &types.ManagedObjectNotFound{Obj: req.Container})

		return body
	case *simulator.Folder, *simulator.Datacenter, *mo.ComputeResource, *simulator.ClusterComputeResource,
		*simulator.ResourcePool, *simulator.VirtualApp, *simulator.HostSystem:
	default:
		body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "container"})

		return body
	}
	for _, kind := range req.Type {
		if !slices.Contains(viewable, kind) {
			body.Fault_ = simulator.Fault("", &types.InvalidArgument{InvalidProperty: "type"})

			return body
		}
	}
	view := &containerView{v: m.v, manager: m}
	view.Self.Type = "ContainerView"
	view.Container, view.Recursive, view.Type = req.Container, req.Recursive, req.Type
	ctx.Session.Put(view)
	m.ViewList = append(m.ViewList, view.Self)
	body.Res = &types.CreateContainerViewResponse{Returnval: view.Self}

	return body
}

type containerView struct {
	mo.ContainerView

	v       *VCenter
	manager *viewManager
}

// Get returns the view with its present contents. vcsim's property collector
// looks for a method of this name.
func (c *containerView) Get() mo.Reference {
	view := c.ContainerView
	view.View = c.v.contents(view)

	return &view
}

// DestroyView implements the method of that name.
func (c *containerView) DestroyView(ctx *simulator.Context, req *types.DestroyView) soap.HasFault {
	ctx.Session.Remove(ctx, req.This)
	simulator.RemoveReference(&c.manager.ViewList, req.This)

	return &methods.DestroyViewBody{Res: new(types.DestroyViewResponse)}
}

// contents returns what is in a view, each object once, parents first.
func (v *VCenter) contents(view mo.ContainerView) []types.ManagedObjectReference {
	var out []types.ManagedObjectReference
	seen := map[types.ManagedObjectReference]bool{view.Container: true}
	queue := v.children(view.Container)
	for len(queue) > 0 {
		ref := queue[0]
		queue = queue[1:]
		if seen[ref] {
			continue
		}
		seen[ref] = true
		if includes(view.Type, ref.Type) && !v.policy.hidden[ref] {
			out = append(out, ref)
		}
		if view.Recursive {
			queue = append(queue, v.children(ref)...)
		}
	}

	return out
}

func includes(kinds []string, kind string) bool {
	return len(kinds) == 0 || slices.ContainsFunc(kinds, func(want string) bool { return isA(kind, want) })
}

// isA reports whether an object of type kind is also a want.
func isA(kind, want string) bool {
	return kind == want || slices.Contains(supertypes[kind], want) ||
		want == "ManagedEntity" && slices.Contains(viewable, kind)
}

// children returns what a container holds directly.
func (v *VCenter) children(ref types.ManagedObjectReference) []types.ManagedObjectReference {
	switch e := v.registry.Get(ref).(type) {
	case *simulator.Datacenter:
		return []types.ManagedObjectReference{e.VmFolder, e.HostFolder, e.DatastoreFolder, e.NetworkFolder}
	case *simulator.Folder:
		return e.ChildEntity
	case *mo.ComputeResource:
		return append(slices.Clone(e.Host), *e.ResourcePool)
	case *simulator.ClusterComputeResource:
		return append(slices.Clone(e.Host), *e.ResourcePool)
	case *simulator.ResourcePool:
		return append(slices.Clone(e.ResourcePool.ResourcePool), e.Vm...)
	case *simulator.VirtualApp:
		return append(slices.Clone(e.ResourcePool.ResourcePool), e.Vm...)
	case *simulator.HostSystem:
		return e.Vm
	}

	return nil
}
