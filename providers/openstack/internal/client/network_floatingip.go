package client

import (
	"context"
	"fmt"
	"net/http"
)

// FloatingIP is a floating IP:
// https://docs.openstack.org/api-ref/network/v2/#floating-ips-floatingips.
type FloatingIP struct {
	ID          string `json:"id"`
	ProjectID   string `json:"project_id"`
	Description string `json:"description"`
	// Status is ACTIVE, DOWN or ERROR.
	Status    string `json:"status"`
	NetworkID string `json:"floating_network_id"`
	Address   string `json:"floating_ip_address"`
	// PortID and FixedAddress are empty unless it is associated.
	PortID       string   `json:"port_id"`
	FixedAddress string   `json:"fixed_ip_address"`
	Tags         []string `json:"tags"`
	// Revision is nil without the extension standard-attr-revisions.
	Revision *int `json:"revision_number"`
}

// FloatingIPCreate is a new floating IP. Empty fields are not sent.
type FloatingIPCreate struct {
	// NetworkID is the external network.
	NetworkID string `json:"floating_network_id"`
	SubnetID  string `json:"subnet_id,omitempty"`
	// Address needs rights that users do not have by default.
	Address string `json:"floating_ip_address,omitempty"`
	// PortID associates it at once: both or neither is done. FixedAddress is needed for a
	// port with several IPv4 addresses.
	PortID       string `json:"port_id,omitempty"`
	FixedAddress string `json:"fixed_ip_address,omitempty"`
	Description  string `json:"description,omitempty"`
}

// ListFloatingIPs returns all floating IPs of the project.
func (s *NetworkService) ListFloatingIPs(ctx context.Context) ([]*FloatingIP, error) {
	return floatingIPs.list(ctx, s, networkQuery[FloatingIP]{})
}

// FloatingIPsByPort returns the floating IPs of the project that are associated with ports.
// It makes one call for each 50 ports.
func (s *NetworkService) FloatingIPsByPort(ctx context.Context, ports []string) ([]*FloatingIP, error) {
	return floatingIPs.by(ctx, s, networkQuery[FloatingIP]{}, "port_id", ports, func(f *FloatingIP, id string) bool { return f.PortID == id })
}

// FloatingIPsByAddress returns the floating IPs of the project with an address, of which
// there is one for each external network.
func (s *NetworkService) FloatingIPsByAddress(ctx context.Context, address string) ([]*FloatingIP, error) {
	has := func(f *FloatingIP, address string) bool { return sameAddress(f.Address, address) }

	return floatingIPs.by(ctx, s, networkQuery[FloatingIP]{}, "floating_ip_address", []string{address}, has)
}

// CreateFloatingIP makes a floating IP and associates it, or does neither. Errors are:
//   - ErrQuota if the project has no more of them,
//   - ErrConflict if the network has no free address, the address is in use, or the port
//     has a floating IP,
//   - ErrInvalid if no router connects the port with the network, which the service has as
//     404,
//   - ErrDenied if an address was requested and may not be chosen.
func (s *NetworkService) CreateFloatingIP(ctx context.Context, f FloatingIPCreate) (*FloatingIP, error) {
	for what, id := range map[string]string{"network": f.NetworkID, "subnet": f.SubnetID, "port": f.PortID} {
		if id == "" && what != "network" {
			continue
		}
		if err := checkID(what, id); err != nil {
			return nil, fmt.Errorf("create floatingip: %w", err)
		}
	}

	return floatingIPs.create(ctx, s, f)
}

// AssociateFloatingIP associates a floating IP with an address of a port. The address may
// be empty if the port has but one of IPv4. An association with another port is replaced.
// If the floating IP was changed since it was read, the error is an ErrConflict.
func (s *NetworkService) AssociateFloatingIP(ctx context.Context, f *FloatingIP, port, address string) (*FloatingIP, error) {
	if err := checkID("port", port); err != nil {
		return nil, fmt.Errorf("associate floatingip: %w", err)
	}
	request := map[string]string{"port_id": port}
	if address != "" {
		request["fixed_ip_address"] = address
	}

	return s.setPort(ctx, f.ID, port, request, f.Revision)
}

// DisassociateFloatingIP ends the association of a floating IP, which stays.
func (s *NetworkService) DisassociateFloatingIP(ctx context.Context, id string) (*FloatingIP, error) {
	return s.setPort(ctx, id, "", map[string]any{"port_id": nil}, nil) // the service takes no port at all for no change
}

// setPort changes the port of a floating IP, which the response must have.
func (s *NetworkService) setPort(ctx context.Context, id, port string, request any, revision *int) (*FloatingIP, error) {
	changed, err := floatingIPs.update(ctx, s, id, request, revision)
	if err == nil && changed.PortID != port {
		return nil, badResponse(s.name, http.MethodPut, fmt.Errorf("floatingip %s has port %q, not %q", id, changed.PortID, port))
	}

	return changed, err
}

// DeleteFloatingIP deletes a floating IP, whatever it is associated with. One that does not
// exist is no error.
func (s *NetworkService) DeleteFloatingIP(ctx context.Context, id string) error {
	return floatingIPs.delete(ctx, s, id)
}
