package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

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
	if err := checkID("subnet", id); err != nil {
		return nil, err
	}
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	var body struct {
		Subnet *Subnet `json:"subnet"`
	}
	if err := readJSON(ctx, client, client.ServiceURL("subnets", id), &body, nil); err != nil {
		if errors.Is(err, apierr.ErrNotFound) || isForbidden(err) {
			return nil, fmt.Errorf("get subnet %s: %w: %s", id, ErrInvisible, err.Error())
		}

		return nil, fmt.Errorf("get subnet: %w", err)
	}
	if body.Subnet == nil || !strings.EqualFold(body.Subnet.ID, id) {
		return nil, badResponse(s.name, http.MethodGet, fmt.Errorf("response has another subnet than %s", id))
	}

	return body.Subnet, nil
}

// isForbidden reports whether a service has refused a request to this user, other than a
// token.
func isForbidden(err error) bool {
	e, ok := errors.AsType[*Error](err)

	return ok && e.Status == http.StatusForbidden
}

// SubnetsByNetwork returns the subnets of networks that the project can see, also those of
// other projects. It makes one call for each 50 networks.
func (s *NetworkService) SubnetsByNetwork(ctx context.Context, networks []string) ([]*Subnet, error) {
	return s.subnets(ctx, "network_id", networks, func(n *Subnet) string { return n.NetworkID })
}

// SubnetsByID returns subnets that the project can see, also those of other projects. The
// others are left out, which does not mean that they do not exist. It makes one call for
// each 50 IDs.
func (s *NetworkService) SubnetsByID(ctx context.Context, ids []string) ([]*Subnet, error) {
	return s.subnets(ctx, "id", ids, func(n *Subnet) string { return n.ID })
}

// subnets lists subnets by one key.
func (s *NetworkService) subnets(ctx context.Context, key string, values []string, value func(*Subnet) string) ([]*Subnet, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Subnet
	for chunk := range slices.Chunk(values, maxIDs) {
		found, err := listing[Subnet]{
			service: s.service, client: client, path: "subnets", key: "subnets", limit: pageSize,
			query:  url.Values{key: chunk, "fields": fieldsOf(reflect.TypeFor[Subnet]())},
			marker: func(n *Subnet) string { return n.ID },
			wanted: func(n *Subnet) bool { return n.ID != "" && slices.Contains(chunk, value(n)) },
		}.all(ctx)
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}
