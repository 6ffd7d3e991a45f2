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
	// uncertain reports whether nothing was certain since the last one.
	uncertain bool
}

// Confirm reads a server alone, past every cache, and returns it or what is proven
// about it: Gone, Absent or Kept. Whatever is not certain is an error.
func (i *Inventory) Confirm(ctx context.Context, id string) (*Server, certainty.Verdict, error) {
	if !i.confirming.allow(id) {
		return nil, certainty.Verdict{}, fmt.Errorf("confirm server %s: %w", id, ErrBusy)
	}
	found, err := i.alone.GetWithin(ctx, id, 0)
	switch certainty.ResponseOf(err) {
	case certainty.Found:
		i.endSeries(id, found.At)

		return found, certainty.Verdict{Kind: certainty.Present}, nil
	case certainty.NoResponse:
		return nil, certainty.Verdict{}, err
	case certainty.NotFound:
		i.alone.Forget(id)
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
		i.observeOthers(ctx, &e)
	}
	e.Now = i.now()
	e.Since = i.since(id, e.Now)
	verdict := e.Verdict()
	if verdict.Kind == certainty.Uncertain {
		i.interruptSeries(id)

		return verdict, verdict.Reason
	}
	i.continueSeries(id, e.Since, e.Now)

	return verdict, nil
}

// actions returns what is recorded about a server that Nova does not have.
func (i *Inventory) actions(ctx context.Context, id string) (certainty.Actions, error) {
	deleted := func(a client.Action) bool {
		return a.Action == client.ActionDelete && strings.EqualFold(a.ServerID, id)
	}
	actions, err := i.api.Compute.ServerActions(ctx, id)
	switch {
	case err == nil && slices.ContainsFunc(actions, deleted):
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

// observeOthers sets what is known about the servers of all Nodes: how many there are,
// how many are missing in the list, and when one of another Node was found last.
func (i *Inventory) observeOthers(ctx context.Context, e *certainty.Evidence) {
	nodes, known := i.config.Nodes()
	list, err := i.list(ctx, i.config.MaxAge)
	if err != nil {
		list = &serverList{} // then all of them are missing
	}
	if known && err == nil && list.failed == nil {
		e.Nodes = len(nodes)
	}
	e.Missing = 1
	var others []string
	for _, id := range nodes {
		if id == e.ID {
			continue
		}
		others = append(others, id)
		row, listed := list.rows[id]
		alone, at, read := i.alone.Peek(id)
		switch {
		case listed && row.err == nil:
			e.Other = later(e.Other, row.server.At)
		case read && alone != nil && i.now().Sub(at) < i.config.MaxAge:
			e.Other = later(e.Other, at)
		case !listed:
			e.Missing++
		}
	}
	if i.now().Sub(e.Other) > certainty.OtherAge {
		e.Other = i.readOther(ctx, others)
	}
}

// readOther reads the server of another Node that was found before, once in a pass,
// and returns when. It returns the zero time if none was found.
func (i *Inventory) readOther(ctx context.Context, others []string) time.Time {
	i.mu.Lock()
	tried := i.now().Sub(i.otherTried) < certainty.Pass
	if !tried {
		i.otherTried = i.now()
	}
	i.mu.Unlock()
	if tried {
		return time.Time{}
	}
	old, _, _ := i.lists.Peek(struct{}{})
	for _, id := range others {
		_, _, known := i.alone.Peek(id)
		if !known && old != nil {
			_, known = old.rows[id]
		}
		if !known {
			continue
		}
		found, err := i.alone.GetWithin(ctx, id, certainty.OtherAge)
		if err != nil {
			return time.Time{}
		}

		return found.At
	}

	return time.Time{}
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
	maps.DeleteFunc(i.missing, func(id string, s series) bool {
		return now.Sub(s.last) > certainty.SettleGap && !i.confirming.waitsSince(id, s.last)
	})
	s, before := i.missing[id]
	switch {
	case !before:
		return now
	case s.uncertain:
		return s.first.Add(now.Sub(s.last))
	}

	return s.first
}

// continueSeries stores that a server is missing.
func (i *Inventory) continueSeries(id string, since, now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.missing[id] = series{first: since, last: now}
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
