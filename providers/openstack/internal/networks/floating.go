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

// Place is where a new floating IP comes from.
type Place struct {
	// NetworkID is the external network. It is empty if there is none.
	NetworkID string
	// SubnetIDs are to be tried one after the other until one has a free address. Without
	// any, Neutron chooses.
	SubnetIDs []string
}

// Place returns where a new floating IP of a Service comes from. A network that is not found
// is a warning. Without an own network-id it is [Finder.External]. Errors mean
// apierr.ErrInvalid if the settings lead to nothing.
func (f *Finder) Place(ctx context.Context, wanted request.FloatingIP, vipSubnet VIPSubnet) (Place, []service.Warning, error) {
	place := Place{NetworkID: wanted.NetworkID}
	var warnings []service.Warning
	var err error
	if place.NetworkID == "" {
		place.NetworkID, warnings, err = f.External(ctx, vipSubnet)
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

// CheckSubnet returns an error if a subnet is known not to be one of a network. That it
// cannot be seen is no verdict: Neutron takes the ID nevertheless, or refuses it.
func (f *Finder) CheckSubnet(ctx context.Context, id, network string) error {
	subnet, err := f.subnets.Get(ctx, id)
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
