package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

// detailsOf are the details of VMs, or errors.
type detailsOf map[Ref]batch.Result[*Details]

// errNotReturned means that the vCenter left a VM out of its response.
var errNotReturned = errors.New("vCenter returned nothing about it")

// readDetails reads the details of VMs. One that is not there any more has an error of
// its own: the vCenter fails to read any if one is missing, so each costs a call.
func (i *Inventory) readDetails(ctx context.Context, refs []Ref) (detailsOf, error) {
	results := detailsOf{}
	for _, r := range refs {
		results[r] = batch.Result[*Details]{Err: errNotReturned}
	}
	for len(refs) > 0 {
		contents, err := i.retrieve(ctx, refs, i.detailPaths())
		if gone, ok := missingObject(err); ok && slices.Contains(refs, gone) {
			results[gone] = batch.Result[*Details]{Err: err}
			refs = slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool { return r == gone })

			continue
		}
		if fault.Is(err, &types.InvalidProperty{}) && i.noMetadata.CompareAndSwap(false, true) {
			klog.FromContext(ctx).Info("vCenter does not return guestinfo of VMs, continuing without it", "err", err)

			continue
		}
		if err != nil {
			return nil, err
		}
		for _, content := range contents {
			details, err := describe(ctx, content)
			results[ref(content.Obj)] = batch.Result[*Details]{Value: details, Err: err}
		}

		return results, nil
	}

	return results, nil
}

// responseError is an error of the SDK that a vCenter responded with.
type responseError interface {
	error
	Fault() types.BaseMethodFault
}

// missingObject is the object that a ManagedObjectNotFound fault is about.
func missingObject(err error) (Ref, bool) {
	refused, ok := errors.AsType[responseError](err)
	if !ok {
		return Ref{}, false
	}
	gone, ok := refused.Fault().(*types.ManagedObjectNotFound)
	if !ok {
		return Ref{}, false
	}

	return ref(gone.Obj), true
}

// retrieve reads properties of VMs. A single one that is not there any more fails them
// all. The response has all of them: RetrievePropertiesEx, which is meant to replace the
// method, returns 100 objects at most, and vCenter denies later pages to accounts without
// a role on the root folder. Versions of govmomi before 0.37 use the same method for all reads.
// https://github.com/vmware/vsphere-automation-sdk-java/issues/217
// https://github.com/vmware/govmomi/issues/3455
func (i *Inventory) retrieve(ctx context.Context, refs []Ref, paths []string) ([]types.ObjectContent, error) {
	spec := types.PropertyFilterSpec{
		PropSet:   []types.PropertySpec{{Type: typeVM, PathSet: paths}},
		ObjectSet: lists.Map(refs, func(r Ref) types.ObjectSpec { return types.ObjectSpec{Obj: r} }),
	}
	var contents []types.ObjectContent
	err := i.call(ctx, func(ctx context.Context, c *vim25.Client) error {
		res, err := methods.RetrieveProperties(ctx, c, &types.RetrieveProperties{
			This:    c.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{spec},
		})
		if err != nil {
			return err //nolint:wrapcheck // it is wrapped below
		}
		contents = res.Returnval

		return authenticatedAll(contents)
	})
	if err != nil {
		return nil, fmt.Errorf("read %d VMs, first %s: %w", len(refs), refs[0].Value, err)
	}

	return contents, nil
}

// authenticatedAll is [authenticated] for objects that were read.
func authenticatedAll(contents []types.ObjectContent) error {
	for _, content := range contents {
		if err := authenticated(content.MissingSet); err != nil {
			return err
		}
	}

	return nil
}

// dropPages has a vCenter free the pages of a read that are not wanted. They end with
// the session otherwise.
// https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/vmodl.query.PropertyCollector.html
func dropPages(ctx context.Context, c *vim25.Client, token string) {
	if token == "" {
		return
	}
	_, err := methods.CancelRetrievePropertiesEx(ctx, c, &types.CancelRetrievePropertiesEx{This: c.ServiceContent.PropertyCollector, Token: token})
	if err != nil {
		klog.FromContext(ctx).V(4).Info("Left a page of a read in vCenter, it ends with the session", "err", err)
	}
}
