package inventory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"k8s.io/utils/clock"
)

// Client makes calls to one vCenter within a session that it keeps logged in.
//
// Both methods run fn with a logged-in client and return its error, wrapped or
// not. When the session has ended they can log in again and run fn a second
// time, so fn must be repeatable. They end soon after ctx does, and take away
// nothing of the time that ctx leaves to fn but what a login needs.
type Client interface {
	SOAP(ctx context.Context, fn func(context.Context, *vim25.Client) error) error
	REST(ctx context.Context, fn func(context.Context, *rest.Client) error) error
}

// Config defines what to watch, and the timeouts. Zero durations mean the
// defaults.
type Config struct {
	// Name is the vCenter in messages.
	Name string
	// Datacenters are those whose VMs count: names, inventory paths,
	// "Datacenter:" and a managed object ID, or that ID alone. None means all.
	Datacenters []string
	// ZoneCategory and RegionCategory are the tag categories that make zones and
	// regions. Each can be empty.
	ZoneCategory   string
	RegionCategory string

	// MaxWait is how long the vCenter may hold back a response while nothing
	// changes, in whole seconds. A vCenter that did not respond for a while is
	// noticed to be back no later than that and Margin. Default 10 s.
	MaxWait time.Duration
	// Margin is how much later than MaxWait the response may arrive. It grows for
	// a vCenter that takes longer. Default 4 s.
	Margin time.Duration
	// PollPeriod is the shortest time from one poll to the next, except while an
	// response has more pages. Default 500 ms.
	PollPeriod time.Duration
	// CallTimeout bounds all other calls. The attempt to follow the changes gets
	// 8 s of it at most, a call about tags half of it and 7 s at most. Default
	// 30 s.
	CallTimeout time.Duration
	// StaleAfter is the age at which the inventory is not current any more.
	// Default 75 s.
	StaleAfter time.Duration
	// MinBackoff and MaxBackoff bound the time between two attempts of a call that
	// failed. Defaults 1 s and 5 s.
	MinBackoff time.Duration
	MaxBackoff time.Duration
	// MaxRestartBackoff bounds the time before the whole inventory is read again
	// because the vCenter has lost the change feed. Default 1 min.
	MaxRestartBackoff time.Duration
	// SettledAfter is how long a change feed must last for the next restart to be
	// a first one. Default 5 min.
	SettledAfter time.Duration
	// RereadPeriod is how often the whole inventory is read again, more or less.
	// Default 1 h.
	RereadPeriod time.Duration
	// Corrected is called with the number of objects that such a reading corrected.
	// It must not block. Nil means that it is not called.
	Corrected func(objects int)
	// TagTTL is how old the knowledge may be which object has which tag, and
	// that there is no such tag. Default 1 min.
	TagTTL time.Duration
	// TagNameTTL is how old the names of tags and categories may be. Default
	// 10 min.
	TagNameTTL time.Duration
	// TagErrorTTL is how long a failure to read tags is returned to all who
	// read after it. Default 2 s.
	TagErrorTTL time.Duration
	// TagRetryDelay is the time before a call about tags is repeated that the
	// vCenter rejected because of too many calls. The limit is one per second.
	// Default 1 s.
	TagRetryDelay time.Duration

	// DetailsTTL is how old the details of a VM may be that were returned
	// before. Default 2 s.
	DetailsTTL time.Duration
	// DetailsErrorTTL is how long an error is returned for a VM whose details could
	// not be read. Default 2 s, less than the time between two attempts for a Node.
	DetailsErrorTTL time.Duration
	// Wanted lists the VMs whose details are likely to be needed soon: those of
	// all Nodes. Nil means none.
	Wanted func() []Query

	// Clock is that of the ages; by default it is the real one.
	Clock clock.PassiveClock
	// Observe is called with the status after each response of the feed and
	// each failure, without the counts. It must not block.
	Observe func(Status)
}

func (c Config) withDefaults() Config {
	c.MaxWait = cmp.Or(c.MaxWait, 10*time.Second)
	c.MaxWait = max(c.MaxWait.Truncate(time.Second), time.Second)
	c.Margin = cmp.Or(c.Margin, 4*time.Second)
	c.PollPeriod = cmp.Or(c.PollPeriod, 500*time.Millisecond)
	c.CallTimeout = cmp.Or(c.CallTimeout, 30*time.Second)
	c.StaleAfter = cmp.Or(c.StaleAfter, 75*time.Second)
	c.MinBackoff = cmp.Or(c.MinBackoff, time.Second)
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 5*time.Second)
	c.MaxRestartBackoff = cmp.Or(c.MaxRestartBackoff, time.Minute)
	c.SettledAfter = cmp.Or(c.SettledAfter, 5*time.Minute)
	c.RereadPeriod = cmp.Or(c.RereadPeriod, time.Hour)
	c.TagTTL = cmp.Or(c.TagTTL, time.Minute)
	c.TagNameTTL = cmp.Or(c.TagNameTTL, 10*time.Minute)
	c.TagErrorTTL = cmp.Or(c.TagErrorTTL, 2*time.Second)
	c.TagRetryDelay = cmp.Or(c.TagRetryDelay, time.Second)
	c.DetailsTTL = cmp.Or(c.DetailsTTL, 2*time.Second)
	c.DetailsErrorTTL = cmp.Or(c.DetailsErrorTTL, 2*time.Second)
	if c.Wanted == nil {
		c.Wanted = func() []Query { return nil }
	}
	if c.Corrected == nil {
		c.Corrected = func(int) {}
	}
	c.Clock = cmp.Or[clock.PassiveClock](c.Clock, clock.RealClock{})
	if c.Observe == nil {
		c.Observe = func(Status) {}
	}

	return c
}

// Inventory is what one vCenter has. It is safe for concurrent use; it reads
// nothing unless [Inventory.Run] is running.
type Inventory struct {
	cfg     Config
	client  *identified
	store   *store
	tags    *tagger
	details *describer
	health  *health
	// noMetadata is set once the vCenter has refused to return guestinfo.
	noMetadata atomic.Bool
	replacedAt atomic.Pointer[time.Time]
}

// New returns an empty Inventory. It makes no call.
func New(client Client, cfg Config) *Inventory {
	cfg = cfg.withDefaults()

	i := &Inventory{
		cfg:    cfg,
		client: &identified{Client: client},
		store:  newStore(cfg.Datacenters),
		tags:   newTagger(client, cfg),
		health: newHealth(cfg.Observe),
	}
	i.client.replaced = i.replaced
	i.details = newDescriber(i)

	return i
}

// Status is the state of the inventory and its change feed.
type Status struct {
	// Synced means that the whole inventory has been read at least once.
	Synced bool
	// Connected means that the changes since then are being followed.
	Connected bool
	// LastResponse is when the vCenter last said that nothing more has changed, or
	// sent a page of the inventory while it was read again.
	LastResponse time.Time
	// Err is why the inventory is not connected; nil at the very start.
	Err error
	// Incomplete is why no VM can be reported gone however well all is
	// connected: a configured datacenter is not there, or none can be read.
	Incomplete error
	// VMs and Ancestors count what is held: virtual machines, whether they count or
	// not, and the objects of the tree around them.
	VMs       int
	Ancestors int
}

// Status returns the status.
func (i *Inventory) Status() Status {
	status := i.health.status()
	status.VMs, status.Ancestors = i.store.size()
	if status.Synced {
		status.Incomplete = i.store.searchable()
	}

	return status
}

// Current is nil while the inventory is complete, connected and fresh. What
// Find returns at other times was true once: the VM is there, but it may have
// been switched on or off since.
func (i *Inventory) Current() error {
	s := i.health.status()
	switch {
	case !s.Synced && s.Err != nil:
		return fmt.Errorf("%w: %w", errNotSynced, s.Err)
	case !s.Synced:
		return errNotSynced
	case !s.Connected:
		return fmt.Errorf("change feed is not connected: %w", s.Err)
	}
	if age := i.cfg.Clock.Since(s.LastResponse); age > i.cfg.StaleAfter {
		return fmt.Errorf("change feed: no response for %s", age.Round(time.Second))
	}

	return nil
}

// WaitSynced waits until the whole inventory has been read once.
func (i *Inventory) WaitSynced(ctx context.Context) error {
	select {
	case <-i.health.synced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for inventory of vCenter %s: %w", i.cfg.Name, errors.Join(ctx.Err(), i.health.status().Err))
	}
}

// health is the state of the feed.
type health struct {
	synced  chan struct{} // closed with the first inventory
	observe func(Status)

	mu  sync.Mutex
	now Status
}

func newHealth(observe func(Status)) *health {
	return &health{synced: make(chan struct{}), observe: observe}
}

func (h *health) status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.now
}

// markCurrent records that nothing more was known to have changed at the given time.
func (h *health) markCurrent(at time.Time) {
	h.change(func(now *Status) {
		if !now.Synced {
			close(h.synced)
		}
		now.Synced, now.Connected, now.LastResponse, now.Err = true, true, at, nil
	})
}

// lost notes that changes go unnoticed from now on.
func (h *health) lost(err error) {
	h.change(func(now *Status) { now.Connected, now.Err = false, err })
}

func (h *health) change(apply func(now *Status)) {
	h.mu.Lock()
	apply(&h.now)
	now := h.now
	h.mu.Unlock()
	h.observe(now)
}
