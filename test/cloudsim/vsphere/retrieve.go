package vsphere

import (
	"slices"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// maxRetrieved is a vCenter's own limit of objects in one page of a read, whatever
// its client requests.
// https://github.com/ManageIQ/manageiq/pull/8211
// https://github.com/vmware/vsphere-automation-sdk-java/issues/217
const maxRetrieved = 100

// RetrievePropertiesEx implements the method of that name. A property that its
// type does not have faults the call, as it does in a vCenter.
func (c *collector) RetrievePropertiesEx(ctx *simulator.Context, req *types.RetrievePropertiesEx) soap.HasFault {
	if fault := checkProperties(req.SpecSet); fault != nil {
		return &methods.RetrievePropertiesExBody{Fault_: simulator.Fault("", fault)}
	}
	if most := req.Options.MaxObjects; most <= 0 || most > maxRetrieved {
		req.Options.MaxObjects = maxRetrieved
	}
	c.v.takeReadTime(req.SpecSet)
	res := c.PropertyCollector.RetrievePropertiesEx(ctx, req)
	if body, ok := res.(*methods.RetrievePropertiesExBody); ok && body.Res != nil {
		objects := &body.Res.Returnval.Objects
		c.v.leavePage("", body.Res.Returnval.Token)
		*objects = c.v.policy.visible(*objects, req.SpecSet)
	}

	return res
}

// takeReadTime waits while the vCenter reads the objects that are named. It is
// called with mu held, and releases it meanwhile.
func (v *VCenter) takeReadTime(specs []types.PropertyFilterSpec) {
	objects := 0
	for _, spec := range specs {
		objects += len(spec.ObjectSet)
	}
	took := time.Duration(objects) * v.policy.readTime
	if took <= 0 {
		return
	}
	calling := v.calling
	v.mu.Unlock()
	defer v.mu.Lock()
	timer := time.NewTimer(took)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-calling.Done():
	}
}

// ContinueRetrievePropertiesEx implements the method of that name. vCenters from
// 7.0.3.2 to 8.0.2 refuse it to accounts without a role on the root folder.
// https://github.com/vmware/govmomi/issues/3455
func (c *collector) ContinueRetrievePropertiesEx(ctx *simulator.Context, req *types.ContinueRetrievePropertiesEx) soap.HasFault {
	root := c.v.registry.Get(serviceInstance).(*simulator.ServiceInstance).Content.RootFolder
	if c.v.policy.hidden[root] {
		return &methods.ContinueRetrievePropertiesExBody{
			Fault_: simulator.Fault("", &types.NoPermission{Object: &root, PrivilegeId: "System.View"}),
		}
	}

	if !c.v.unread[req.Token] {
		return &methods.ContinueRetrievePropertiesExBody{Fault_: noSuchPage()}
	}
	res := c.PropertyCollector.ContinueRetrievePropertiesEx(ctx, req)
	if body, ok := res.(*methods.ContinueRetrievePropertiesExBody); ok && body.Res != nil {
		c.v.leavePage(req.Token, body.Res.Returnval.Token)
	}

	return res
}

// CancelRetrievePropertiesEx implements the method of that name.
// https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/vmodl.query.PropertyCollector.html
func (c *collector) CancelRetrievePropertiesEx(req *types.CancelRetrievePropertiesEx) soap.HasFault {
	if !c.v.unread[req.Token] {
		return &methods.CancelRetrievePropertiesExBody{Fault_: noSuchPage()}
	}
	c.v.leavePage(req.Token, "")

	return &methods.CancelRetrievePropertiesExBody{Res: new(types.CancelRetrievePropertiesExResponse)}
}

// noSuchPage is the fault of a token that is not that of the latest page, or of a page
// that was dropped.
func noSuchPage() *soap.Fault { return simulator.Fault("", &types.InvalidProperty{Name: "token"}) }

// leavePage notes that a page was read or dropped, and that another one is left. It is
// called with mu held.
func (v *VCenter) leavePage(read, left string) {
	delete(v.unread, read)
	if left == "" {
		return
	}
	if v.unread == nil {
		v.unread = make(map[string]bool)
	}
	v.unread[left] = true
}

// UnreadPages returns how many reads have a page that was neither read nor dropped.
func (v *VCenter) UnreadPages() int {
	v.mu.Lock()
	defer v.mu.Unlock()

	return len(v.unread)
}

// RetrieveProperties implements the method of that name, which has no pages: govmomi used it
// for all reads before 0.37. https://github.com/vmware/govmomi/issues/3455
func (c *collector) RetrieveProperties(ctx *simulator.Context, req *types.RetrieveProperties) soap.HasFault {
	if fault := checkProperties(req.SpecSet); fault != nil {
		return &methods.RetrievePropertiesBody{Fault_: simulator.Fault("", fault)}
	}
	c.v.takeReadTime(req.SpecSet)
	res := c.PropertyCollector.RetrieveProperties(ctx, req)
	if body, ok := res.(*methods.RetrievePropertiesBody); ok && body.Res != nil {
		body.Res.Returnval = c.v.policy.visible(body.Res.Returnval, req.SpecSet)
	}

	return res
}

// visible returns the objects that the account can read, with what it can read of them.
func (p policy) visible(objects []types.ObjectContent, specs []types.PropertyFilterSpec) []types.ObjectContent {
	p.hideUnreadable(objects, specs)

	return slices.DeleteFunc(objects, func(object types.ObjectContent) bool { return p.hidden[object.Obj] })
}

// hideUnreadable moves the properties that cannot be read from the propSet of each
// object to its missingSet.
func (p policy) hideUnreadable(objects []types.ObjectContent, specs []types.PropertyFilterSpec) {
	for i := range objects {
		content := &objects[i]
		faults := p.unreadable[content.Obj]
		if len(faults) == 0 {
			continue
		}
		for _, path := range pathsOf(content.Obj.Type, specs) {
			fault := faults[path]
			if fault == nil {
				fault = faults[wholeObject]
			}
			if fault == nil {
				continue
			}
			content.PropSet = slices.DeleteFunc(content.PropSet, func(set types.DynamicProperty) bool { return set.Name == path })
			content.MissingSet = append(content.MissingSet, types.MissingProperty{
				Path: path, Fault: types.LocalizedMethodFault{Fault: fault},
			})
		}
	}
}

// pathsOf returns the properties that a read names for a type.
func pathsOf(kind string, specs []types.PropertyFilterSpec) []string {
	var paths []string
	for _, spec := range specs {
		for _, set := range spec.PropSet {
			if isA(kind, set.Type) {
				paths = append(paths, set.PathSet...)
			}
		}
	}
	slices.Sort(paths)

	return slices.Compact(paths)
}
