package openstack

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/certainty"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// maxAdoptionServers is for how many servers the ports are read: as many as one call returns
// those of.
const maxAdoptionServers = 50

// adopt returns whether a load balancer that has nothing but the name of the Service is
// that of the Service: its members and its networks decide. Private addresses alone prove
// nothing, since the networks of two clusters may have the same.
func (l *loadBalancer) adopt(ctx context.Context, in input, info *client.LoadBalancerInfo) (certainty.Ownership, error) {
	if in.deletes && !l.Nodes().HasSynced() {
		return certainty.Foreign, fmt.Errorf("load balancer %s: %w", info.ID, errNoNodes)
	}
	members, pools, err := l.membersOf(ctx, info.ID)
	if err != nil {
		return certainty.Foreign, err
	}
	evidence := certainty.Adoption{Members: members, Deletes: in.deletes, IsNode: l.nodeAddresses(in).Has}
	if !evidence.IsPossible() {
		return certainty.Foreign, certainty.ErrForeignService
	}
	near, err := l.isNear(ctx, in, info, members, pools)
	if err != nil {
		return certainty.Foreign, fmt.Errorf("compare the networks of load balancer %s with those of the nodes: %w", info.ID, err)
	}
	if !near {
		return certainty.Foreign, certainty.ErrForeignService
	}

	return certainty.Owner, nil
}

// membersOf returns the addresses of the members of a load balancer, and the pools that have
// some.
func (l *loadBalancer) membersOf(ctx context.Context, id string) ([]netip.Addr, []string, error) {
	tree, err := l.Octavia.GetStatusTree(ctx, id)
	if err != nil {
		return nil, nil, fmt.Errorf("read the members of load balancer %s: %w", id, err)
	}
	var members []netip.Addr
	var pools []string
	for _, listener := range tree.Listeners {
		for _, pool := range listener.Pools {
			for _, member := range pool.Members {
				addr, err := netip.ParseAddr(member.Address)
				if err != nil {
					return nil, nil, fmt.Errorf("read the members of load balancer %s: %w", id, apierr.Mark(apierr.ErrUnavailable, err))
				}
				members = append(members, addr.Unmap())
			}
			if len(pool.Members) > 0 {
				pools = append(pools, pool.ID)
			}
		}
	}

	return members, pools, nil
}

// places are the subnets, networks and ports that belong to a cluster or a Service.
type places sets.Set[string]

// has reports whether one of some IDs is among them.
func (p places) has(ids ...string) bool {
	return slices.ContainsFunc(ids, func(id string) bool { return id != "" && sets.Set[string](p).Has(id) })
}

// isNear reports whether the VIP or a member of a load balancer is in a subnet or network of
// the cluster: one that is configured, or that the server of a Node has a port in. It costs
// no call in the first case, one if the VIP is in a network of Nodes, else two.
func (l *loadBalancer) isNear(ctx context.Context, in input, info *client.LoadBalancerInfo, members []netip.Addr, pools []string) (bool, error) {
	ours := l.configuredPlaces(in)
	vip := []string{info.VIPSubnetID, info.VIPNetworkID, info.VIPPortID}
	if ours.has(vip...) {
		return true, nil
	}
	ports, err := l.Network.PortsByDevice(ctx, l.serversWith(in, members))
	if err != nil {
		return false, err
	}
	for _, port := range ports {
		sets.Set[string](ours).Insert(port.NetworkID)
		for _, ip := range port.FixedIPs {
			sets.Set[string](ours).Insert(ip.SubnetID)
		}
	}
	if ours.has(vip...) || len(pools) == 0 {
		return ours.has(vip...), nil
	}
	found, err := l.Octavia.ListMembers(ctx, pools[0])
	if err != nil {
		return false, err
	}

	return slices.ContainsFunc(found, func(member *client.Member) bool { return ours.has(member.SubnetID) }), nil
}

// configuredPlaces returns those of the cloud-config and of the Service.
func (l *loadBalancer) configuredPlaces(in input) places {
	settings := l.Config.requestSettings(in.names.Cluster)
	ours := sets.New(settings.Networks.SubnetID, settings.Networks.NetworkID, settings.Networks.MemberSubnetID)
	wanted := in.request
	if wanted == nil {
		// A Service that is deleted need not be valid.
		wanted, _, _ = request.ForUpdate(in.service, nil, settings)
	}
	if wanted != nil {
		ours.Insert(wanted.VIP.SubnetID, wanted.VIP.NetworkID, wanted.VIP.PortID, wanted.MemberSubnet.ID)
	}

	return places(ours)
}

// serversWith returns the servers of the Nodes that have one of some addresses, of all Nodes
// without an address, and not more than one call can read the ports of.
func (l *loadBalancer) serversWith(in input, addrs []netip.Addr) []string {
	servers := sets.New[string]()
	for _, node := range slices.Concat(in.nodes, l.Nodes().List()) {
		matches := func(a v1.NodeAddress) bool {
			addr, err := address.Parse(a.Address)

			return err == nil && slices.Contains(addrs, addr)
		}
		if len(addrs) == 0 || slices.ContainsFunc(node.Status.Addresses, matches) {
			servers.Insert(l.ServerOf(node)...)
		}
	}
	sorted := sets.List(servers)

	return sorted[:min(len(sorted), maxAdoptionServers)]
}
