package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// ErrInvisible means that the project cannot see an object. It may exist: subnets of
// external networks are invisible to most users, and the service still takes their IDs. It
// is an ErrDenied, never an ErrNotFound.
var ErrInvisible = apierr.Mark(apierr.ErrDenied, errors.New("does not exist or is not visible to the project"))

// Subnet is a subnet: https://docs.openstack.org/api-ref/network/v2/#subnets.
type Subnet struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	ProjectID string `json:"project_id"`
	NetworkID string `json:"network_id"`
	// Version is 4 or 6.
	Version int      `json:"ip_version"`
	CIDR    string   `json:"cidr"`
	Tags    []string `json:"tags"`
}

// GetSubnet returns a subnet, which may belong to another project. The error is an
// [ErrInvisible] if the service does not show it.
func (s *NetworkService) GetSubnet(ctx context.Context, id string) (*Subnet, error) {
	found, err := subnets.get(ctx, s, id)
	if e, ok := errors.AsType[*Error](err); ok && e.Service == Network && (errors.Is(err, apierr.ErrNotFound) || e.Status == http.StatusForbidden) {
		return nil, fmt.Errorf("%w: %s", ErrInvisible, err.Error())
	}

	return found, err
}

// SubnetsByNetwork returns the subnets of networks that the project can see, also those of
// other projects. It makes one call for each 50 networks.
func (s *NetworkService) SubnetsByNetwork(ctx context.Context, networks []string) ([]*Subnet, error) {
	return subnets.by(ctx, s, networkQuery[Subnet]{anyProject: true}, "network_id", networks, func(n *Subnet, id string) bool { return n.NetworkID == id })
}

// SubnetsByID returns subnets that the project can see, also those of other projects. The
// others are left out, which does not mean that they do not exist. It makes one call for
// each 50 IDs.
func (s *NetworkService) SubnetsByID(ctx context.Context, ids []string) ([]*Subnet, error) {
	return subnets.by(ctx, s, networkQuery[Subnet]{anyProject: true}, "id", ids, func(n *Subnet, id string) bool { return n.ID == id })
}
