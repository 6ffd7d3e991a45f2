package vsphere

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// policy is what a vCenter and what is in between decide about the change feed. It
// is guarded by VCenter.mu.
type policy struct {
	calculation time.Duration
	readTime    time.Duration
	updatePage  int
	earlyNull   time.Duration
	idleLimit   time.Duration
	unreadable  map[types.ManagedObjectReference]map[string]types.BaseMethodFault
	hidden      map[types.ManagedObjectReference]bool
}

// wholeObject is used instead of a property for an object as a whole.
const wholeObject = ""

// unreadableMark is the fingerprint of a property that cannot be read.
const unreadableMark = "\x00unreadable"

// calculating returns a channel that is closed, and stays closed, when the changes
// have been calculated.
func (p policy) calculating() (<-chan struct{}, context.CancelFunc) {
	done, stop := context.WithTimeout(context.Background(), p.calculation)

	return done.Done(), stop
}

// SetCalculationTime makes every call that reports changes take at least d, which
// the vCenter does not count as waiting: a response can come later than
// maxWaitSeconds.
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/WaitOptions
func (v *VCenter) SetCalculationTime(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.policy.calculation = d
}

// SetReadTime makes every read of properties take d for each object that it names:
// what a vCenter returns of a VM can be large, as extraConfig and guest.net are.
// https://github.com/vmware/govmomi/issues/2409
func (v *VCenter) SetReadTime(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.policy.readTime = d
}

// SetUpdatePage is how many objects a response of the change feed has at most; 0 is for the
// vCenter's own limit.
func (v *VCenter) SetUpdatePage(objects int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.policy.updatePage = objects
}

// SetEarlyNull makes the vCenter respond that nothing has changed after d, even if
// its client is willing to wait for longer; 0 ends it.
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/WaitOptions
func (v *VCenter) SetEarlyNull(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.policy.earlyNull = d
}

// SetIdleLimit puts something between the vCenter and its clients that cuts a connection on
// which a call has no response within d; 0 removes the limit. Envoy does so after 15 s by
// default.
// https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto
func (v *VCenter) SetIdleLimit(d time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.policy.idleLimit = d
}

func (v *VCenter) idleLimit() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()

	return v.policy.idleLimit
}

// SetUnreadable makes the change feed and reads report properties of an object in
// the missingSet with a fault; without properties, the object as a whole, which for
// a read is every property that it names. A nil fault makes everything of the object
// readable again.
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/PropertyFilterUpdate
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/ObjectContent
func (v *VCenter) SetUnreadable(ref types.ManagedObjectReference, fault types.BaseMethodFault, properties ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.policy.unreadable == nil {
		v.policy.unreadable = make(map[types.ManagedObjectReference]map[string]types.BaseMethodFault)
	}
	delete(v.policy.unreadable, ref)
	if fault != nil {
		faults := make(map[string]types.BaseMethodFault)
		if len(properties) == 0 {
			faults[wholeObject] = fault
		}
		for _, property := range properties {
			faults[property] = fault
		}
		v.policy.unreadable[ref] = faults
	}
	v.feed.touch(false, ref)
}

// SetHidden makes a vCenter behave as if the account had no permission on the
// object at an inventory path, which is not that of a VM: no view and no read contains it
// and the tag service does not list it, while other objects go on referring to it.
// What is below is not hidden with it. An account without a role on the root folder,
// "/", cannot read the second page of a read.
// https://developer.broadcom.com/xapis/vsphere-web-services-api/8.0U3/vim.view.ContainerView.html
func (v *VCenter) SetHidden(path string, hidden bool) error {
	return v.atPath(path, func(obj types.ManagedObjectReference) error {
		if v.policy.hidden == nil {
			v.policy.hidden = make(map[types.ManagedObjectReference]bool)
		}
		v.policy.hidden[obj] = hidden
		v.feed.touch(true, obj)

		return nil
	})
}
