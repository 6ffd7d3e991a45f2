package securitygroup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// ErrAmbiguous means that several groups have the name of that of a Service, which were not
// there when it was planned to create one. The next run keeps one of them.
var ErrAmbiguous = apierr.Mark(apierr.ErrConflict, errors.New("several security groups have the same name"))

// ownerSubport is the device owner of the ports in a trunk, whose device is not the server
// (neutron-lib: services/trunk/constants.py, TRUNK_SUBPORT_OWNER).
const ownerSubport = "trunk:subport"

// API makes the reads. All errors mean that nothing is known. Groups may come from lists
// that Services share; rules and ports are always read for the Service.
type API interface {
	SecurityGroupsByName(ctx context.Context, name string) ([]*client.SecurityGroup, error)
	SecurityGroupRules(ctx context.Context, group string) ([]*client.SecurityGroupRule, error)
	PortsBySecurityGroup(ctx context.Context, group string) ([]*client.Port, error)
	PortsByDevice(ctx context.Context, ids []string) ([]*client.Port, error)
	PortsByIDFull(ctx context.Context, ids []string) ([]*client.Port, error)
}

var _ API = (*client.NetworkService)(nil)

// Observed is the security group of a Service as it is.
type Observed struct {
	// Group is nil if there is none.
	Group *client.SecurityGroup
	// Rules are those of the group. They are not read by [Find].
	Rules []*client.SecurityGroupRule
	// Members are the ports that have the group.
	Members []*client.Port
	// Ports are the ports of servers, and those in their trunks, by the IDs of the servers.
	// There are only those of Nodes that have no port among the members.
	Ports map[string][]*client.Port
	// Duplicates are other groups of the Service: one was made while a list lacked the first.
	// They have neither rules nor ports of Nodes without the group.
	Duplicates []*Observed
}

// Find reads the group of a Service and the ports that have it, which is all that its
// deletion needs. The project is that which all logins lead to. Of several groups, it is the
// one that most ports have, or else the first by ID. Each of them costs a read of ports.
func Find(ctx context.Context, api API, names request.Names, project string) (*Observed, error) {
	groups, err := findGroups(ctx, api, names, project)
	if err != nil || len(groups) == 0 {
		return &Observed{}, err
	}
	all := make([]*Observed, 0, len(groups))
	for _, group := range groups {
		members, err := api.PortsBySecurityGroup(ctx, group.ID)
		if err != nil {
			return nil, fmt.Errorf("find the ports with security group %s: %w", group.ID, err)
		}
		all = append(all, &Observed{Group: group, Members: members})
	}
	slices.SortFunc(all, func(a, b *Observed) int {
		return cmp.Or(cmp.Compare(len(b.Members), len(a.Members)), cmp.Compare(a.Group.ID, b.Group.ID))
	})
	all[0].Duplicates = all[1:]

	return all[0], nil
}

// findGroups returns the groups of a Service.
func findGroups(ctx context.Context, api API, names request.Names, project string) ([]*client.SecurityGroup, error) {
	name := names.SecurityGroup()
	found, err := api.SecurityGroupsByName(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("find security group %s: %w", name, err)
	}

	return lists.Filter(found, func(g *client.SecurityGroup) bool {
		return certainty.IsOwnSecurityGroup(names, g.ProjectID, project, g.Name)
	}), nil
}

// Observe reads the group of a Service with its rules, the ports that have it, and the
// ports of the Nodes that are to have it, see [Find].
func Observe(ctx context.Context, api API, d *Desired, project string) (*Observed, error) {
	o, err := Find(ctx, api, d.Names, project)
	if err != nil {
		return nil, err
	}
	if o.Group != nil {
		if o.Rules, err = api.SecurityGroupRules(ctx, o.Group.ID); err != nil {
			return nil, fmt.Errorf("find the rules of security group %s: %w", o.Group.ID, err)
		}
	}
	if err := o.readPorts(ctx, api, d.Nodes); err != nil {
		return nil, err
	}

	return o, nil
}

// readPorts reads the ports of the servers of Nodes that have no port among the members.
func (o *Observed) readPorts(ctx context.Context, api API, nodes []Node) error {
	var servers []string
	for _, node := range nodes {
		if node.Server != "" && !slices.ContainsFunc(o.candidates(node), node.isReachedBy) {
			servers = append(servers, node.Server)
		}
	}
	if len(servers) == 0 {
		return nil
	}
	ports, err := api.PortsByDevice(ctx, plan.Sorted(servers))
	if err != nil {
		return fmt.Errorf("find the ports of servers: %w", err)
	}
	o.Ports = map[string][]*client.Port{}
	for _, port := range ports {
		o.Ports[port.DeviceID] = append(o.Ports[port.DeviceID], port)
	}

	return o.readSubports(ctx, api, nodes)
}

// readSubports reads the ports in the trunks of servers, for Nodes whose address is on none
// of the ports of their servers.
func (o *Observed) readSubports(ctx context.Context, api API, nodes []Node) error {
	servers := map[string]string{} // of subports
	for _, node := range nodes {
		if slices.ContainsFunc(o.candidates(node), node.hasAddress) {
			continue
		}
		for _, port := range o.Ports[node.Server] {
			if port.Trunk == nil {
				continue
			}
			for _, sub := range port.Trunk.Subports {
				servers[sub.PortID] = node.Server
			}
		}
	}
	ids := make([]string, 0, len(servers))
	for id := range servers {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	ports, err := api.PortsByIDFull(ctx, plan.Sorted(ids))
	if err != nil {
		return fmt.Errorf("find the ports of trunks: %w", err)
	}
	for _, port := range ports {
		o.Ports[servers[port.ID]] = append(o.Ports[servers[port.ID]], port)
	}

	return nil
}

// candidates returns the ports that belong to the server of a Node.
func (o *Observed) candidates(node Node) []*client.Port {
	if node.Server == "" {
		return nil
	}

	return append(lists.Filter(o.Members, node.isServedBy), o.Ports[node.Server]...)
}

// holders returns the ports of a Node that the load balancer sends traffic to: those with
// its address in the subnet of its member. If there is none, the traffic is routed, and
// they are all ports with its address.
func (o *Observed) holders(node Node) []*client.Port {
	candidates := lists.DistinctBy(o.candidates(node), func(p *client.Port) string { return p.ID })
	if found := lists.Filter(candidates, node.isReachedBy); len(found) > 0 {
		return found
	}

	return lists.Filter(candidates, node.hasAddress)
}

// isServedBy reports whether a port with the group is one of the server of the Node. The
// device of a port in a trunk is not the server; its address in the subnet is unique.
func (n Node) isServedBy(port *client.Port) bool {
	return port.DeviceID == n.Server || port.DeviceOwner == ownerSubport && n.Subnet != "" && n.isReachedBy(port)
}

// isReachedBy reports whether a port has the address of the Node in the subnet of its
// member, if that is known.
func (n Node) isReachedBy(port *client.Port) bool {
	return slices.ContainsFunc(port.FixedIPs, func(ip client.FixedIP) bool {
		return n.is(ip) && (n.Subnet == "" || strings.EqualFold(ip.SubnetID, n.Subnet))
	})
}

// hasAddress reports whether a port has the address of the Node.
func (n Node) hasAddress(port *client.Port) bool { return slices.ContainsFunc(port.FixedIPs, n.is) }

func (n Node) is(ip client.FixedIP) bool {
	addr, err := netip.ParseAddr(ip.Address)

	return err == nil && addr.Unmap() == n.Address.Unmap()
}
