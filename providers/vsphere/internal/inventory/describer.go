package inventory

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/batch"
)

const (
	// gatherWindow is how long the first caller waits for others to share a call.
	gatherWindow = 100 * time.Millisecond
	// detailsTimeout bounds a call and the wait for the one before. Together with
	// the window it is less than the 8 s that an attempt to describe a Node may
	// take: callers get the error of the call and do not leave before.
	detailsTimeout = 7 * time.Second
	// minLimit is the fewest VMs that a call has room for, however slow the vCenter is,
	// maxLimit the most. The first call has room for firstLimit.
	minLimit, firstLimit, maxLimit = 10, 250, 1000
	// maxGathered is how many callers share a call at most.
	maxGathered = 100
	// maxReads is how many calls are made at once. A response can have 16 MB: VMware Tools report up
	// to 16 interfaces, as a Node has one for each Pod, of about 1 KB each.
	// https://github.com/vmware/open-vm-tools/blob/master/open-vm-tools/lib/guestRpc/nicinfo.x
	maxReads = 2
	// unusedTTL is the age at which details that no caller has had are of no use
	// any more.
	unusedTTL = time.Minute
	// regularly is the longest time between two callers for a VM that is described
	// regularly: the Nodes are updated every five minutes.
	regularly = 15 * time.Minute
)

// describer reads details of VMs, those of many in one call. It is safe for
// concurrent use.
type describer struct {
	inventory *Inventory
	batch     *batch.Batcher[Ref, *Details]
	timeout   time.Duration
	slots     chan struct{} // one for each call in progress

	mu     sync.Mutex
	known  map[Ref]*description
	visits map[Ref]visit
	limit  int // of VMs in one call
}

// description is the details of one VM with what they are worth.
type description struct {
	details *Details
	err     error
	begun   time.Time // when the call that read them began
	ended   time.Time
	used    bool // whether they were returned before
}

// visit is when a VM was last described and when the latest call for it began.
// Either can be zero.
type visit struct {
	queried, read time.Time
}

func newDescriber(i *Inventory) *describer {
	d := &describer{
		inventory: i,
		timeout:   min(i.cfg.CallTimeout, detailsTimeout),
		slots:     make(chan struct{}, maxReads),
		known:     map[Ref]*description{},
		visits:    map[Ref]visit{},
		limit:     firstLimit,
	}
	d.batch = batch.New(d.read, batch.Options{Window: gatherWindow, MaxSize: maxGathered, Timeout: d.timeout})

	return d
}

func (d *describer) get(ctx context.Context, vm *VM) (*Details, error) {
	if details, err, ok := d.recent(vm); ok {
		return details, err
	}
	details, err := d.batch.Get(ctx, vm.Ref)
	if err == nil {
		d.use(vm.Ref)
	}

	return details, err //nolint:wrapcheck // the caller names the VM
}

// recent returns what is known well enough.
func (d *describer) recent(vm *VM) (*Details, error, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()

	now := d.inventory.cfg.Clock.Now()
	d.visits[vm.Ref] = visit{queried: now, read: d.visits[vm.Ref].read}
	known, ok := d.known[vm.Ref]
	if !ok || known.begun.Before(vm.Observed) {
		return nil, nil, false
	}
	limit := d.inventory.cfg.DetailsTTL
	switch {
	case known.err != nil:
		limit = d.inventory.cfg.DetailsErrorTTL
	case !known.used:
		limit = max(limit, unusedTTL)
	}
	if now.Sub(known.ended) > limit {
		return nil, nil, false
	}
	known.used = true

	return known.details, known.err, true
}

// forget drops everything that was read.
func (d *describer) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()

	clear(d.known)
	clear(d.visits)
}

func (d *describer) use(r Ref) {
	d.mu.Lock()
	defer d.mu.Unlock()

	if known, ok := d.known[r]; ok {
		known.used = true
	}
}

// read makes a call for the given VMs and for others that share it, or more calls if
// the vCenter is too slow for one. A call that fails is the error of its own VMs.
func (d *describer) read(ctx context.Context, keys []Ref) (map[Ref]batch.Result[*Details], error) {
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	begun := d.inventory.cfg.Clock.Now()
	results := detailsOf{}
	for rest := d.choose(keys, begun); len(rest) > 0; {
		chunk := rest[:min(len(rest), d.size())]
		rest = rest[len(chunk):]
		started := d.inventory.cfg.Clock.Now()
		part, err := d.inventory.readDetails(ctx, chunk)
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, ctx.Err() // no caller is left: it proves nothing about the VMs
		}
		d.adapt(len(chunk), d.inventory.cfg.Clock.Now().Sub(started), err)
		for _, r := range chunk {
			results[r] = part[r]
			if err != nil {
				results[r] = batch.Result[*Details]{Err: err}
			}
		}
	}
	d.keep(results, begun)

	return results, nil
}

// keep stores what was read, for others and for later.
func (d *describer) keep(results detailsOf, begun time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()

	now := d.inventory.cfg.Clock.Now()
	maps.DeleteFunc(d.known, func(_ Ref, known *description) bool { return now.Sub(known.ended) > unusedTTL })
	for r, result := range results {
		d.known[r] = &description{details: result.Value, err: result.Err, begun: begun, ended: now}
	}
}

func (d *describer) size() int {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.limit
}

// adapt halves the number of VMs in a call when one has taken too long, and doubles it
// again when a call of as many takes less than a quarter of the time.
func (d *describer) adapt(n int, took time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()

	switch {
	case errors.Is(err, context.DeadlineExceeded):
		d.limit = min(d.limit, max(n/2, minLimit))
	case err == nil && n >= d.limit && took < d.timeout/4:
		d.limit = min(2*d.limit, maxLimit)
	}
}

// choose returns the VMs to read: the given ones, and others as far as one call has
// room for them. Those are the VMs that were never read and, if one of the given ones
// was read before, those that were read at about the same time or earlier: all Nodes
// are updated one after the other. A Node that joins costs no reading of the others.
func (d *describer) choose(keys []Ref, now time.Time) []Ref {
	wanted := d.inventory.wanted()
	d.mu.Lock()
	defer d.mu.Unlock()

	maps.DeleteFunc(d.visits, func(_ Ref, v visit) bool { return now.Sub(v.queried) > regularly && now.Sub(v.read) > regularly })
	var latest time.Time
	for _, r := range keys {
		if at := d.visits[r].read; at.After(latest) {
			latest = at
		}
	}
	chosen := slices.Clone(keys)
	for _, r := range d.candidates(wanted, now) {
		if len(chosen) >= d.limit {
			break
		}
		read := d.visits[r].read
		due := read.IsZero() || !latest.IsZero() && read.Before(latest.Add(unusedTTL))
		if due && !slices.Contains(keys, r) {
			chosen = append(chosen, r)
		}
	}
	for _, r := range chosen {
		d.visits[r] = visit{queried: d.visits[r].queried, read: now}
	}

	return chosen
}

// candidates returns the wanted VMs and those that are described regularly and still
// exist, those that were read longest ago first. It is called with mu held.
func (d *describer) candidates(wanted []Ref, now time.Time) []Ref {
	var regular []Ref
	for r, v := range d.visits {
		if now.Sub(v.queried) <= regularly {
			regular = append(regular, r)
		}
	}
	all := slices.Concat(wanted, d.inventory.store.present(regular))
	slices.SortFunc(all, func(a, b Ref) int {
		return cmp.Or(d.visits[a].read.Compare(d.visits[b].read), byValue(a, b))
	})

	return slices.Compact(all)
}

// wanted lists the VMs of [Config.Wanted], as far as they are known. Before the whole
// inventory has been read, the first VMs do not wait for the details of others.
func (i *Inventory) wanted() []Ref {
	if !i.health.status().Synced {
		return nil
	}
	var refs []Ref
	for _, q := range i.cfg.Wanted() {
		refs = append(refs, i.store.matching(q)...)
	}

	return refs
}
