package inventory

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// maxObjectUpdates is how many objects one response may have, so that it
	// arrives in time; minObjectUpdates is what is requested from a slow
	// vCenter.
	maxObjectUpdates = 500
	minObjectUpdates = 25
	// maxMargin is the longest that one response may take.
	maxMargin = 5 * time.Minute
	// shortCut is how long a call must have waited for its end to be the doing of
	// something in between that does not like to wait.
	shortCut = 1500 * time.Millisecond
	// probeTimeout bounds the call that finds out whether a vCenter responds.
	probeTimeout = 5 * time.Second
)

// poller waits for changes. What fails is requested again with the same version,
// which costs nothing: a vCenter keeps the changes since any version that was not
// truncated.
// https://developer.broadcom.com/xapis/vsphere-web-services-api/latest/vmodl.query.PropertyCollector.html
type poller struct {
	wait    time.Duration // how long the vCenter may hold back a response
	margin  time.Duration // how much later it may arrive
	objects int32         // in one response
	pages   bool          // the latest response has more of them

	began time.Time // of the latest poll
	// allowed is how long after the response before it that of the latest poll may
	// arrive, zero after a poll that failed.
	allowed time.Duration
	failed  bool      // the latest poll failed
	late    bool      // it had no response in time
	cut     time.Time // when polls were last made to wait shorter, or longer again
}

func newPoller(i *Inventory) poller {
	return poller{wait: i.cfg.MaxWait, margin: i.cfg.Margin, objects: maxObjectUpdates}
}

// relax tries once more what was too much for the vCenter, or for something in
// between.
func (p *poller) relax(i *Inventory) {
	*p = poller{wait: i.cfg.MaxWait, margin: i.cfg.Margin, objects: maxObjectUpdates}
}

// next returns the next page of changes, or nothing if there are none. Except for
// more pages of one response it makes no more than two polls a second, however
// much happens: the vCenter gathers the changes meanwhile.
func (p *poller) next(ctx context.Context, f *feed) (*types.UpdateSet, error) {
	if p.late {
		if err := f.probe(ctx); err != nil {
			return nil, err // it does not respond to anything
		}
		p.late = false
		p.margin = min(2*p.margin, max(maxMargin, p.margin))
		p.objects = max(p.objects/2, minObjectUpdates)
	}
	if !p.pages && !f.reading && !p.failed && !sleep(ctx, f.cfg.PollPeriod-time.Since(p.began)) {
		return nil, ctx.Err() //nolint:wrapcheck // it is our own
	}
	if p.wait < f.cfg.MaxWait && time.Since(p.cut) >= f.cfg.SettledAfter {
		p.wait, p.cut = min(2*p.wait, f.cfg.MaxWait), time.Now()
	}
	wait := p.wait
	p.allowed = wait + p.margin + f.cfg.PollPeriod
	if p.failed {
		wait, p.allowed = 0, 0 // to notice the end of the fault soon
	}
	p.began = time.Now()
	set, err := f.poll(ctx, wait)
	p.failed = err != nil
	switch {
	case ctx.Err() != nil:
	case err != nil:
		p.adapt(err)
	case !f.reading && time.Since(p.began) < wait+f.cfg.Margin/2:
		p.margin = max(p.margin/2, f.cfg.Margin) // it was busy, and is no longer
	}

	return set, err
}

// adapt changes how to wait after a poll that failed. One that was cut waits half as
// long the next time, and twice as long again after some minutes without a cut: it may
// have been the vCenter, which has restarted since. One that had no response in time
// has more time and fewer objects the next time, once the vCenter responds to anything
// else.
func (p *poller) adapt(err error) {
	waited := time.Since(p.began)
	switch {
	case isFault(err):
	case isTimeout(err):
		p.late = true
	case waited >= shortCut && waited < p.wait+p.margin:
		p.wait, p.cut = min(p.wait, max((waited/2).Truncate(time.Second), time.Second)), time.Now()
	}
}

// probe makes the cheapest call there is.
func (f *feed) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(probeTimeout, f.cfg.CallTimeout))
	defer cancel()

	return f.client.SOAP(ctx, func(ctx context.Context, c *vim25.Client) error {
		_, err := methods.GetCurrentTime(ctx, c)

		return err
	})
}

// poll requests the changes since the version of the feed. The vCenter responds
// when there are some, or with nothing after the given time.
func (f *feed) poll(ctx context.Context, wait time.Duration) (*types.UpdateSet, error) {
	ctx, cancel := context.WithTimeout(ctx, wait+f.poller.margin)
	defer cancel()

	req := &types.WaitForUpdatesEx{
		This:    f.objects.collector,
		Version: f.version,
		Options: &types.WaitOptions{
			MaxWaitSeconds:   new(int32(wait / time.Second)),
			MaxObjectUpdates: f.poller.objects,
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

// isFault reports whether a vCenter responded with a fault.
func isFault(err error) bool { return apierr.Has[responseError](err) }

// isTimeout reports whether a response was too late.
func isTimeout(err error) bool { return errors.Is(err, context.DeadlineExceeded) }

// isLost reports whether a vCenter no longer has the feed that was requested.
// After any other response, it can be requested again.
func isLost(err error) bool {
	return fault.Is(err, &types.InvalidCollectorVersion{}) || isGone(err) || fault.Is(err, &types.NotAuthenticated{})
}

// isGone reports whether a vCenter does not have the requested object.
func isGone(err error) bool { return fault.Is(err, &types.ManagedObjectNotFound{}) }
