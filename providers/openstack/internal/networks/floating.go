package networks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/plan"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/service"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/request"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/subnetpattern"
)

// ExternalNetworkAmbiguous is the reason of the warning that there are several external
// networks to choose from.
const ExternalNetworkAmbiguous service.Reason = "LoadBalancerExternalNetworkAmbiguous"

const ipv4 = 4

// Place is where a new floating IP comes from.
type Place struct {
	// NetworkID is the external network. It is empty if there is none.
	NetworkID string
	// SubnetIDs are to be tried one after the other until one has a free address. Without
	// any, Neutron chooses.
	SubnetIDs []string
}

// Place returns where a new floating IP of a Service comes from. A network that is not
// found is a warning. Without an own network-id it is [Finder.External]. Errors mean
// apierr.ErrInvalid if the settings lead to nothing.
func (f *Finder) Place(ctx context.Context, wanted request.FloatingIP) (Place, []service.Warning, error) {
	place := Place{NetworkID: wanted.NetworkID}
	var warnings []service.Warning
	var err error
	if place.NetworkID == "" {
		place.NetworkID, warnings, err = f.External(ctx)
	}
	if err != nil || place.NetworkID == "" {
		return Place{}, warnings, err
	}
	switch {
	case wanted.SubnetID != "":
		place.SubnetIDs = []string{wanted.SubnetID}
		err = f.CheckSubnet(ctx, wanted.SubnetID, place.NetworkID)
	case wanted.SelectsSubnets():
		place.SubnetIDs, err = f.FloatingSubnets(ctx, place.NetworkID, wanted.Subnets, wanted.Tags)
	}
	if err != nil {
		return Place{}, warnings, err
	}

	return place, warnings, nil
}

// external is the choice among the external networks.
type external struct {
	id string
	// others is how many more there are to choose from.
	others int
}

// errNoExternal means that the search had a complete result without a network.
var errNoExternal = apierr.Mark(apierr.ErrNotFound, errors.New("the project can see no external network with an IPv4 subnet"))

// External returns the external network with the smallest ID among those that have a
// subnet which is IPv4 or not visible. The result is kept for [Options].MaxAge. If there
// is none, the ID is empty and there is a warning; if there are several, the warning says
// which one was chosen.
func (f *Finder) External(ctx context.Context) (string, []service.Warning, error) {
	found, err := f.external.Get(ctx)
	if errors.Is(err, errNoExternal) {
		return "", []service.Warning{service.Warn(request.ExternalNetworkSearchFailed, "No network for floating IPs: %v", err)}, nil
	}
	if err != nil {
		return "", nil, fmt.Errorf("find external network: %w", err)
	}
	if found.others == 0 {
		return found.id, nil, nil
	}

	return found.id, []service.Warning{service.Warn(ExternalNetworkAmbiguous,
		"Network %s is used for floating IPs, the first by ID of %d external networks. To choose another one, set floating-network-id in the cloud-config or annotation %s",
		found.id, found.others+1, request.AnnotationFloatingNetworkID)}, nil
}

// findExternal reads the external networks.
func (f *Finder) findExternal(ctx context.Context) (external, error) {
	networks, err := f.api.ExternalNetworks(ctx)
	if err != nil {
		return external{}, err
	}
	ids := make([]string, 0, len(networks))
	for _, network := range networks {
		ids = append(ids, network.ID)
	}
	visible, err := f.api.SubnetsByNetwork(ctx, ids)
	if err != nil {
		return external{}, err
	}
	versions := make(map[string]int, len(visible))
	for _, subnet := range visible {
		versions[subnet.ID] = subnet.Version
	}
	usable := slices.DeleteFunc(networks, func(n *client.NetworkInfo) bool {
		return !slices.ContainsFunc(n.Subnets, func(id string) bool {
			version, seen := versions[id]

			return !seen || version == ipv4
		})
	})
	if len(usable) == 0 {
		return external{}, errNoExternal
	}
	first := slices.MinFunc(usable, func(a, b *client.NetworkInfo) int { return cmp.Compare(a.ID, b.ID) })

	return external{id: first.ID, others: len(usable) - 1}, nil
}

// CheckSubnet returns an error if a subnet is known not to be one of a network. That it
// cannot be seen is no verdict: Neutron takes the ID nevertheless, or refuses it.
func (f *Finder) CheckSubnet(ctx context.Context, id, network string) error {
	subnet, err := f.api.GetSubnet(ctx, id)
	switch {
	case errors.Is(err, client.ErrInvisible):
		return nil
	case err != nil:
		return fmt.Errorf("check subnet of floating IPs: %w", err)
	case !strings.EqualFold(subnet.NetworkID, network):
		return invalid("subnet %s is not one of the external network %s for floating IPs, but of network %s", id, network, subnet.NetworkID)
	}

	return nil
}

// FloatingSubnets returns the IDs of the IPv4 subnets of an external network that are
// selected, in the order in which they are to be tried: by name, then by ID. None is an
// error.
func (f *Finder) FloatingSubnets(ctx context.Context, network string, name subnetpattern.Name, tags subnetpattern.Tags) ([]string, error) {
	visible, err := f.api.SubnetsByNetwork(ctx, []string{network})
	if err != nil {
		return nil, fmt.Errorf("select subnet of floating IPs: %w", err)
	}
	if len(visible) == 0 {
		return nil, invalid("floating-subnet and floating-subnet-tags cannot select a subnet of network %s: "+
			"the project cannot see any. Set floating-subnet-id, which needs no view of it", network)
	}
	slices.SortFunc(visible, func(a, b *client.Subnet) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	var selected, others []string
	for _, subnet := range visible {
		if subnet.Version == ipv4 && name.Matches(subnet.Name) && tags.Matches(subnet.Tags) {
			selected = append(selected, subnet.ID)
		} else {
			others = append(others, cmp.Or(subnet.Name, subnet.ID))
		}
	}
	if len(selected) == 0 {
		return nil, invalid("floating-subnet and floating-subnet-tags select no IPv4 subnet of network %s: it has %s", network, plan.FewCommas(others))
	}

	return selected, nil
}

// invalid returns an error that persists until a user changes settings.
func invalid(format string, args ...any) error {
	return apierr.Mark(apierr.ErrInvalid, fmt.Errorf(format, args...))
}
