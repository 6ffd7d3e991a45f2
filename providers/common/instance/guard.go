package instance

import (
	"fmt"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// The limit of Node deletions by default: the greater of a number and a share of the
// Nodes of the cluster, in percent.
const (
	defaultDeletions = 20
	defaultShare     = 20
)

const (
	// guardPeriod is for how long a deletion counts, and for how long after the last
	// request for it.
	guardPeriod = 10 * time.Minute
	// heldPeriod is how long after the last request a Node no longer counts as held back:
	// it was deleted by a user, or is ready again.
	heldPeriod = 2 * time.Minute
)

// guard limits how many Nodes may be deleted within a period, whatever the cloud returns:
// a mistake of the cloud, or in finding out what it means, must not cost the cluster. A
// Node has one place, however often its deletion is requested. It is safe for concurrent
// use.
type guard struct {
	clock clock.PassiveClock
	// limit is the configured number, nil for the default and 0 for no limit.
	limit *int32
	// nodes returns how many Nodes the cluster has.
	nodes func() int

	mu      sync.Mutex
	granted map[nodeKey]*place
	held    map[nodeKey]*hold
	ledger  ledger
}

// place is a deletion that counts.
type place struct {
	granted, requested time.Time
	// nodes is how many Nodes the cluster had then.
	nodes int
}

// hold is a Node that is held back.
type hold struct{ since, requested time.Time }

// newGuard returns a guard that has granted nothing.
func newGuard(opts Options) *guard {
	return &guard{
		clock: opts.Clock, limit: opts.DeletionLimit, nodes: opts.Nodes,
		granted: map[nodeKey]*place{}, held: map[nodeKey]*hold{},
	}
}

// request returns nil if the Node may be deleted, else an error that keeps it, and whether
// that is new. Reports are what proves that its instance is gone.
func (g *guard) request(node *v1.Node, ref Ref, reports []Report) (kept error, begins bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, key := g.clock.Now(), keyOf(node)
	g.expire(now)
	if p := g.granted[key]; p != nil {
		p.requested = now

		return nil, false
	}
	used, limit := g.budget(now)
	d := Decision{
		Time: now, Node: node.Name, UID: node.UID, Instance: ref.String(), RequestedBy: lifecycleController,
		Held: limit > 0 && used >= limit, Deletions: used, Limit: limit, Reports: reports,
	}
	if !d.Held {
		d.Deletions++
		g.granted[key] = &place{granted: now, requested: now, nodes: g.nodes()}
		delete(g.held, key)
		g.ledger.add(d)

		return nil, false
	}
	kept = WithReason(ReasonDeletionHeld, fmt.Errorf(
		"the instance is gone, and the Node is kept for now, since %d Nodes were deleted in %s: check that their machines are gone, "+
			"or raise [NodeDeletion] limit in the cloud-config", used, guardPeriod))
	if h := g.held[key]; h != nil {
		h.requested = now

		return kept, false
	}
	g.held[key] = &hold{since: now, requested: now}
	g.ledger.add(d)

	return kept, true
}

// budget returns how many deletions count now, and how many there may be. The share is
// that of the cluster as it was before them. Callers hold the lock.
func (g *guard) budget(now time.Time) (used, limit int) {
	nodes := 0
	for _, p := range g.granted {
		if now.Sub(p.granted) < guardPeriod {
			used++
			nodes = max(nodes, p.nodes)
		}
	}
	if g.limit != nil {
		return used, int(*g.limit)
	}

	return used, max(defaultDeletions, nodes*defaultShare/100)
}

// expire removes what no longer counts. Callers hold the lock.
func (g *guard) expire(now time.Time) {
	for key, p := range g.granted {
		if now.Sub(p.requested) >= guardPeriod {
			delete(g.granted, key)
		}
	}
	for key, h := range g.held {
		if now.Sub(h.requested) >= heldPeriod {
			delete(g.held, key)
		}
	}
}

// found ends the hold of a Node whose instance was found after all.
func (g *guard) found(node *v1.Node) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.held, keyOf(node))
}

// holds returns since when each Node is held back.
func (g *guard) holds() ([]time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.expire(g.clock.Now())
	since := make([]time.Time, 0, len(g.held))
	for _, h := range g.held {
		since = append(since, h.since)
	}

	return since, true
}

// decisions returns a copy of the ledger.
func (g *guard) decisions() []Decision {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.ledger.all()
}
