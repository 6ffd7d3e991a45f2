package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
)

// portFields are what lists of ports have. The others are only needed to change a port.
var portFields = []string{"id", "network_id", "project_id", "device_id", "device_owner", "status", "fixed_ips", "trunk_details"}

// routerInterfaces are the owners of ports by which routers are in subnets (neutron-lib:
// constants.py, ROUTER_INTERFACE_OWNERS).
var routerInterfaces = []string{"network:router_interface", "network:ha_router_replicated_interface", "network:router_interface_distributed"}

func hasID(p *Port, id string) bool { return p.ID == id }

func hasDevice(p *Port, id string) bool { return p.DeviceID == id }

func hasGroup(p *Port, id string) bool { return slices.Contains(p.SecurityGroups, id) }

// has reports whether a port has an address that fits.
func (p *Port) has(fits func(FixedIP) bool) bool { return slices.ContainsFunc(p.FixedIPs, fits) }

// ListPorts returns all ports of the project, without what only [NetworkService.PortsByDevice]
// has. If a page fails it returns what came before, along with the error.
func (s *NetworkService) ListPorts(ctx context.Context) ([]*Port, error) {
	return ports.list(ctx, s, networkQuery[Port]{fields: portFields})
}

// PortsByDevice returns the ports of servers in the project, with all fields. It makes one
// call for each 50 IDs.
func (s *NetworkService) PortsByDevice(ctx context.Context, ids []string) ([]*Port, error) {
	return ports.by(ctx, s, networkQuery[Port]{}, "device_id", ids, hasDevice)
}

// ServerPorts returns the ports of servers of the project, also those that belong to another
// one: an operator can make a port for a server, and the owner of the network may read it
// (neutron: conf/policies/port.py, get_port). It makes one call for each 50 IDs.
func (s *NetworkService) ServerPorts(ctx context.Context, ids []string) ([]*Port, error) {
	return ports.by(ctx, s, networkQuery[Port]{fields: portFields, anyProject: true}, "device_id", ids, hasDevice)
}

// RouterPorts returns the ports of a router, which may belong to another project.
func (s *NetworkService) RouterPorts(ctx context.Context, router string) ([]*Port, error) {
	if err := checkID("router", router); err != nil {
		return nil, err
	}

	return s.ServerPorts(ctx, []string{router})
}

// RouterPortsBySubnet returns the ports by which routers are in a subnet, as far as the
// project can see them: those of its routers, and of all routers if the network is its own.
func (s *NetworkService) RouterPortsBySubnet(ctx context.Context, subnet string) ([]*Port, error) {
	if err := checkID("subnet", subnet); err != nil {
		return nil, err
	}

	return ports.list(ctx, s, networkQuery[Port]{
		filters: url.Values{"device_owner": routerInterfaces, "fixed_ips": {"subnet_id=" + subnet}},
		fields:  portFields, anyProject: true,
		wanted: func(p *Port) bool {
			return p.DeviceID != "" && slices.Contains(routerInterfaces, p.DeviceOwner) &&
				p.has(func(ip FixedIP) bool { return ip.SubnetID == subnet })
		},
	})
}

// PortsByAddress returns the ports of the project with a fixed IP in some networks, with
// all fields.
func (s *NetworkService) PortsByAddress(ctx context.Context, address string, networks []string) ([]*Port, error) {
	query := networkQuery[Port]{filters: url.Values{"fixed_ips": {"ip_address=" + address}}}

	return ports.by(ctx, s, query, "network_id", networks, func(p *Port, network string) bool {
		return p.NetworkID == network && p.has(func(ip FixedIP) bool { return sameAddress(ip.Address, address) })
	})
}

// PortsByID returns ports of the project by their IDs, such as those of a trunk. Those that
// do not exist or belong to another project are left out. It makes one call for each 50 IDs.
func (s *NetworkService) PortsByID(ctx context.Context, ids []string) ([]*Port, error) {
	return ports.by(ctx, s, networkQuery[Port]{fields: portFields}, "id", ids, hasID)
}

// PortsByIDFull returns ports of the project by their IDs, with all fields: see
// [NetworkService.PortsByID].
func (s *NetworkService) PortsByIDFull(ctx context.Context, ids []string) ([]*Port, error) {
	return ports.by(ctx, s, networkQuery[Port]{}, "id", ids, hasID)
}

// PortsBySecurityGroup returns the ports of the project that have a security group, with all
// fields. A service without the extension [ExtensionGroupFilter] refuses the filter, if it
// has [ExtensionFilterValidation], or ignores it; then all ports of the project are listed,
// and most are left out here.
func (s *NetworkService) PortsBySecurityGroup(ctx context.Context, group string) ([]*Port, error) {
	if err := checkID("security group", group); err != nil {
		return nil, err
	}
	found, err := ports.by(ctx, s, networkQuery[Port]{}, "security_groups", []string{group}, hasGroup)
	if e, ok := errors.AsType[*Error](err); !ok || e.Status != http.StatusBadRequest {
		return found, err
	}

	return ports.list(ctx, s, networkQuery[Port]{wanted: func(p *Port) bool { return hasGroup(p, group) }})
}

// UpdateSecurityGroups replaces all security groups of a port. With the revision of the port
// that was read, the call fails with an ErrConflict if it was changed since. Ports that an
// administrator has made are an ErrDenied; those without port security an ErrInvalid.
func (s *NetworkService) UpdateSecurityGroups(ctx context.Context, port string, groups []string, revision *int) (*Port, error) {
	return ports.update(ctx, s, port, map[string][]string{"security_groups": append([]string{}, groups...)}, revision) // not null
}

// UpdateAddressPairs replaces all address pairs of a port, like [NetworkService.UpdateSecurityGroups].
func (s *NetworkService) UpdateAddressPairs(ctx context.Context, port string, pairs []AddressPair, revision *int) (*Port, error) {
	return ports.update(ctx, s, port, map[string][]AddressPair{"allowed_address_pairs": append([]AddressPair{}, pairs...)}, revision)
}

// DeletePortTag takes a tag without a slash off a port. One that the port does not have is
// no error.
func (s *NetworkService) DeletePortTag(ctx context.Context, port, tag string) error {
	return ports.delete(ctx, s, port, "tags", url.PathEscape(tag))
}
