package vsphere

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

var serviceInstance = vim25.ServiceInstance

// refused are the methods that vcsim implements on top of a datastore on disk,
// or that start tasks which never finish.
var refused = []string{
	"CloneVApp_Task", "CreateChildVM_Task", "CreateTask", "CreateVM_Task", "ImportVApp", "InstantClone_Task", "RegisterVM_Task",
}

// intercept sees each SOAP call before vcsim does, with mu held.
func (v *VCenter) intercept(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	if ctx.Session == nil {
		return nil, nil
	}
	v.adopt(ctx.Session)
	obj := ctx.Session.Get(method.This)
	switch {
	case obj == nil:
		return nil, &types.ManagedObjectNotFound{Obj: method.This}
	case slices.Contains(refused, method.Name):
		return nil, new(types.NotSupported)
	case method.Name == "AcquireCloneTicket":
		v.detach(ctx)
	}
	if m, ok := obj.(*machine); ok && m.Config == nil {
		return nil, new(types.InvalidState) // vcsim expects a configuration
	}

	return nil, nil
}

// adopt registers our own objects in a new session in place of vcsim's.
func (v *VCenter) adopt(session *simulator.Session) {
	if v.sessions.objects[session.Key] != nil || session.UserName == "" {
		return // known, or vcsim's own session, which all vCenters of the process share
	}
	v.sessions.objects[session.Key] = session.Registry
	content := v.registry.Get(serviceInstance).(*simulator.ServiceInstance).Content
	pc := newCollector(v)
	pc.Self = content.PropertyCollector
	session.Registry.Put(pc)
	views := &viewManager{v: v}
	views.Self = *content.ViewManager
	session.Registry.Put(views)
	index := &searchIndex{v: v}
	index.Self = *content.SearchIndex
	session.Registry.Put(index)
}

// detach keeps the session that a clone ticket makes from sharing the objects of
// the session that requested it.
func (v *VCenter) detach(ctx *simulator.Context) {
	clone := *ctx.Session
	clone.Registry = simulator.NewRegistry()
	if clone.UserName == "" { // requested by the shared session endpoint
		clone.UserName, clone.FullName = v.directory.user, v.directory.user
	}
	ctx.Session = &clone
}
