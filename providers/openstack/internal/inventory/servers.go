package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// serverList is what the list of all servers has shown.
type serverList struct {
	rows map[string]serverRow
	// named has the servers by their names in lower case.
	named map[string][]*Server
	// nameless is whether there is a server whose name is not known.
	nameless bool
	// failed is why pages are missing at the end, or nil.
	failed error
	begun  time.Time
}

// serverRow is a server that exists, or why the row does not prove it.
type serverRow struct {
	server *Server
	err    error
}

// listServers reads the list. Its failure is part of the result if some pages came.
func (i *Inventory) listServers(ctx context.Context, _ struct{}) (*serverList, error) {
	project, err := i.api.Project(ctx)
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	list := &serverList{begun: i.now()}
	servers, err := i.api.Compute.ListServers(ctx)
	if err != nil && len(servers) == 0 {
		return nil, err
	}
	list.failed = err
	if err == nil && i.config.Metrics != nil {
		i.config.Metrics.Refreshed(list.begun)
	}
	list.rows = make(map[string]serverRow, len(servers))
	list.named = make(map[string][]*Server, len(servers))
	scope := certainty.Scope{Project: project}
	for _, server := range servers {
		list.add(scope, server)
	}

	return list, nil
}

// add puts a server into the list. A server can be on two pages.
func (l *serverList) add(scope certainty.Scope, server *client.Server) {
	row := rowOf(server)
	if _, twice := l.rows[row.ID]; twice {
		return
	}
	verdict := scope.Exists(row.ID, row)
	switch verdict.Kind {
	case certainty.Present:
		found := newServer(server, l.begun, false)
		l.rows[row.ID] = serverRow{server: found}
		name := strings.ToLower(row.Name)
		l.named[name] = append(l.named[name], found)
	case certainty.Uncertain:
		l.rows[row.ID] = serverRow{err: verdict.Reason}
		l.nameless = l.nameless || !errors.Is(verdict.Reason, certainty.ErrOtherProject)
	case certainty.Absent, certainty.Kept, certainty.Gone:
	}
}

// list returns the list, which is younger than age. One that failed is read again
// sooner.
func (i *Inventory) list(ctx context.Context, age time.Duration) (*serverList, error) {
	list, err := i.lists.GetWithin(ctx, struct{}{}, age)
	if err == nil && list.failed != nil && i.now().Sub(list.begun) >= i.config.RetryAge {
		list, err = i.lists.GetWithin(ctx, struct{}{}, min(age, i.config.RetryAge))
	}

	return list, err
}

// listed returns the list if it is not too old, without a call.
func (i *Inventory) listed() *serverList {
	list, at, known := i.lists.Peek(struct{}{})
	if !known || i.now().Sub(at) >= i.config.MaxAge {
		return nil
	}

	return list
}

// FindByName returns the server that has the name of a Node, [ErrAbsent] if none has.
func (i *Inventory) FindByName(ctx context.Context, name string) (*Server, error) {
	return i.findByName(ctx, name, i.config.MaxAge)
}

// ConfirmByName is FindByName with a list that is at most a few seconds old. ErrAbsent is
// still no proof that there is no server.
func (i *Inventory) ConfirmByName(ctx context.Context, name string) (*Server, error) {
	return i.findByName(ctx, name, min(i.config.MaxAge, i.config.RetryAge))
}

func (i *Inventory) findByName(ctx context.Context, name string, age time.Duration) (*Server, error) {
	list, err := i.list(ctx, age)
	if err != nil {
		return nil, fmt.Errorf("find server named %s: %w", name, err)
	}
	project, err := i.api.Project(ctx)
	if err != nil {
		return nil, fmt.Errorf("find server named %s: %w", name, err)
	}
	candidates := list.named[strings.ToLower(name)]
	rows := make([]certainty.Row, len(candidates))
	for k, server := range candidates {
		rows[k] = server.Row
	}
	found, err := certainty.Scope{Project: project}.ByName(name, rows, list.failed == nil && !list.nameless)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find server named %s: %w", name, err)
	case found < 0:
		return nil, fmt.Errorf("find server named %s: %w", name, ErrAbsent)
	}

	return candidates[found], nil
}
