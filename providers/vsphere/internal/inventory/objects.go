package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/session"
)

const (
	// openTimeout bounds the calls that make a vCenter report its changes. It is
	// less than CallTimeout, because a vCenter that hung can respond again while
	// the attempt still waits for it.
	openTimeout = 8 * time.Second
	// closeTimeout bounds the removal of what was made in the vCenter when the
	// feed ends.
	closeTimeout = 5 * time.Second
	// maxLeft is how many objects are kept in mind that could not be removed.
	maxLeft = 32
)

// objects are what the feed made in the vCenter. All of it ends with the session,
// but a session can live for months.
type objects struct {
	collector Ref
	view      Ref
	filter    Ref
	// unsure means that a call that makes one of them had no response, so that
	// the object may be there.
	unsure bool
	left   []Ref // not wanted any more, and not removed yet
}

func (o *objects) complete() bool { return o.filter != (Ref{}) }

// abandon gives up all objects; they are removed later.
func (o *objects) abandon() {
	for _, r := range []Ref{o.collector, o.view} { // a filter ends with its collector
		if r != (Ref{}) {
			o.left = append(o.left, r)
		}
	}
	o.left = o.left[max(0, len(o.left)-maxLeft):]
	o.collector, o.view, o.filter, o.unsure = Ref{}, Ref{}, Ref{}, false
}

// lose takes note of what the vCenter has lost. Where it is only the version, the
// same objects report the whole inventory once more.
func (f *feed) lose(ctx context.Context, err error) {
	f.poller.pages, f.poller.failed = false, true
	if fault.Is(err, &types.InvalidCollectorVersion{}) {
		return
	}
	klog.FromContext(ctx).V(4).Info("Property collector of vCenter is of no use any more", "collector", f.objects.collector.Value)
	f.objects.abandon()
}

// open makes what is missing of a collector with one filter over a view of
// everything that matters. What was made is used even if a later call fails, and
// what a call without a response may have made is looked for.
func (f *feed) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(openTimeout, f.cfg.CallTimeout))
	defer cancel()

	return f.client.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		f.store.setRoot(ref(c.ServiceContent.RootFolder))
		if err := f.remove(ctx, c); err != nil {
			klog.FromContext(ctx).V(2).Info("Left objects behind in vCenter, they end with the session", "err", err)
		}
		for _, step := range []func(context.Context, *vim25.Client) error{f.adopt, f.makeCollector, f.makeView, f.makeFilter} {
			if err := step(ctx, c); err != nil {
				return err
			}
		}

		return nil
	})
}

// made notes the outcome of a call that makes an object. Without a response the
// object may be there all the same.
func (o *objects) made(at *Ref, made Ref, what string, err error) error {
	o.unsure = err != nil && !isFault(err)
	if err != nil {
		return fmt.Errorf("create %s: %w", what, err)
	}
	*at = made

	return nil
}

func (f *feed) makeCollector(ctx context.Context, c *vim25.Client) error {
	if f.objects.collector != (Ref{}) {
		return nil
	}
	res, err := methods.CreatePropertyCollector(ctx, c, &types.CreatePropertyCollector{This: c.ServiceContent.PropertyCollector})
	if err != nil {
		res = &types.CreatePropertyCollectorResponse{}
	}

	return f.objects.made(&f.objects.collector, res.Returnval, "property collector", err)
}

func (f *feed) makeView(ctx context.Context, c *vim25.Client) error {
	if f.objects.view != (Ref{}) {
		return nil
	}
	res, err := methods.CreateContainerView(ctx, c, &types.CreateContainerView{
		This:      *c.ServiceContent.ViewManager,
		Container: c.ServiceContent.RootFolder,
		Type:      viewTypes,
		Recursive: true,
	})
	if err != nil {
		res = &types.CreateContainerViewResponse{}
	}

	return f.objects.made(&f.objects.view, res.Returnval, "container view", err)
}

func (f *feed) makeFilter(ctx context.Context, c *vim25.Client) error {
	if f.objects.filter != (Ref{}) {
		return nil
	}
	// Without partial updates a change comes under the requested path.
	res, err := methods.CreateFilter(ctx, c, &types.CreateFilter{This: f.objects.collector, Spec: filterSpec(f.objects.view)})
	if isGone(err) {
		f.objects.abandon() // they were made in a session that has ended
	}
	if err != nil {
		res = &types.CreateFilterResponse{}
	}

	return f.objects.made(&f.objects.filter, res.Returnval, "property filter", err)
}

// adopt looks for a view or a filter that was made by a call without a response.
// A vCenter lists both, but not property collectors: one of those takes nothing
// without a filter and ends with the session.
func (f *feed) adopt(ctx context.Context, c *vim25.Client) error {
	o := &f.objects
	if !o.unsure || o.collector == (Ref{}) {
		return nil
	}
	from, property, at := *c.ServiceContent.ViewManager, "viewList", &o.view
	if o.view != (Ref{}) {
		from, property, at = o.collector, "filter", &o.filter
	}
	found, err := listed(ctx, c, from, property)
	if isGone(err) {
		o.abandon()
	}
	if err != nil {
		return err
	}
	o.unsure = false
	for _, r := range found {
		switch {
		case slices.Contains(o.left, r):
		case *at == (Ref{}):
			*at = r
		default:
			o.left = append(o.left, r)
		}
	}

	return nil
}

// listed reads a property that lists objects.
func listed(ctx context.Context, c *vim25.Client, from Ref, property string) ([]Ref, error) {
	contents, err := mo.RetrievePropertiesEx(ctx, c, types.RetrievePropertiesEx{
		This: c.ServiceContent.PropertyCollector,
		SpecSet: []types.PropertyFilterSpec{{
			ObjectSet: []types.ObjectSpec{{Obj: from}},
			PropSet:   []types.PropertySpec{{Type: from.Type, PathSet: []string{property}}},
		}},
	})
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", property, from.Value, err)
	}
	var found []Ref
	for _, content := range contents {
		for _, p := range content.PropSet {
			for _, r := range as[types.ArrayOfManagedObjectReference](p.Val).ManagedObjectReference {
				found = append(found, Ref{Type: r.Type, Value: r.Value})
			}
		}
	}

	return found, nil
}

// remove removes what is not wanted any more. What is not there, such as after a
// new login, is as good as removed.
func (f *feed) remove(ctx context.Context, c *vim25.Client) error {
	var failed []error
	f.objects.left = slices.DeleteFunc(f.objects.left, func(r Ref) bool {
		err := destroy(ctx, c, r)
		if err != nil && !isGone(err) {
			failed = append(failed, fmt.Errorf("destroy %s: %w", r.Value, err))

			return false
		}

		return true
	})

	return errors.Join(failed...)
}

func destroy(ctx context.Context, c *vim25.Client, r Ref) error {
	var err error
	switch r.Type {
	case "PropertyCollector":
		_, err = methods.DestroyPropertyCollector(ctx, c, &types.DestroyPropertyCollector{This: r})
	case "PropertyFilter":
		_, err = methods.DestroyPropertyFilter(ctx, c, &types.DestroyPropertyFilter{This: r})
	default:
		_, err = methods.DestroyView(ctx, c, &types.DestroyView{This: r})
	}

	return err //nolint:wrapcheck // the caller names it
}

// close removes everything when ctx has ended.
func (f *feed) close(ctx context.Context) {
	f.objects.abandon()
	if len(f.objects.left) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(closeTimeout, f.cfg.CallTimeout))
	defer cancel()
	for {
		err := f.client.SOAP(ctx, f.remove)
		if err == nil {
			return
		}
		if isFault(err) || errors.Is(err, session.ErrClosed) || !sleep(ctx, f.cfg.MinBackoff/4) {
			klog.FromContext(ctx).V(2).Info("Left objects behind in vCenter, they end with the session", "err", err)

			return
		}
	}
}
