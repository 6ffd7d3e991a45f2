package networks

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// ServerOf returns the ID of the server of a Node, empty if the Node is none of this
// cloud. An error means that it is not known.
type ServerOf func(node string) (string, error)

// NodeSubnets are the subnets of Nodes.
type NodeSubnets struct {
	// ByNode has the subnet of each Node whose ports were read, empty if none of them has
	// the address of the Node, or if the Node is no server of this cloud.
	ByNode map[string]string
	// Unread are the Nodes whose subnets are not known, sorted. As long as there are any,
	// nothing may be removed.
	Unread []string
	// Err is why the first of them is not known, nil if Unread is empty.
	Err error

	// foreign has the Nodes that are no servers of this cloud.
	foreign map[string]bool
}

// VIP returns the subnet for a load balancer whose subnet is not set: that of the first
// Node that is a server of this cloud. If it is not known, no other Node is taken, since
// the choice is for the life of the load balancer.
func (s NodeSubnets) VIP(targets []request.Target) (string, error) {
	own := slices.IndexFunc(targets, func(target request.Target) bool { return !s.foreign[target.Node] })
	if own < 0 {
		return "", invalid("find subnet of the load balancer: no node is a server of this cloud. Set subnet-id or network-id")
	}
	first := targets[own]
	subnet, read := s.ByNode[first.Node]
	switch {
	case !read:
		return "", fmt.Errorf("find subnet of the load balancer: node %s: %w", first.Node, s.Err)
	case subnet == "":
		return "", invalid("find subnet of the load balancer: no port of the server of node %s has its address %s. Set subnet-id or network-id",
			first.Node, first.Address)
	}

	return subnet, nil
}

// VIPSubnet returns the subnet for a load balancer whose subnet is not set, see
// [NodeSubnets.VIP]. It costs at most one call.
func (f *Finder) VIPSubnet(ctx context.Context, targets []request.Target, serverOf ServerOf) (string, error) {
	servers := slices.DeleteFunc(slices.Clone(targets), func(target request.Target) bool {
		id, err := serverOf(target.Node)

		return id == "" && err == nil
	})
	if len(servers) > 1 {
		servers = servers[:1]
	}

	return f.MemberSubnets(ctx, servers, serverOf).VIP(servers)
}

// MemberSubnets returns the subnet of the address of each Node. It costs at most one call
// for each 50 servers, and none if it was called for them lately.
func (f *Finder) MemberSubnets(ctx context.Context, targets []request.Target, serverOf ServerOf) NodeSubnets {
	found := NodeSubnets{ByNode: make(map[string]string, len(targets)), foreign: map[string]bool{}}
	failed := map[string]error{}
	byServer := make(map[string][]request.Target, len(targets))
	for _, target := range targets {
		switch id, err := serverOf(target.Node); {
		case err != nil:
			failed[target.Node] = err
		case id == "":
			found.ByNode[target.Node], found.foreign[target.Node] = "", true
		default:
			byServer[id] = append(byServer[id], target)
		}
	}
	for servers := range slices.Chunk(slices.Sorted(maps.Keys(byServer)), maxIDs) {
		subnets, err := f.subnetsOf(ctx, servers, byServer)
		maps.Copy(found.ByNode, subnets)
		if err == nil {
			continue
		}
		for _, id := range servers {
			for _, target := range byServer[id] {
				failed[target.Node] = err
			}
		}
	}
	if found.Unread = slices.Sorted(maps.Keys(failed)); len(failed) > 0 {
		found.Err = failed[found.Unread[0]]
	}

	return found
}

// subnetsOf returns the subnets of the Nodes of some servers. The ports are read once more
// if they are old and an address is missing.
func (f *Finder) subnetsOf(ctx context.Context, servers []string, byServer map[string][]request.Target) (map[string]string, error) {
	key := strings.Join(servers, separator)
	ports, err := f.ports.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	subnets, complete := ports.subnets(servers, byServer)
	if complete {
		return subnets, nil
	}
	if ports, err = f.ports.GetWithin(ctx, key, min(freshAge, f.options.MaxAge)); err != nil {
		return nil, err
	}
	subnets, _ = ports.subnets(servers, byServer)

	return subnets, nil
}

// separator is between the IDs of servers in a key.
const separator = ","

// addresses are the subnets of the addresses of servers, by their IDs.
type addresses map[string]map[netip.Addr]string

// subnets returns the subnets of Nodes, and whether each of them has one.
func (a addresses) subnets(servers []string, byServer map[string][]request.Target) (found map[string]string, complete bool) {
	found, complete = map[string]string{}, true
	for _, id := range servers {
		for _, target := range byServer[id] {
			subnet := a[id][target.Address.Unmap()]
			found[target.Node] = subnet
			complete = complete && subnet != ""
		}
	}

	return found, complete
}

// readPorts reads the addresses of servers.
func (f *Finder) readPorts(ctx context.Context, key string) (addresses, error) {
	ports, err := f.api.PortsByDevice(ctx, strings.Split(key, separator))
	if err != nil {
		return nil, fmt.Errorf("find subnets of servers: %w", err)
	}
	read := addresses{}
	for _, port := range ports {
		for _, ip := range port.FixedIPs {
			addr, err := netip.ParseAddr(ip.Address)
			if err != nil {
				continue
			}
			if read[port.DeviceID] == nil {
				read[port.DeviceID] = map[netip.Addr]string{}
			}
			read[port.DeviceID][addr.Unmap()] = ip.SubnetID
		}
	}

	return read, nil
}
