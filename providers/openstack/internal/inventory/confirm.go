package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// series is a number of responses of 404 during which the server was not found.
type series struct {
	// first and last are the first and the last 404. First is moved on by the time in
	// which nothing was certain, which does not count.
	first, last time.Time
	// uncertain reports whether nothing was certain since the last one, kept whether the Node
	// of the server was kept then.
	uncertain, kept bool
}

// Confirm reads a server alone, past every cache, and returns it or what is proven
// about it: Gone, Absent or Kept. Whatever is not certain is an error. The response that the
// server does not exist is that of a moment ago if a lookup has just got it. A server that is
// kept is not read again for a while.
func (i *Inventory) Confirm(ctx context.Context, id string) (*Server, certainty.Verdict, error) {
	if i.isKept(id) {
		return nil, certainty.Verdict{Kind: certainty.Kept, Reason: certainty.ErrSettling}, nil
	}
	found, _, known := i.alone.Peek(id)
	if !known || found.server != nil || i.now().Sub(found.ended) >= confirmAge {
		var err error
		if found, err = i.alone.GetWithin(ctx, id, 0); err != nil {
			return nil, certainty.Verdict{}, err
		}
	}
	if found.server != nil {
		return found.server, certainty.Verdict{Kind: certainty.Present}, nil
	}
	verdict, err := i.decide(ctx, id)
	if err != nil {
		return nil, certainty.Verdict{}, fmt.Errorf("confirm server %s: %w", id, err)
	}

	return nil, verdict, nil
}

// decide gathers the evidence about a server that was read and not found.
func (i *Inventory) decide(ctx context.Context, id string) (certainty.Verdict, error) {
	project, err := i.api.Project(ctx)
	if err != nil {
		return certainty.Verdict{}, err
	}
	e := certainty.Evidence{Scope: certainty.Scope{Project: project}, ID: id, Response: certainty.NotFound}
	e.Actions, err = i.actions(ctx, id)
	if err != nil {
		return certainty.Verdict{}, err
	}
	if e.Actions != certainty.ActionsDelete {
		e.Other = i.other(ctx, id)
	}
	if e.Actions != certainty.ActionsDelete && e.Actions != certainty.ActionsNone {
		i.countMissing(ctx, &e)
	}
	e.Now = i.now()
	e.Since = i.since(id, e.Now)
	verdict := e.Verdict()
	if verdict.Kind == certainty.Uncertain {
		i.interruptSeries(id)

		return verdict, verdict.Reason
	}
	// While the servers are still being listed, it is looked at again soon.
	counted := e.Actions == certainty.ActionsNone || e.Nodes > 0
	i.continueSeries(id, series{first: e.Since, last: e.Now, kept: verdict.Kind == certainty.Kept && counted})

	return verdict, nil
}

// actions returns what is recorded about a server that Nova does not have.
func (i *Inventory) actions(ctx context.Context, id string) (certainty.Actions, error) {
	actions, err := i.api.Compute.ServerActions(ctx, id)
	newest := slices.IndexFunc(actions, func(a client.Action) bool {
		return strings.EqualFold(a.ServerID, id) && (a.Action == client.ActionDelete || a.Action == client.ActionRestore)
	})
	switch {
	case err == nil && newest >= 0 && actions[newest].Action == client.ActionDelete:
		return certainty.ActionsDelete, nil
	case err == nil:
		return certainty.ActionsOther, nil
	case certainty.ResponseOf(err) == certainty.NotFound:
		return certainty.ActionsNone, nil
	case apierr.Code(err) == apierr.CodeDenied:
		return certainty.ActionsDenied, nil
	case errors.Is(err, client.ErrNoActions):
		return certainty.ActionsUnsupported, nil
	}

	return certainty.ActionsUnread, fmt.Errorf("read actions: %w", err)
}

// maxOthers is how many servers of other Nodes are read to find one of them.
const maxOthers = 3

// other returns when the server of another Node was found last, the zero time if none was. The first
// ones to be read are those that were found before.
func (i *Inventory) other(ctx context.Context, not string) time.Time {
	nodes, _ := i.config.Nodes()
	list, latest := i.listed(), time.Time{}
	var before, unknown []string
	for _, id := range nodes {
		if id == not {
			continue
		}
		if list != nil && list.rows[id].server != nil {
			latest = later(latest, list.begun)
		}
		read, at, known := i.alone.Peek(id)
		switch {
		case known && read.server != nil:
			latest = later(latest, at)
			before = append(before, id)
		case !known || i.now().Sub(at) >= certainty.OtherAge:
			unknown = append(unknown, id)
		}
	}
	if i.now().Sub(latest) <= certainty.OtherAge {
		return latest
	}
	others := slices.Concat(before, unknown)
	for _, id := range others[:min(len(others), maxOthers)] {
		if server, err := i.read(ctx, id, certainty.OtherAge); err == nil {
			return server.At
		}
	}

	return time.Time{}
}

// countMissing sets how many servers of Nodes are missing. Without a new list of all servers, the
// evidence has none of the numbers.
func (i *Inventory) countMissing(ctx context.Context, e *certainty.Evidence) {
	nodes, known := i.config.Nodes()
	list, err := i.list(ctx)
	if !known || err != nil || i.isOld(list) {
		return
	}
	e.Nodes, e.Missing = len(nodes), 1
	for _, id := range nodes {
		if id != e.ID && i.isMissing(id, list) {
			e.Missing++
		}
	}
}

// isMissing reports whether the newest reading of a server, alone or in a list, lacks it.
func (i *Inventory) isMissing(id string, list *serverList) bool {
	alone, at, known := i.alone.Peek(id)
	if known && !at.Before(list.begun) {
		return alone.server == nil
	}
	_, listed := list.rows[id]

	return !listed
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}

	return a
}

// since returns since when a server is missing that is missing now, without the time in
// which nothing was certain. Nothing is known about the time before a gap that is too long.
func (i *Inventory) since(id string, now time.Time) time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.missing, func(_ string, s series) bool { return now.Sub(s.last) > certainty.SettleGap })
	s, before := i.missing[id]
	switch {
	case !before:
		return now
	case s.uncertain:
		return s.first.Add(now.Sub(s.last))
	}

	return s.first
}

// isKept reports whether a server was missing a while ago, and must be missing for longer.
func (i *Inventory) isKept(id string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	s, now := i.missing[id], i.now()

	return s.kept && !s.uncertain && now.Sub(s.last) < i.config.MaxAge && now.Sub(s.first) < certainty.Settle
}

// continueSeries stores that a server is missing.
func (i *Inventory) continueSeries(id string, s series) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.missing[id] = s
}

// interruptSeries stores that nothing is certain about a server now.
func (i *Inventory) interruptSeries(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s, before := i.missing[id]; before {
		s.uncertain = true
		i.missing[id] = s
	}
}

// endSeries drops since when a server is missing, which was found by a request that began
// at a moment: an older list may still have it.
func (i *Inventory) endSeries(id string, at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if s, before := i.missing[id]; before && !at.Before(s.last) {
		delete(i.missing, id)
	}
}

// endSeriesOf is endSeries for all servers of a list.
func (i *Inventory) endSeriesOf(list *serverList) {
	i.mu.Lock()
	defer i.mu.Unlock()
	maps.DeleteFunc(i.missing, func(id string, s series) bool {
		return list.rows[id].server != nil && !list.begun.Before(s.last)
	})
}
