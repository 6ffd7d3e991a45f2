package networks

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
)

// ExternalNetworkAmbiguous is the reason of the warning that there are several external
// networks to choose from.
const ExternalNetworkAmbiguous service.Reason = "LoadBalancerExternalNetworkAmbiguous"

const ipv4 = 4

// errNoExternal means that the search had a complete result without a network.
var errNoExternal = apierr.Mark(apierr.ErrNotFound, errors.New("the project can see no external network with an IPv4 subnet"))

// VIPSubnet returns the ID of the subnet of a VIP, empty if it is not known yet.
type VIPSubnet func(ctx context.Context) (string, error)

// External returns the external network for the floating IP of a VIP:
//
//	candidates   external networks that have a subnet which is IPv4 or not visible
//	if several   those that a router connects with the subnet of the VIP: Neutron refuses the
//	             others (https://docs.openstack.org/api-ref/network/v2/#create-floating-ip)
//	if several   the one with the smallest ID, with a warning
//
// That no router is seen is no verdict: it may be in another project. The results are kept for
// [Options].MaxAge. If there is no candidate, the ID is empty and there is a warning.
func (f *Finder) External(ctx context.Context, vipSubnet VIPSubnet) (string, []service.Warning, error) {
	found, err := f.external.Get(ctx)
	if errors.Is(err, errNoExternal) {
		return "", []service.Warning{service.Warn(request.ExternalNetworkSearchFailed, "No network for floating IPs: %v", err)}, nil
	}
	if err == nil {
		found, err = f.reachable(ctx, found, vipSubnet)
	}
	if err != nil {
		return "", nil, fmt.Errorf("find external network: %w", err)
	}
	if len(found) == 1 {
		return found[0], nil, nil
	}

	return found[0], []service.Warning{service.Warn(ExternalNetworkAmbiguous,
		"Network %s is used for floating IPs, the first by ID of %d external networks. To choose another one, set floating-network-id in the cloud-config or annotation %s",
		found[0], len(found), request.AnnotationFloatingNetworkID)}, nil
}

// reachable returns the external networks that a router connects with the subnet of a VIP;
// all, if none is known to be. The subnet only counts if there are several.
func (f *Finder) reachable(ctx context.Context, networks []string, vipSubnet VIPSubnet) ([]string, error) {
	if len(networks) == 1 {
		return networks, nil
	}
	subnet, err := vipSubnet(ctx)
	if err != nil || subnet == "" {
		return networks, err
	}
	gateways, err := f.gateways.Get(ctx, subnet)
	if err != nil {
		return nil, err
	}
	connected := lists.Filter(networks, func(id string) bool { return slices.Contains(gateways, id) })
	if len(connected) == 0 {
		return networks, nil
	}

	return connected, nil
}

// readGateways reads the networks that routers connect a subnet with: none that the project
// may not read.
func (f *Finder) readGateways(ctx context.Context, subnet string) ([]string, error) {
	ports, err := f.api.RouterPortsBySubnet(ctx, subnet)
	var routers []*client.Router
	if err == nil {
		routers, err = f.api.RoutersByID(ctx, lists.Distinct(lists.Map(ports, func(p *client.Port) string { return p.DeviceID })))
	}
	if err != nil && !errors.Is(err, apierr.ErrDenied) {
		return nil, fmt.Errorf("find routers of subnet %s: %w", subnet, err)
	}
	var found []string
	for _, router := range routers {
		if router.Gateway != nil {
			found = append(found, router.Gateway.NetworkID)
		}
	}

	return found, nil
}

// findExternal reads the external networks.
func (f *Finder) findExternal(ctx context.Context) ([]string, error) {
	networks, err := f.api.ExternalNetworks(ctx)
	if err != nil {
		return nil, err
	}
	visible, err := f.api.SubnetsByNetwork(ctx, lists.Map(networks, func(n *client.NetworkInfo) string { return n.ID }))
	if err != nil {
		return nil, err
	}
	versions := make(map[string]int, len(visible))
	for _, subnet := range visible {
		versions[subnet.ID] = subnet.Version
	}
	var usable []string
	for _, network := range networks {
		if slices.ContainsFunc(network.Subnets, func(id string) bool {
			version, seen := versions[id]

			return !seen || version == ipv4
		}) {
			usable = append(usable, network.ID)
		}
	}
	if len(usable) == 0 {
		return nil, errNoExternal
	}
	slices.Sort(usable)

	return usable, nil
}
