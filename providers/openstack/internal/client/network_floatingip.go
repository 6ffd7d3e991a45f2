package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
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

// floatingIPs lists floating IPs of the project.
func (s *NetworkService) floatingIPs(ctx context.Context, query url.Values, wanted func(*FloatingIP) bool) ([]*FloatingIP, error) {
	list := ownList[FloatingIP]{path: "floatingips", key: "floatingips", of: func(f *FloatingIP) (string, string) { return f.ID, f.ProjectID }}

	return list.all(ctx, s, query, wanted)
}

// ListFloatingIPs returns all floating IPs of the project.
func (s *NetworkService) ListFloatingIPs(ctx context.Context) ([]*FloatingIP, error) {
	return s.floatingIPs(ctx, url.Values{}, func(*FloatingIP) bool { return true })
}

// FloatingIPsByPort returns the floating IPs of the project that are associated with ports.
// It makes one call for each 50 ports. An ID that is empty is an error: the service would
// take it for no filter.
func (s *NetworkService) FloatingIPsByPort(ctx context.Context, ports []string) ([]*FloatingIP, error) {
	for _, id := range ports {
		if err := checkID("port", id); err != nil {
			return nil, fmt.Errorf("list floatingips: %w", err)
		}
	}
	var all []*FloatingIP
	for chunk := range slices.Chunk(ports, maxIDs) {
		found, err := s.floatingIPs(ctx, url.Values{"port_id": chunk}, func(f *FloatingIP) bool { return slices.Contains(chunk, f.PortID) })
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

// FloatingIPsByAddress returns the floating IPs of the project with an address, of which
// there is one for each external network.
func (s *NetworkService) FloatingIPsByAddress(ctx context.Context, address string) ([]*FloatingIP, error) {
	if address == "" {
		return nil, apierr.Mark(apierr.ErrInvalid, errors.New("list floatingips: the address is empty"))
	}

	return s.floatingIPs(ctx, url.Values{"floating_ip_address": {address}}, func(f *FloatingIP) bool { return sameAddress(f.Address, address) })
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
	made, err := s.writeFloatingIP(ctx, write{method: http.MethodPost, path: []string{"floatingips"}, request: f}, "")
	if err != nil {
		return nil, fmt.Errorf("create floatingip: %w", err)
	}

	return made, nil
}

// AssociateFloatingIP associates a floating IP with an address of a port. The address may
// be empty if the port has but one of IPv4. An association with another port is replaced.
// If the floating IP was changed since it was read, the error is an ErrConflict.
func (s *NetworkService) AssociateFloatingIP(ctx context.Context, f *FloatingIP, port, address string) (*FloatingIP, error) {
	if err := checkID("port", port); err != nil {
		return nil, fmt.Errorf("associate floatingip: %w", err)
	}
	type request struct {
		PortID       string `json:"port_id"`
		FixedAddress string `json:"fixed_ip_address,omitempty"`
	}

	return s.setPort(ctx, "associate", f, port, request{port, address})
}

// DisassociateFloatingIP ends the association of a floating IP, which stays.
func (s *NetworkService) DisassociateFloatingIP(ctx context.Context, id string) (*FloatingIP, error) {
	type request struct {
		PortID *string `json:"port_id"` // null: the service takes no port at all for no change
	}

	return s.setPort(ctx, "disassociate", &FloatingIP{ID: id}, "", request{})
}

// setPort changes the port of a floating IP, which the response must have.
func (s *NetworkService) setPort(ctx context.Context, verb string, f *FloatingIP, port string, request any) (*FloatingIP, error) {
	id := f.ID
	if err := checkID("floating IP", id); err != nil {
		return nil, fmt.Errorf("%s floatingip: %w", verb, err)
	}
	changed, err := s.writeFloatingIP(ctx, write{method: http.MethodPut, path: []string{"floatingips", id}, request: request, headers: ifMatch(f.Revision)}, id)
	if err == nil && changed.PortID != port {
		err = badResponse(s.name, http.MethodPut, fmt.Errorf("floatingip %s has port %q, not %q", id, changed.PortID, port))
	}
	if err != nil {
		return nil, fmt.Errorf("%s floatingip: %w", verb, err)
	}

	return changed, nil
}

func (s *NetworkService) writeFloatingIP(ctx context.Context, w write, id string) (*FloatingIP, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}

	return sendObject(ctx, s.service, client, w, "floatingip", id, func(f *FloatingIP) string { return f.ID })
}

// DeleteFloatingIP deletes a floating IP, whatever it is associated with. One that does not
// exist is no error.
func (s *NetworkService) DeleteFloatingIP(ctx context.Context, id string) error {
	return s.deleteObject(ctx, "floatingip", "floatingips", id)
}

// deleteObject deletes an object of Neutron.
func (s *NetworkService) deleteObject(ctx context.Context, what, collection, id string) error {
	if err := checkID(what, id); err != nil {
		return fmt.Errorf("delete %s: %w", what, err)
	}
	client, err := s.opened(ctx)
	if err != nil {
		return err
	}
	if err := s.remove(ctx, client, "", collection, id); err != nil {
		return fmt.Errorf("delete %s: %w", what, err)
	}

	return nil
}
