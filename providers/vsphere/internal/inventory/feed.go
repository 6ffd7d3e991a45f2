package inventory

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"k8s.io/klog/v2"
)

// feed follows the changes of one vCenter. It belongs to one goroutine.
type feed struct {
	*Inventory

	objects objects
	poller  poller

	version string // of the latest response, empty to read the whole inventory
	reading bool   // the whole inventory is being read
	rereads rereads
	outage  outage
}

func newFeed(i *Inventory) *feed {
	return &feed{Inventory: i, poller: newPoller(i), rereads: rereads{period: i.cfg.RereadPeriod}}
}

// Run follows the changes of the vCenter until ctx ends. It must run once only.
// What it made in the vCenter is removed at the end if the vCenter responds within
// a few seconds.
//
// A call that fails is made again after a short time, and the change feed goes on
// where it was: no change is lost by that. Where the vCenter has lost the feed, the
// whole inventory is read again, each time after a longer time unless the feed
// lasted for some minutes.
func (i *Inventory) Run(ctx context.Context) {
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithValues("vCenter", i.cfg.Name))
	f := newFeed(i)
	defer f.close(ctx)

	for restarts := 0; ; restarts++ {
		began := time.Now()
		err := f.follow(ctx)
		i.health.lost(err)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) >= i.cfg.SettledAfter {
			restarts = 0
		}
		delay := backoff(restarts, i.cfg.MinBackoff, i.cfg.MaxRestartBackoff)
		f.outage.log(ctx, "Change feed of vCenter starts over", err, delay)
		if !sleep(ctx, delay) {
			return
		}
	}
}

// backoff grows with the number of failures; half of it is chance, so that many
// controllers do not come back at once.
func backoff(failures int, first, most time.Duration) time.Duration {
	delay := most
	if failures < 20 {
		delay = min(most, first<<failures)
	}

	return delay/2 + rand.N(delay/2+1)
}

// sleep returns false when ctx ended it. It makes no timer for a time that has
// passed: Go 1.26 can crash in one, with the race detector in a bubble of synctest.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// maxFaults is how often the same changes are requested from a vCenter that
// returns an error instead.
const maxFaults = 5

// follow reads the whole inventory and then its changes, until the feed has to
// start over.
func (f *feed) follow(ctx context.Context) error {
	f.begin(false)
	for failures := 0; ; failures++ {
		began := time.Now()
		err := f.advance(ctx)
		switch {
		case err == nil:
			failures = -1

			continue
		case ctx.Err() != nil:
			return ctx.Err() //nolint:wrapcheck // it is our own
		case isLost(err), failures >= maxFaults && f.objects.complete() && isFault(err):
			f.lose(ctx, err)

			return err
		}
		f.health.lost(err)
		delay := f.retryDelay(failures)
		delay = max(0, delay-time.Since(began)) // a vCenter that hung was waited for already
		f.outage.log(ctx, "Change feed of vCenter is interrupted", err, delay)
		if !sleep(ctx, delay) {
			return ctx.Err() //nolint:wrapcheck // it is our own
		}
	}
}

// retryDelay is short at first: something in between may have cut one connection.
func (f *feed) retryDelay(failures int) time.Duration {
	if failures == 0 {
		return 0
	}

	return backoff(failures-1, f.cfg.MinBackoff/4, f.cfg.MaxBackoff)
}

// advance makes what the feed needs in the vCenter, or takes over one page of
// changes.
func (f *feed) advance(ctx context.Context) error {
	if !f.objects.complete() {
		return f.open(ctx)
	}
	set, err := f.poller.next(ctx, f)
	if err != nil {
		return err
	}
	f.take(ctx, set)

	return nil
}

// begin reads the whole inventory next.
func (f *feed) begin(verifying bool) {
	f.version, f.reading = "", true
	f.rereads.verifying = verifying
	f.store.beginReading(verifying)
}

// take takes over one page of changes. Nothing at all means that nothing has
// changed.
func (f *feed) take(ctx context.Context, set *types.UpdateSet) {
	now := f.cfg.Clock.Now()
	updates, unreadable := updatesOf(set)
	f.rereads.unreadable = f.rereads.unreadable || unreadable
	f.store.responded(now, f.poller.allowed)
	f.store.apply(updates, now)
	if set != nil {
		f.version = set.Version
	}
	f.poller.pages = set != nil && set.Truncated != nil && *set.Truncated
	switch {
	case f.poller.pages && (!f.reading || !f.rereads.verifying):
		return // a part of an inventory, or of what has changed, is none
	case f.poller.pages: // a page of what is known already shows that the vCenter responds
	case f.reading:
		f.publish(ctx)
	default:
		f.store.endUpdate()
	}
	f.health.markCurrent(now)
	f.outage.end(ctx)
	if !f.poller.pages && f.rereads.due(now) {
		f.poller.relax(f.Inventory)
		f.begin(true)
	}
}

// publish ends a reading of the whole inventory.
func (f *feed) publish(ctx context.Context) {
	corrected := f.store.endReading()
	f.reading = false
	f.rereads.done(f.cfg.Clock.Now())
	vms, ancestors := f.store.size()
	log := klog.FromContext(ctx)
	if f.rereads.verifying {
		f.cfg.Corrected(corrected)
		log.V(2).Info("Read the inventory of vCenter again", "vms", vms, "ancestors", ancestors, "corrected", corrected)

		return
	}
	log.V(2).Info("Read the inventory of vCenter", "vms", vms, "ancestors", ancestors)
	if err := f.store.searchable(); err != nil {
		log.Error(err, "No VM of vCenter can be reported gone")
	}
}

const (
	// outageLogPeriod is how often it is logged that a vCenter is still not followed.
	outageLogPeriod = 10 * time.Minute
	// outageSettled is how long a vCenter must have been followed for the next outage
	// to be logged at once.
	outageSettled = time.Minute
)

// outage logs when a vCenter cannot be followed: at the beginning, every ten minutes
// and at the end. One that is interrupted all the time is logged every ten minutes.
type outage struct{ began, ended, logged time.Time }

// log logs one failure.
func (o *outage) log(ctx context.Context, message string, err error, retryIn time.Duration) {
	now, level := time.Now(), 0
	if o.began.IsZero() {
		o.began = now
		if now.Sub(o.ended) >= outageSettled {
			o.logged = time.Time{}
		}
	}
	if now.Sub(o.logged) < outageLogPeriod {
		level = 4
	} else {
		o.logged = now
	}
	klog.FromContext(ctx).V(level).Info(message, "err", err, "retryIn", retryIn, "since", o.began)
}

// end notes that the vCenter is followed.
func (o *outage) end(ctx context.Context) {
	if o.began.IsZero() {
		return
	}
	if !o.logged.Before(o.began) {
		klog.FromContext(ctx).Info("Change feed of vCenter works again", "after", time.Since(o.began))
	}
	o.began, o.ended = time.Time{}, time.Now()
}

// rereads schedules reading the whole inventory again. That corrects what a feed
// has lost.
type rereads struct {
	period     time.Duration
	at         time.Time // of the next one
	verifying  bool      // the reading under way is one of these
	unreadable bool      // the vCenter could not read something that is there
	early      time.Duration
}

// firstEarly is how soon the inventory is read again when the vCenter could not
// read some of it; the time doubles as long as it cannot.
const firstEarly = time.Minute

func (r *rereads) due(now time.Time) bool {
	if r.unreadable && r.early == 0 {
		r.done(now)
	}

	return !r.at.IsZero() && !now.Before(r.at)
}

// done plans the next one.
func (r *rereads) done(now time.Time) {
	if r.unreadable {
		r.early = min(max(firstEarly, 2*r.early), r.period)
	} else {
		r.early = 0
	}
	wait := r.period
	if r.early > 0 {
		wait = r.early
	}
	r.unreadable = false
	r.at = now.Add(wait - wait/20 + rand.N(wait/10+1))
}
