package client

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"

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

// NetworksByID returns networks by their IDs, also shared ones of other projects. Those
// that do not exist or cannot be seen are left out.
func (s *NetworkService) NetworksByID(ctx context.Context, ids []string) ([]*NetworkInfo, error) {
	var all []*NetworkInfo
	for chunk := range slices.Chunk(ids, maxIDs) {
		found, err := s.networks(ctx, url.Values{"id": chunk}, func(n *NetworkInfo) bool { return slices.Contains(chunk, n.ID) })
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}

	return all, nil
}

// ExternalNetworks returns the networks that floating IPs come from, of all projects. The
// service filters by what it does not show of networks of other projects. A row that shows
// it, or that must, proves whether the filter was in effect.
func (s *NetworkService) ExternalNetworks(ctx context.Context) ([]*NetworkInfo, error) {
	project, err := s.session.projectID(ctx)
	if err != nil {
		return nil, err
	}
	filtered := true
	found, err := s.networks(ctx, url.Values{"router:external": {strconv.FormatBool(true)}}, func(n *NetworkInfo) bool {
		external := n.External != nil && *n.External
		filtered = filtered && (external || n.External == nil && n.ProjectID != project)

		return external || n.External == nil && n.ProjectID != project
	})
	if !filtered {
		found = slices.DeleteFunc(found, func(n *NetworkInfo) bool { return n.External == nil })
	}

	return found, err
}

func (s *NetworkService) networks(ctx context.Context, query url.Values, wanted func(*NetworkInfo) bool) ([]*NetworkInfo, error) {
	client, err := s.opened(ctx)
	if err != nil {
		return nil, err
	}
	query["fields"] = []string{"id", "name", "project_id", "router:external", "subnets"}

	return listing[NetworkInfo]{
		service: s.service, client: client, path: "networks", key: "networks", query: query, limit: pageSize,
		marker: func(n *NetworkInfo) string { return n.ID }, wanted: wanted,
	}.all(ctx)
}
