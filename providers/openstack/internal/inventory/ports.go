package inventory

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// portList is what the list of all ports of the project has shown.
type portList struct {
	servers map[string][]Port
	// complete are the servers whose ports of other projects are among them.
	complete sets.Set[string]
	begun    time.Time
}

// networks are the names of networks. They are dropped together after networkAge.
type networks struct {
	mu    sync.Mutex
	names map[string]string
	since time.Time
}

// Ports returns the ports of a server in the order of Neutron, also those of other projects
// with addresses that Nova reports. They are at least as new as the server, unless the list
// of ports has some of them. A list that is late, or that failed, is replaced by a request for
// the ports of this server.
func (i *Inventory) Ports(ctx context.Context, server *Server) ([]Port, error) {
	list, at, known := i.ports.Peek()
	var reason error
	if !known || i.now().Sub(at) >= i.config.MaxAge {
		list = nil
		if !server.Alone {
			list, reason = i.ports.GetSoon(ctx, i.config.ListWait)
		}
	}
	if list != nil {
		found := list.servers[server.ID]
		isNew := len(found) == 0 && list.begun.Before(server.At)
		if !isNew && (hasAll(found, server) || list.complete.Has(server.ID)) {
			return found, nil
		}
	}

	return instead(ctx, i.singlePorts, reason, func() ([]Port, error) {
		all, err := i.readPorts(ctx, []string{server.ID})
		if err != nil {
			return nil, fmt.Errorf("list ports of server %s: %w", server.ID, err)
		}

		return all[server.ID], nil
	})
}

// hasAll reports whether some ports have all fixed IPs of a server that Nova reports.
func hasAll(ports []Port, server *Server) bool {
	have := sets.Set[string]{}
	for _, port := range ports {
		have.Insert(port.FixedIPs...)
	}
	for _, addresses := range server.Addresses {
		for _, a := range addresses {
			if !a.IsFloating() && !have.Has(a.IP) {
				return false
			}
		}
	}

	return true
}

// listPorts reads the list of all ports of the project, and those of other projects that
// Nodes have.
func (i *Inventory) listPorts(ctx context.Context) (*portList, error) {
	begun := i.now()
	ports, err := i.api.Network.ListPorts(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := i.byServer(ctx, ports, ports)
	if err != nil {
		return nil, err
	}
	list := &portList{servers: servers, complete: sets.Set[string]{}, begun: begun}
	for chunk := range slices.Chunk(i.incomplete(list), maxIDs) {
		all, err := i.readPorts(ctx, chunk)
		if err != nil {
			continue // read again for each of them, with the error
		}
		for _, id := range chunk {
			list.servers[id] = all[id]
			list.complete.Insert(id)
		}
	}

	return list, nil
}

// incomplete returns the servers of Nodes with addresses that the ports of the project do
// not have. It makes no call.
func (i *Inventory) incomplete(ports *portList) []string {
	list := i.listed()
	nodes, _ := i.config.Nodes()
	if list == nil {
		return nil
	}
	var ids []string
	for _, id := range nodes {
		if row, listed := list.rows[id]; listed && row.err == nil && !hasAll(ports.servers[id], row.server) {
			ids = append(ids, id)
		}
	}

	return ids
}

// readPorts reads the ports of some servers.
func (i *Inventory) readPorts(ctx context.Context, ids []string) (map[string][]Port, error) {
	ports, err := i.api.Network.ServerPorts(ctx, ids)
	if err != nil {
		return nil, err
	}
	var subports []*client.Port
	if wanted := subportIDs(ports); len(wanted) > 0 {
		if subports, err = i.api.Network.PortsByID(ctx, wanted); err != nil {
			return nil, err
		}
	}

	return i.byServer(ctx, ports, subports)
}

// subportIDs lists the ports of trunks.
func subportIDs(ports []*client.Port) []string {
	var ids []string
	for _, port := range ports {
		if port.Trunk == nil {
			continue
		}
		for _, sub := range port.Trunk.Subports {
			if sub.PortID != "" {
				ids = append(ids, sub.PortID)
			}
		}
	}

	return ids
}

// byServer returns the ports of each server with those of their trunks, which are among
// subports. One that is not has just been deleted, or belongs to another project.
func (i *Inventory) byServer(ctx context.Context, ports, subports []*client.Port) (map[string][]Port, error) {
	byID := map[string]*client.Port{}
	wanted := sets.New(subportIDs(ports)...)
	for _, port := range subports {
		if wanted.Has(port.ID) {
			byID[port.ID] = port
		}
	}
	names, err := i.networkNames(ctx, byID)
	if err != nil {
		return nil, err
	}
	servers := map[string][]Port{}
	for _, port := range ports {
		if port.DeviceID == "" {
			continue
		}
		all := Port{Status: port.Status, FixedIPs: fixedIPs(port)}
		for _, id := range subportIDs([]*client.Port{port}) {
			if sub := byID[id]; sub != nil {
				all.Subports = append(all.Subports, Subport{Network: names[sub.NetworkID], FixedIPs: fixedIPs(sub)})
			}
		}
		servers[port.DeviceID] = append(servers[port.DeviceID], all)
	}

	return servers, nil
}

// networkNames returns the names of the networks of ports, by their IDs. One that is not
// visible has none.
func (i *Inventory) networkNames(ctx context.Context, ports map[string]*client.Port) (map[string]string, error) {
	names := map[string]string{}
	var unknown []string
	for _, port := range ports {
		id := port.NetworkID
		if _, seen := names[id]; seen {
			continue
		}
		name, known := i.networks.name(id, i.now())
		names[id] = name
		if !known {
			unknown = append(unknown, id)
		}
	}
	if len(unknown) == 0 {
		return names, nil
	}
	found, err := i.api.Network.NetworksByID(ctx, unknown)
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", err)
	}
	for _, network := range found {
		names[network.ID] = network.Name
		i.networks.add(network.ID, network.Name)
	}

	return names, nil
}

// name returns the name of a network, and whether it is known.
func (n *networks) name(id string, now time.Time) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.names == nil || now.Sub(n.since) >= networkAge {
		n.names, n.since = map[string]string{}, now
	}
	name, known := n.names[id]

	return name, known
}

func (n *networks) add(id, name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.names[id] = name
}
