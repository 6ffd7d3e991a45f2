package inventory

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
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
	begun    time.Time
}

// serverRow is a server that exists, or why the row does not prove it.
type serverRow struct {
	server *Server
	err    error
}

// listServers reads the list.
func (i *Inventory) listServers(ctx context.Context) (*serverList, error) {
	project, err := i.api.Project(ctx)
	if err != nil {
		return nil, fmt.Errorf("list servers: %w", err)
	}
	list := &serverList{begun: i.now()}
	servers, err := i.api.Compute.ListServers(ctx)
	if err != nil {
		return nil, err
	}
	if i.config.Metrics != nil {
		i.config.Metrics.Refreshed(list.begun)
	}
	list.rows = make(map[string]serverRow, len(servers))
	list.named = make(map[string][]*Server, len(servers))
	scope := certainty.Scope{Project: project}
	for _, server := range servers {
		list.add(scope, server)
	}
	i.endSeriesOf(list)

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

// list returns the list, unless that takes too long.
func (i *Inventory) list(ctx context.Context) (*serverList, error) {
	return i.lists.GetSoon(ctx, i.config.ListWait)
}

// listed returns the list if it is not too old, without a call.
func (i *Inventory) listed() *serverList {
	list, _, known := i.lists.Peek()
	if !known || i.isOld(list) {
		return nil
	}

	return list
}

// isOld reports whether a list is older than [Config].MaxAge, as one that took long can be.
func (i *Inventory) isOld(list *serverList) bool { return i.now().Sub(list.begun) >= i.config.MaxAge }

// IsListed reports whether Find needs no other list, and Ports neither: both lists are there and
// not too old.
func (i *Inventory) IsListed() bool {
	_, at, known := i.ports.Peek()

	return i.listed() != nil && known && i.now().Sub(at) < i.config.MaxAge
}

// Wanted is a Node without a provider ID.
type Wanted struct {
	// Name is that of the Node and its server.
	Name string
	// SystemUUID is that of the machine, which is the ID of a server on KVM, and Addresses are
	// those of the Node. Either confirms that the server with the name is that of the Node.
	SystemUUID string
	Addresses  []string
}

// fits reports whether a server is that of the Node, whatever other servers there are.
func (w Wanted) fits(server *Server) bool {
	if strings.EqualFold(w.SystemUUID, server.ID) {
		return true
	}
	for _, addresses := range server.Addresses {
		if slices.ContainsFunc(addresses, func(a Address) bool { return slices.Contains(w.Addresses, a.IP) }) {
			return true
		}
	}

	return false
}

// FindByName returns the server that has the name of a Node from the list, or from a request
// of its own if that does not have the names of all servers. It returns [ErrAbsent] if none has.
// A server that nothing but its name and a list, or an old list shows may be deleted and
// replaced: it is read alone.
func (i *Inventory) FindByName(ctx context.Context, node Wanted) (*Server, error) {
	list, err := i.list(ctx)
	if err != nil || list.nameless {
		return instead(ctx, i.singleServers, err, func() (*Server, error) { return i.ReadByName(ctx, node) })
	}
	found, err := i.choose(ctx, node, list.named[strings.ToLower(node.Name)], true)
	if err != nil || node.fits(found) && !i.isOld(list) {
		return found, err
	}
	alone, err := i.Read(ctx, found.ID)
	if errors.Is(err, ErrAbsent) {
		return i.ReadByName(ctx, node)
	}

	return alone, err
}

// ReadByName is FindByName by a request of its own. That does not show the servers of a cell
// that is down, so that something else than the name must confirm the server: the Node, or a
// list without other servers that could have the name. If the list is refused, and no cell is
// known to be down, the name must do.
func (i *Inventory) ReadByName(ctx context.Context, node Wanted) (*Server, error) {
	begun := i.now()
	rows, err := i.api.Compute.ServersByName(ctx, node.Name)
	if err != nil {
		return nil, fmt.Errorf("find server named %s: %w", node.Name, err)
	}
	servers := make([]*Server, len(rows))
	for k, row := range rows {
		servers[k] = newServer(row, begun, true)
	}
	complete := len(servers) != 1 || node.fits(servers[0])
	if !complete {
		list, err := i.list(ctx)
		if err != nil {
			list, _, _ = i.lists.Peek() // the last one
		}
		complete = (err == nil || isRefused(err)) && (list == nil || !list.nameless)
	}

	return i.choose(ctx, node, servers, complete)
}

// isRefused reports whether a request was answered with an error.
func isRefused(err error) bool {
	e, ok := errors.AsType[*client.Error](err)

	return ok && e.Status >= http.StatusBadRequest && e.Service == client.Compute && !errors.Is(err, apierr.ErrThrottled)
}

// choose returns the server of a Node from those that have its name, which are all of them if
// complete is true.
func (i *Inventory) choose(ctx context.Context, node Wanted, servers []*Server, complete bool) (*Server, error) {
	project, err := i.api.Project(ctx)
	if err != nil {
		return nil, fmt.Errorf("find server named %s: %w", node.Name, err)
	}
	rows := make([]certainty.Row, len(servers))
	for k, server := range servers {
		rows[k] = server.Row
	}
	found, err := certainty.Scope{Project: project}.ByName(node.Name, rows, complete)
	switch {
	case err != nil:
		return nil, fmt.Errorf("find server named %s: %w", node.Name, err)
	case found < 0:
		return nil, fmt.Errorf("find server named %s: %w", node.Name, ErrAbsent)
	}

	return servers[found], nil
}
