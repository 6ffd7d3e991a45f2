package routes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
	"github.com/multicloud-ccm/multicloud-ccm/providers/openstack/internal/client"
)

// addressPairAPI are the calls in use for allowed address pairs.
type addressPairAPI interface {
	RouterPorts(ctx context.Context, router string) ([]*client.Port, error)
	PortsByAddress(ctx context.Context, address string, networks []string) ([]*client.Port, error)
	UpdateAddressPairs(ctx context.Context, port string, pairs []client.AddressPair, revision *int) (*client.Port, error)
}

// anyPort is the lock of changes to ports without revisions.
const anyPort = "ports"

// readNetworks reads the IDs of the networks that the router is in.
func (r *Routes) readNetworks(ctx context.Context) ([]string, error) {
	ports, err := r.api.RouterPorts(ctx, r.config.RouterID)
	if err != nil {
		return nil, fmt.Errorf("networks of router %s: %w", r.config.RouterID, err)
	}
	ids := make([]string, len(ports))
	for i, port := range ports {
		ids[i] = port.NetworkID
	}
	slices.Sort(ids)

	return slices.Compact(ids), nil
}

// portAt returns the port of the project with an address in a network of the router, nil
// if there is none or it is ambiguous. If the networks were cached they are read again
// before there is none.
func (r *Routes) portAt(ctx context.Context, hop netip.Addr, node *v1.Node) (*client.Port, error) {
	networks, err := r.networks.Get(ctx)
	if err != nil {
		return nil, err
	}
	ports, err := r.api.PortsByAddress(ctx, hop.String(), networks)
	if err != nil {
		return nil, err
	}
	if len(ports) == 0 {
		now, err := r.networks.GetWithin(ctx, 0)
		if err != nil {
			return nil, err
		}
		if !slices.Equal(now, networks) {
			if ports, err = r.api.PortsByAddress(ctx, hop.String(), now); err != nil {
				return nil, err
			}
		}
	}
	if len(ports) > 1 && node != nil {
		servers := r.config.Servers(node)
		ports = slices.DeleteFunc(ports, func(p *client.Port) bool { return !slices.Contains(servers, p.DeviceID) })
	}
	if len(ports) != 1 {
		return nil, nil //nolint:nilnil // documented
	}

	return ports[0], nil
}

// isPair reports whether a pair allows a port to use a CIDR.
func isPair(port *client.Port, pair client.AddressPair, cidr netip.Prefix) bool {
	if pair.MAC != "" && port.MAC != "" && !strings.EqualFold(pair.MAC, port.MAC) {
		return false // that of another machine, for failover
	}
	if prefix, err := netip.ParsePrefix(pair.Address); err == nil {
		return prefix.Masked() == cidr
	}
	ip, err := address.Parse(pair.Address)

	return err == nil && netip.PrefixFrom(ip, ip.BitLen()) == cidr
}

// addPair allows the port of a Node to use a CIDR, and reports whether it has added the
// pair. It does nothing without port security. A port that is not of the project, or that
// may not be changed, is an Event.
func (r *Routes) addPair(ctx context.Context, features routeFeatures, wanted newRoute) (added bool, err error) {
	if !features.pairs {
		return false, nil
	}
	missing := true
	err = r.changePairs(ctx, features, wanted.hop, wanted.node, func(port *client.Port) []client.AddressPair {
		missing, added = false, false
		has := func(pair client.AddressPair) bool { return isPair(port, pair, wanted.cidr) }
		if slices.ContainsFunc(port.AddressPairs, has) {
			return port.AddressPairs
		}
		added = true

		return append(slices.Clone(port.AddressPairs), client.AddressPair{Address: wanted.cidr.String()})
	})
	switch {
	case err == nil && missing:
		r.event(wanted.node, noPairReason, "the project has no port, or several, with the address %s in a network of the router: "+
			"allow packets from and to %s there", wanted.hop, wanted.cidr)
	case err != nil && !errors.Is(err, apierr.ErrQuota) && isRefused(err):
		r.event(wanted.node, noPairReason, "the port with the address %s must allow packets from and to %s: %v", wanted.hop, wanted.cidr, err)
	case err != nil:
		return false, fmt.Errorf("allow packets from and to %s: %w", wanted.cidr, err)
	}

	return added && err == nil, nil
}

// removePair ends that a port may use a CIDR. A port that is gone, not of the project, or
// that may not be changed is no error: it must not keep the route.
func (r *Routes) removePair(ctx context.Context, features routeFeatures, hop netip.Addr, cidr netip.Prefix) error {
	if !features.pairs {
		return nil
	}
	err := r.changePairs(ctx, features, hop, nil, func(port *client.Port) []client.AddressPair {
		return slices.DeleteFunc(slices.Clone(port.AddressPairs), func(pair client.AddressPair) bool { return isPair(port, pair, cidr) })
	})
	if err != nil && isRefused(err) {
		klog.FromContext(ctx).Error(err, "Address pair was not removed", "nextHop", hop, "cidr", cidr)

		return nil
	}
	if err != nil {
		return fmt.Errorf("remove address pair %s of the port with %s: %w", cidr, hop, err)
	}

	return nil
}

// changePairs changes the pairs of the port with an address. It does not call change if
// there is no such port. With revisions, a change by others since the port was read is
// noticed, and it is read again; without, there is one change at a time.
func (r *Routes) changePairs(
	ctx context.Context, features routeFeatures, hop netip.Addr, node *v1.Node, change func(*client.Port) []client.AddressPair,
) error {
	if !features.revisions {
		unlock, err := r.changes.Lock(ctx, anyPort)
		if err != nil {
			return err
		}
		defer unlock()
	}

	return repeat(ctx, isOvertaken, func() error {
		port, err := r.portAt(ctx, hop, node)
		if err != nil || port == nil {
			return err
		}
		want := change(port)
		if !port.HasPortSecurity() || slices.Equal(want, port.AddressPairs) {
			return nil
		}
		_, err = r.api.UpdateAddressPairs(ctx, port.ID, want, port.Revision)

		return err
	})
}

// isRefused reports whether Neutron has refused a change, and will do so again: it is not
// allowed, not valid, beyond a limit, or what is to be changed does not exist.
func isRefused(err error) bool {
	e, ok := errors.AsType[*client.Error](err)
	if !ok || e.Service != client.Network {
		return false
	}
	switch e.Status {
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusConflict:
		return errors.Is(err, apierr.ErrQuota) || errors.Is(err, apierr.ErrInvalid) || errors.Is(err, apierr.ErrDenied)
	}

	return false
}
