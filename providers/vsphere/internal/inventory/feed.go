package inventory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

// openTimeout bounds the calls that ask a vCenter to report its changes. It is
// less than CallTimeout, because a vCenter that hung can
// respond again while the attempt still waits for it.
const openTimeout = 8 * time.Second

// closeTimeout bounds the clearing up in the vCenter when the feed ends.
const closeTimeout = 5 * time.Second

// maxObjectUpdates is how many objects one answer may tell of, so that it arrives
// in time.
const maxObjectUpdates = 500

// feed follows the changes of one vCenter. It belongs to one goroutine.
type feed struct {
	*Inventory

	// What we made in the vCenter. Both end with the session, but a session can
	// live for months.
	collector Ref
	view      Ref
}

// Run follows the changes of the vCenter until ctx ends, and starts over after
// every failure. It must run once only. What it made in the vCenter is removed
// at the end if the vCenter answers within a few seconds.
func (i *Inventory) Run(ctx context.Context) {
	log := klog.FromContext(ctx).WithValues("vCenter", i.cfg.Name)
	ctx = klog.NewContext(ctx, log)
	f := &feed{Inventory: i}
	defer f.close(ctx)

	for attempt := 0; ; attempt++ {
		begun := time.Now()
		synced, err := f.follow(ctx)
		if ctx.Err() != nil {
			i.health.lost(ctx.Err())

			return
		}
		i.health.lost(err)
		if synced {
			attempt = 0
		}
		delay := i.backoff(attempt)
		if !synced {
			delay = max(0, delay-time.Since(begun)) // a vCenter that hung was waited for already
		}
		log.Info("Change feed of vCenter is interrupted", "err", err, "retryIn", delay)
		if !sleep(ctx, delay) {
			return
		}
	}
}

// backoff grows with the number of failures; half of it is chance, so that many
// controllers do not come back at once.
func (i *Inventory) backoff(attempt int) time.Duration {
	delay := i.cfg.MaxBackoff
	if attempt < 20 {
		delay = min(delay, i.cfg.MinBackoff<<attempt)
	}

	return delay/2 + rand.N(delay/2+1)
}

// sleep answers false when ctx ended it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow reads the whole inventory and then its changes, until something fails.
// It says whether the whole was there by then.
func (f *feed) follow(ctx context.Context) (synced bool, err error) {
	if err := f.open(ctx); err != nil {
		return false, err
	}
	f.store.beginReading(false)
	for version := ""; ; {
		set, err := f.wait(ctx, version)
		if err != nil {
			return synced, err
		}
		updates, now := updatesOf(set), f.cfg.Now()
		f.store.apply(updates, now)
		if set != nil {
			version = set.Version
		}
		if set != nil && set.Truncated != nil && *set.Truncated {
			continue // the rest is to follow at once
		}
		if synced {
			f.store.endAnswer()
		} else {
			f.publish(ctx)
			synced = true
		}
		f.health.answered(now)
	}
}

func (f *feed) publish(ctx context.Context) {
	f.store.endReading()
	vms, places := f.store.size()
	log := klog.FromContext(ctx)
	log.V(2).Info("Read the inventory of vCenter", "vms", vms, "places", places)
	if err := f.store.searchable(); err != nil {
		log.Error(err, "No VM of vCenter can be reported gone")
	}
}

// updatesOf lists what a set reports. An object that cannot be read is there,
// but tells nothing.
func updatesOf(set *types.UpdateSet) []types.ObjectUpdate {
	if set == nil {
		return nil // nothing has changed
	}
	var updates []types.ObjectUpdate
	for _, filter := range set.FilterSet {
		for _, missing := range filter.MissingSet {
			updates = append(updates, types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: missing.Obj})
		}
		updates = append(updates, filter.ObjectSet...)
	}

	return updates
}

// usable is an error if a set says that our view is gone or that we are not
// logged in: the property collector can report both as something that cannot be
// read.
func (f *feed) usable(set *types.UpdateSet) error {
	if set == nil {
		return nil
	}
	for _, filter := range set.FilterSet {
		for _, missing := range filter.MissingSet {
			if ref(missing.Obj) == f.view {
				return fmt.Errorf("read container view: %w", soap.WrapVimFault(missing.Fault.Fault))
			}
		}
		for _, u := range filter.ObjectSet {
			if err := authenticated(u.MissingSet); err != nil {
				return err
			}
		}
	}

	return nil
}

// authenticated is the fault that says that we are not logged in, if that is
// why a property is missing.
func authenticated(missing []types.MissingProperty) error {
	for _, m := range missing {
		if _, ok := m.Fault.Fault.(*types.NotAuthenticated); ok {
			return fmt.Errorf("read property %s: %w", m.Path, soap.WrapVimFault(m.Fault.Fault))
		}
	}

	return nil
}

// wait asks for the next changes. The vCenter answers when there are some, or
// with nothing after MaxWait.
func (f *feed) wait(ctx context.Context, version string) (*types.UpdateSet, error) {
	ctx, cancel := context.WithTimeout(ctx, f.cfg.MaxWait+f.cfg.Margin)
	defer cancel()

	req := &types.WaitForUpdatesEx{
		This:    f.collector,
		Version: version,
		Options: &types.WaitOptions{
			MaxWaitSeconds:   new(int32(f.cfg.MaxWait / time.Second)),
			MaxObjectUpdates: maxObjectUpdates,
		},
	}
	var set *types.UpdateSet
	err := f.client.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		res, err := methods.WaitForUpdatesEx(ctx, c, req)
		if err != nil {
			return err
		}
		set = res.Returnval

		return f.usable(set)
	})
	if err != nil {
		return nil, fmt.Errorf("wait for updates: %w", err)
	}

	return set, nil
}

// open makes a new collector with one filter, over a view of everything we want
// to know, and removes the previous one.
func (f *feed) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(openTimeout, f.cfg.CallTimeout))
	defer cancel()

	return f.client.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		if err := f.clear(ctx, c); err != nil {
			klog.FromContext(ctx).V(2).Info("Left a property collector behind, it ends with the session", "err", err)
		}

		return f.create(ctx, c)
	})
}

func (f *feed) create(ctx context.Context, c *vim25.Client) error {
	collector, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{
		This: c.ServiceContent.PropertyCollector,
	})
	if err != nil {
		return fmt.Errorf("create property collector: %w", err)
	}
	f.collector = collector.Returnval

	view, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{
		This:      *c.ServiceContent.ViewManager,
		Container: c.ServiceContent.RootFolder,
		Type:      viewTypes,
		Recursive: true,
	})
	if err != nil {
		return fmt.Errorf("create container view: %w", err)
	}
	f.view = view.Returnval

	return f.createFilter(ctx, c)
}

func (f *feed) createFilter(ctx context.Context, c *vim25.Client) error {
	// Without partial updates a change comes under the path we asked for.
	_, err := methods.CreateFilter(ctx, c, &types.CreateFilter{This: f.collector, Spec: filterSpec(f.view)})
	if err != nil {
		return fmt.Errorf("create property filter: %w", err)
	}

	return nil
}

// clear removes what we made in the vCenter, or forgets it if that fails. What
// is not there any more, such as after a new login, is as good as removed.
func (f *feed) clear(ctx context.Context, c *vim25.Client) error {
	collector, view := f.collector, f.view
	f.collector, f.view = Ref{}, Ref{}
	var failed []error
	if collector != (Ref{}) {
		_, err := methods.DestroyPropertyCollector(ctx, c, &types.DestroyPropertyCollector{This: collector})
		if err != nil && !isGone(err) {
			failed = append(failed, fmt.Errorf("destroy property collector: %w", err))
		}
	}
	if view != (Ref{}) {
		_, err := methods.DestroyView(ctx, c, &types.DestroyView{This: view})
		if err != nil && !isGone(err) {
			failed = append(failed, fmt.Errorf("destroy container view: %w", err))
		}
	}

	return errors.Join(failed...)
}

// close clears up when ctx has ended.
func (f *feed) close(ctx context.Context) {
	if f.collector == (Ref{}) && f.view == (Ref{}) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(closeTimeout, f.cfg.CallTimeout))
	defer cancel()

	if err := f.client.SOAP(ctx, f.clear); err != nil {
		klog.FromContext(ctx).V(2).Info("Left a property collector behind, it ends with the session", "err", err)
	}
}

// isGone says that the vCenter does not know the object it was asked about.
func isGone(err error) bool { return fault.Is(err, &types.ManagedObjectNotFound{}) }
