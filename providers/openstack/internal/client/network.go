package client

import (
	"context"
	"fmt"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

const (
	// pageSize is how many rows are requested. Neutron has no limit of its own.
	pageSize = 1000
	// maxIDs is how many IDs one request has: many proxies take URLs of up to 4 KiB.
	maxIDs = 50
)

// The names of extensions of Neutron:
// https://docs.openstack.org/api-ref/network/v2/#extensions.
const (
	ExtensionExtraRoute       = "extraroute"
	ExtensionExtraRouteAtomic = "extraroute-atomic"
	ExtensionAddressPairs     = "allowed-address-pairs"
	ExtensionPortSecurity     = "port-security"
	ExtensionGroupFilter      = "port-security-groups-filtering"
	ExtensionRevisions        = "standard-attr-revisions"
	ExtensionRevisionIfMatch  = "revision-if-match"
	ExtensionTags             = "standard-attr-tag"
	ExtensionFilterValidation = "filter-validation"
)

// NetworkService calls Neutron.
type NetworkService struct{ *service }

// Available returns the reason if there is no endpoint.
func (s *NetworkService) Available(ctx context.Context) error {
	_, err := s.open(ctx)

	return err
}

// opened returns a client with the base of the API.
func (s *NetworkService) opened(ctx context.Context) (*gophercloud.ServiceClient, error) {
	client, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	copied := *client
	copied.ResourceBase = client.Endpoint + "v2.0/"

	return &copied, nil
}

// Extensions returns the names of all extensions.
func (s *NetworkService) Extensions(ctx context.Context) (map[string]bool, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	var body struct {
		Extensions []struct {
			Alias string `json:"alias"`
		} `json:"extensions"`
	}
	if err := readJSON(ctx, client, client.ServiceURL("extensions"), &body, nil); err != nil {
		return nil, fmt.Errorf("list extensions: %w", err)
	}
	if body.Extensions == nil {
		return nil, apierr.Mark(apierr.ErrUnavailable, fmt.Errorf("list extensions: response has none"))
	}
	names := make(map[string]bool, len(body.Extensions))
	for _, e := range body.Extensions {
		names[e.Alias] = true
	}

	return names, nil
}
