package routes

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// refusalAge is how long a route that Neutron has refused is not requested again.
const refusalAge = 5 * time.Minute

// Reasons of Events on Nodes.
const (
	// routeQuotaReason: the router has as many routes, or the port as many address
	// pairs, as Neutron allows.
	routeQuotaReason = "RouteQuotaExceeded"
	// routeRefusedReason: Neutron does not accept the route.
	routeRefusedReason = "RouteRefused"
	// noPairReason: the port was not changed, and may drop packets of Pods.
	noPairReason = "NoAddressPair"
)

// refusals are what Neutron has refused. The route controller would request it again every
// ten seconds.
type refusals struct {
	clock clock.PassiveClock

	mu  sync.Mutex
	all map[refusalKey]refusal
	// full is until when a router has no room for routes, fullCount how many it had.
	full      refusal
	fullCount int
}

type refusalKey struct {
	cidr netip.Prefix
	hop  netip.Addr
}

type refusal struct {
	err   error
	until time.Time
}

// handle makes a route unless it was refused lately. A refusal is an Event.
func (f *refusals) handle(r *Routes, wanted newRoute, make func() error) error {
	first, err := f.find(r, wanted)
	if err == nil {
		if err = make(); err == nil || !isRefused(err) {
			return err
		}
		f.keep(r, wanted, err)
		first = true
	}
	if !first {
		return err
	}
	if errors.Is(err, apierr.ErrQuota) {
		r.event(wanted.node, routeQuotaReason, "route to %s: %v", wanted.cidr, err)
	} else {
		r.event(wanted.node, routeRefusedReason, "route to %s: %v", wanted.cidr, err)
	}

	return err
}

// find returns the error of an earlier refusal that still counts, nil if there is none. It
// reports whether it is the first time that this route gets it.
func (f *refusals) find(r *Routes, wanted newRoute) (first bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := refusalKey{wanted.cidr, wanted.hop}
	now := f.clock.Now()
	if last, ok := f.all[key]; ok && now.Before(last.until) {
		return false, last.err
	}
	if !now.Before(f.full.until) || r.has(wanted.cidr) {
		return false, nil
	}
	f.put(key, f.full)

	return true, f.full.err
}

func (f *refusals) keep(r *Routes, wanted newRoute, err error) {
	r.mu.Lock()
	count := r.count
	r.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := refusal{fmt.Errorf("refused before, it is requested again within %s: %w", refusalAge, err), f.clock.Now().Add(refusalAge)}
	f.put(refusalKey{wanted.cidr, wanted.hop}, kept)
	if e, ok := errors.AsType[*client.Error](err); ok && e.Type == "RoutesExhausted" {
		f.full, f.fullCount = kept, count
	}
}

func (f *refusals) put(key refusalKey, kept refusal) {
	if f.all == nil {
		f.all = map[refusalKey]refusal{}
	}
	f.all[key] = kept
}

// listed drops refusals that no longer count, and all of them once the router has fewer
// routes.
func (f *refusals) listed(count int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	room := f.full.err != nil && count < f.fullCount
	for key, kept := range f.all {
		if room || !now.Before(kept.until) {
			delete(f.all, key)
		}
	}
	if room {
		f.full, f.fullCount = refusal{}, 0
	} else if f.full.err != nil {
		f.fullCount = max(f.fullCount, count)
	}
}

// has reports whether a route to a destination was listed, which a new one could replace.
func (r *Routes) has(cidr netip.Prefix) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key := range r.listed {
		if key.cidr == cidr {
			return true
		}
	}

	return false
}

// event records an Event on a Node.
func (r *Routes) event(node *v1.Node, reason, format string, args ...any) {
	if recorder := r.recorder.Load(); recorder != nil {
		(*recorder).Eventf(node, v1.EventTypeWarning, reason, format, args...)
	}
}
