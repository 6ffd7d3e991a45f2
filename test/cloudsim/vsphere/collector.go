package vsphere

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// maxUpdates is a vCenter's own limit of objects in one response, whatever its
// client asks for. https://github.com/vmware/govmomi/issues/1893
const maxUpdates = 100

// collector replaces vcsim's property collector, which reads the whole inventory
// again for every change and drops a response that its client never got. This
// one reads what changed, and keeps what it sent, so that a client can request
// again for what came after any version that was not truncated.
type collector struct {
	simulator.PropertyCollector

	v       *VCenter
	filters []*filter
	version int           // of the last response
	sent    []sent        // the responses since the last empty version, the oldest first
	pending []change      // found and not yet sent
	cancel  chan struct{} // closed to end the wait in progress, nil without one
}

// change is one object's update under one filter, or that it cannot be read.
type change struct {
	filter  types.ManagedObjectReference
	update  types.ObjectUpdate
	missing *types.MissingObject
}

// sent is one response.
type sent struct {
	version   int
	truncated bool
	changes   []change
}

// maxSent is how many responses are kept.
const maxSent = 1000

func newCollector(v *VCenter) *collector { return &collector{v: v} }

// CreatePropertyCollector implements the method of that name.
func (c *collector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	child := newCollector(c.v)
	child.Self.Type = "PropertyCollector"
	ctx.Session.Put(child)

	return &methods.CreatePropertyCollectorBody{Res: &types.CreatePropertyCollectorResponse{Returnval: child.Self}}
}

// DestroyPropertyCollector implements the method of that name.
func (c *collector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	c.endWait()
	for _, f := range c.filters {
		ctx.Session.Remove(ctx, f.Self)
	}
	ctx.Session.Remove(ctx, req.This)

	return &methods.DestroyPropertyCollectorBody{Res: new(types.DestroyPropertyCollectorResponse)}
}

// CreateFilter implements the method of that name.
func (c *collector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	body := new(methods.CreateFilterBody)
	if fault := checkProperties([]types.PropertyFilterSpec{req.Spec}); fault != nil {
		body.Fault_ = simulator.Fault("", fault)

		return body
	}
	f := &filter{collector: c, known: make(map[types.ManagedObjectReference]properties)}
	f.Self.Type = "PropertyFilter"
	f.Spec, f.PartialUpdates = req.Spec, req.PartialUpdates
	ctx.Session.Put(f)
	c.filters = append(c.filters, f)
	c.Filter = append(c.Filter, f.Self)
	c.v.feed.wakeAll()
	body.Res = &types.CreateFilterResponse{Returnval: f.Self}

	return body
}

// WaitForUpdatesEx implements the method of that name.
func (c *collector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	set, fault := c.wait(ctx, req.Version, req.Options)
	if fault != nil {
		return &methods.WaitForUpdatesExBody{Fault_: simulator.Fault("", fault)}
	}

	return &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: set}}
}

// wait returns what changed since version, waiting for it as options allow. It
// returns nil when the time is over. It is called with mu held, and releases it
// while it sleeps.
func (c *collector) wait(ctx *simulator.Context, version string, options *types.WaitOptions) (*types.UpdateSet, types.BaseMethodFault) {
	c.endWait() // a client that comes back has given up its earlier call
	if fault := c.rewind(version); fault != nil {
		return nil, fault
	}
	limit := updateLimit(options, cmp.Or(c.v.policy.updatePage, maxUpdates))
	deadline, stop := waitLimit(options, c.v.policy.earlyNull)
	defer stop()
	calculated, done := c.v.policy.calculating()
	defer done()
	calling, cancel := c.v.calling, make(chan struct{})
	c.cancel = cancel
	defer func() {
		if c.cancel == cancel {
			c.cancel = nil
		}
	}()
	for {
		moment := c.v.feed.moment()
		c.collect(ctx, moment)
		found := len(c.pending) > 0 || version == ""
		switch {
		case found && isOver(calculated):
			return c.respond(limit), nil
		case found:
			c.sleep(ctx.Session.Key, nil, calculated, cancel, calling.Done())
		case isOver(deadline):
			return nil, nil
		default:
			c.sleep(ctx.Session.Key, moment.wake, deadline, cancel, calling.Done())
		}
		switch {
		case !c.v.sessions.alive(ctx.Session.Key):
			return nil, new(types.NotAuthenticated)
		case c.cancel != cancel || calling.Err() != nil:
			return nil, new(types.RequestCanceled)
		}
	}
}

// sleep lets other calls run until one of the events happens.
func (c *collector) sleep(session string, wake <-chan struct{}, deadline, cancel, gone <-chan struct{}) {
	c.v.sessions.polling[session]++
	c.v.mu.Unlock()
	select {
	case <-wake:
	case <-deadline:
	case <-cancel:
	case <-gone:
	}
	c.v.mu.Lock()
	if c.v.sessions.polling[session]--; c.v.sessions.polling[session] == 0 {
		delete(c.v.sessions.polling, session)
	}
}

// endWait ends the wait in progress, if any.
func (c *collector) endWait() {
	if c.cancel != nil {
		close(c.cancel)
		c.cancel = nil
	}
}

// rewind makes what came after version pending again. A version is the empty one,
// that of the last response, or that of any earlier one that was not truncated.
// https://developer.broadcom.com/xapis/virtual-infrastructure-json-api/latest/data-structures/WaitForUpdatesExRequestType
func (c *collector) rewind(version string) types.BaseMethodFault {
	switch version {
	case "":
		c.pending, c.sent = nil, nil
		for _, f := range c.filters {
			f.reset()
		}

		return nil
	case strconv.Itoa(c.version):
		return nil
	}
	i := slices.IndexFunc(c.sent, func(s sent) bool { return strconv.Itoa(s.version) == version })
	if i < 0 || c.sent[i].truncated {
		return new(types.InvalidCollectorVersion)
	}
	var again []change
	for _, s := range c.sent[i+1:] {
		again = append(again, s.changes...)
	}
	c.pending = append(again, c.pending...)
	c.sent = c.sent[:i+1]

	return nil
}

// collect appends what the filters find to what is pending.
func (c *collector) collect(ctx *simulator.Context, at moment) {
	if len(c.pending) > 0 {
		return // pages of an earlier moment go out first
	}
	for _, f := range c.filters {
		c.pending = append(c.pending, f.changes(ctx, at)...)
	}
}

// respond takes up to limit pending changes.
func (c *collector) respond(limit int) *types.UpdateSet {
	c.version++
	set := &types.UpdateSet{Version: strconv.Itoa(c.version)}
	if len(c.pending) > limit {
		set.Truncated = new(true)
	}
	page := c.pending[:min(limit, len(c.pending))]
	c.pending = c.pending[len(page):]
	for _, p := range page {
		n := len(set.FilterSet)
		if n == 0 || set.FilterSet[n-1].Filter != p.filter {
			set.FilterSet = append(set.FilterSet, types.PropertyFilterUpdate{Filter: p.filter})
			n++
		}
		if p.missing != nil {
			set.FilterSet[n-1].MissingSet = append(set.FilterSet[n-1].MissingSet, *p.missing)

			continue
		}
		set.FilterSet[n-1].ObjectSet = append(set.FilterSet[n-1].ObjectSet, p.update)
	}
	c.sent = append(c.sent, sent{c.version, set.Truncated != nil, page})
	c.sent = c.sent[max(0, len(c.sent)-maxSent):]

	return set
}

// updateLimit returns how many objects a response may hold, at most those that the vCenter allows.
func updateLimit(options *types.WaitOptions, most int) int {
	if options == nil || options.MaxObjectUpdates <= 0 {
		return most
	}

	return min(most, int(options.MaxObjectUpdates))
}

// waitLimit returns a channel that is closed, and stays closed, when the wait is
// over: never, or after MaxWaitSeconds, which may be at once, or after early if
// that is set and sooner.
func waitLimit(options *types.WaitOptions, early time.Duration) (<-chan struct{}, context.CancelFunc) {
	if options == nil || options.MaxWaitSeconds == nil {
		return nil, func() {}
	}
	wait := time.Duration(*options.MaxWaitSeconds) * time.Second
	if early > 0 {
		wait = min(wait, early)
	}
	limit, stop := context.WithTimeout(context.Background(), wait)

	return limit.Done(), stop
}

// isOver reports whether a channel is closed.
func isOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
