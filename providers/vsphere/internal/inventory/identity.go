package inventory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// identified is a Client that notices when another vCenter responds than before: a
// name or an address can lead to another vCenter, and what was known is no longer
// valid.
type identified struct {
	Client

	// replaced is called before the first call to another vCenter.
	replaced func(ctx context.Context, before, after string)

	mu   sync.Mutex
	uuid string // about.instanceUuid, empty until it is known
}

// SOAP implements [Client]. The call that notices another vCenter fails: its
// arguments come from the one before.
func (c *identified) SOAP(ctx context.Context, fn func(context.Context, *vim25.Client) error) error {
	return c.Client.SOAP(ctx, func(ctx context.Context, vc *vim25.Client) error { //nolint:wrapcheck // it is the client's own
		if err := c.check(ctx, vc.ServiceContent.About.InstanceUuid); err != nil {
			return err
		}

		return fn(ctx, vc)
	})
}

// check compares the instance UUID of the vCenter with that of the last call.
func (c *identified) check(ctx context.Context, uuid string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.uuid
	if uuid == "" || uuid == before {
		return nil
	}
	c.uuid = uuid
	if before == "" {
		return nil
	}
	c.replaced(ctx, before, uuid)

	return apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("another vCenter responds: its instance UUID is %s and not %s", uuid, before))
}

func (c *identified) instanceUUID() string {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.uuid
}

// InstanceUUID returns about.instanceUuid of the vCenter, or nothing as long as it
// is not known. Two inventories with the same one are of the same vCenter.
func (i *Inventory) InstanceUUID() string { return i.client.instanceUUID() }

// Replaced returns when another vCenter began to respond, zero for never.
func (i *Inventory) Replaced() time.Time {
	if at := i.replacedAt.Load(); at != nil {
		return *at
	}

	return time.Time{}
}

// replaced drops everything, so that the change feed starts with nothing.
func (i *Inventory) replaced(ctx context.Context, before, after string) {
	klog.FromContext(ctx).Error(nil, "Another vCenter responds at the configured address. No Node is deleted until the VM of one is found there",
		"vCenter", i.cfg.Name, "instanceUUID", after, "before", before)
	now := i.cfg.Clock.Now()
	i.replacedAt.Store(&now)
	i.store.forget()
	i.details.forget()
	i.tags.catalogs.Forget(struct{}{})
}
